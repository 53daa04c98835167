/** Repositories whose configuration, hooks and submodules name programs: none runs unless the person was asked. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { createRepositories, git, type Repositories, writeFiles } from '../../_git.ts'

type World = { app: TestApp; repositories: Repositories[] }
const world = { repositories: [] } as unknown as World
const test = suite('hostile repositories')

test.before(async () => {
  world.app = await startApp()
  writeFileSync(
    join(world.app.userHome, '.gitconfig'),
    '[user]\n\tname = a\n\temail = a@example.invalid\n',
  )
})
test.after(async () => {
  await world.app.close()
  for (const each of world.repositories) each.remove()
})

/** A checkout that is the workspace of a session, and a program that leaves a mark with its name. */
const open = async () => {
  const repositories = createRepositories({ 'a.txt': 'TODO one\n' })
  world.repositories.push(repositories)
  const { root, checkout } = repositories
  const mark = join(root, 'ran')
  const evil = join(root, 'evil.sh')
  const write = (path: string, name: string) => {
    writeFileSync(path, `#!/bin/sh\necho "${name}" >> ${mark}\ncat\n`)
    chmodSync(path, 0o755)
  }
  write(evil, 'program')
  await world.app.post('/api/workspaces/add', { path: checkout })
  const made = await world.app.post('/api/session/new', { workspace: checkout })
  const { session_id } = made.body.session
  return {
    ...repositories,
    evil,
    post: (path: string, input: Record<string, unknown> = {}) =>
      world.app.post(`/api/git/${path}`, { session_id, ...input }),
    get: (path: string, query: Record<string, string> = {}) =>
      world.app.get(`${path}?${new URLSearchParams({ session_id, ...query })}`),
    set(values: Readonly<Record<string, string>>) {
      for (const [key, value] of Object.entries(values)) git(checkout, 'config', key, value)
    },
    hook(dir: string, name: string) {
      mkdirSync(join(dir, 'hooks'), { recursive: true })
      write(join(dir, 'hooks', name), name)
    },
    /** What ran. */
    ran: (): string => (existsSync(mark) ? readFileSync(mark, 'utf8') : ''),
  }
}

/** A commit with a signature, which git checks where `log.showSignature` is set. */
const addSignedCommit = (checkout: string): string => {
  const raw = git(checkout, 'cat-file', 'commit', 'HEAD')
  const at = raw.indexOf('\n\n')
  const signature = 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n eA==\n -----END PGP SIGNATURE-----'
  const file = join(checkout, '.git', 'signed')
  writeFileSync(file, `${raw.slice(0, at)}\n${signature}${raw.slice(at)}\n`)
  const id = git(checkout, 'hash-object', '-t', 'commit', '-w', file)
  git(checkout, 'update-ref', 'HEAD', id)
  return id
}

test('a signature is not checked by a program of the repository', async () => {
  const work = await open()
  const commit = addSignedCommit(work.checkout)
  work.set({ 'log.showSignature': 'true', 'gpg.program': work.evil })
  const { status, body } = await work.get('/api/git/commit', { commit })
  assert.is(status, 200, JSON.stringify(body))
  assert.is(body.id, commit)
  const log = await work.get('/api/git/log')
  assert.is(log.body.commits[0].id, commit)
  assert.is(work.ran(), '')
})

test('a commit is not signed with a key that a program of the repository names', async () => {
  const work = await open()
  work.set({
    'commit.gpgsign': 'true',
    'gpg.format': 'ssh',
    'gpg.ssh.defaultKeyCommand': work.evil,
  })
  writeFiles(work.checkout, { 'a.txt': 'x\n' })
  await work.post('stage', { path: 'a.txt', kind: 'unstaged' })
  await work.post('commit', { message: 'one' })
  assert.is(work.ran(), '')
})

test('a remote of the repository is no command', async () => {
  const work = await open()
  work.set({ 'protocol.ext.allow': 'always', 'remote.origin.url': `ext::${work.evil}` })
  for (const path of ['fetch', 'pull', 'push']) {
    const { body } = await work.post(path)
    assert.is(body.code, 'git_needs_terminal', JSON.stringify(body))
    assert.match(body.error, 'protocol.ext.allow')
  }
  assert.is(work.ran(), '')
})

test('hooks of a remote inside the workspace do not run', async () => {
  const work = await open()
  const inner = join(work.checkout, 'inner.git')
  git(work.checkout, 'init', '--quiet', '--bare', '--template=', inner)
  work.hook(inner, 'pre-receive')
  work.hook(join(work.checkout, '.git'), 'pre-receive')
  for (const url of [
    './inner.git',
    inner,
    `file://${inner}`,
    `file://x${inner.replace('r', '%72')}`,
    '.',
  ]) {
    work.set({ 'remote.origin.url': url })
    const { body } = await work.post('push')
    assert.is(body.code, 'git_push_terminal', `${url}: ${JSON.stringify(body)}`)
  }
  assert.is(work.ran(), '')
})

test('a push does not push submodules, whose own configuration names programs', async () => {
  const work = await open()
  git(
    work.checkout,
    '-c',
    'protocol.file.allow=always',
    'submodule',
    'add',
    '-q',
    work.remote,
    'sub',
  )
  const sub = join(work.checkout, 'sub')
  git(sub, 'commit', '--allow-empty', '-qm', 'inner')
  git(work.checkout, 'add', '-A')
  git(work.checkout, 'commit', '-qm', 'sub')
  work.set({ 'push.recurseSubmodules': 'on-demand' })
  git(sub, 'config', 'remote.origin.receivepack', work.evil)
  git(sub, 'config', 'protocol.file.allow', 'always')
  await work.post('push')
  assert.is(work.ran(), '')
})

test('the question about hooks names all of them', async () => {
  const work = await open()
  writeFiles(work.checkout, { 'a.txt': 'x\n' })
  git(work.checkout, 'add', '-A')
  // Hooks may run files beside them; one of this size cannot be read.
  mkdirSync(join(work.checkout, '.git', 'hooks'), { recursive: true })
  writeFileSync(join(work.checkout, '.git', 'hooks', 'big'), '')
  truncateSync(join(work.checkout, '.git', 'hooks', 'big'), 3 * 1024 ** 3)
  const names = ['post-index-change', 'pre-commit', 'reference-transaction']
  for (const name of names) work.hook(join(work.checkout, '.git'), name)
  const { body } = await work.post('commit', { message: 'one' })
  assert.equal(body.hooks.names.toSorted(), names)
  const { body: push } = await work.post('push')
  assert.equal(push.hooks.names, ['reference-transaction'])
  assert.is(work.ran(), '')
})

test('filters of a submodule do not run for the facts of a workspace', async () => {
  const work = await open()
  git(
    work.checkout,
    '-c',
    'protocol.file.allow=always',
    'submodule',
    'add',
    '-q',
    work.remote,
    'sub',
  )
  const sub = join(work.checkout, 'sub')
  git(work.checkout, 'config', '-f', '.gitmodules', 'submodule.sub.ignore', 'none')
  git(work.checkout, 'add', '-A')
  git(work.checkout, 'commit', '-qm', 'sub')
  git(sub, 'config', 'filter.evil.clean', work.evil)
  writeFiles(sub, { '.gitattributes': '* filter=evil\n', 'a.txt': 'TODO two\n' })
  const facts = await world.app.get(
    `/api/workspaces/facts?path=${encodeURIComponent(work.checkout)}`,
  )
  assert.is(facts.body.todos, 1)
  await work.get('/api/git/status')
  await work.get('/api/git-info')
  await work.get('/api/git/overview')
  assert.is(work.ran(), '')
})

test.run()
