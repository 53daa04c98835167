/** Git by the person over HTTP, with real repositories: lines, hunks, commits, hooks, branches, remotes. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { createRepositories, git as runIn, type Repositories, writeFiles } from '../../_git.ts'

const FILES = {
  'a.txt': Array.from({ length: 30 }, (_, n) => `line ${n + 1}\n`).join(''),
  'crlf.txt': 'one\r\ntwo\r\nthree\r\n',
  'end.txt': 'first\nlast',
}

const PATHS: Readonly<Record<string, string>> = {
  stage: '/api/git/stage',
  unstage: '/api/git/unstage',
  discard: '/api/git/discard',
  'undo-discard': '/api/git/undo-discard',
  commit: '/api/git/commit',
  switch: '/api/git/switch',
  fetch: '/api/git/fetch',
  pull: '/api/git/pull',
  push: '/api/git/push',
  abort: '/api/git/abort',
  overview: '/api/git/overview',
  log: '/api/git/log',
  diff: '/api/git/diff',
  status: '/api/git/status',
}

type World = { app: TestApp; repositories: Repositories[] }
const world = { repositories: [] } as unknown as World
const test = suite('git changes')

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

/** A checkout with a remote, opened as the workspace of a session. */
const open = async () => {
  const repositories = createRepositories(FILES)
  world.repositories.push(repositories)
  const { checkout } = repositories
  await world.app.post('/api/workspaces/add', { path: checkout })
  const made = await world.app.post('/api/session/new', { workspace: checkout })
  const { session_id } = made.body.session
  const post = (name: string, input: Record<string, unknown> = {}) =>
    world.app.post(PATHS[name]!, { session_id, ...input })
  const get = async (name: string, query: Record<string, string> = {}) =>
    (await world.app.get(`${PATHS[name]}?${new URLSearchParams({ session_id, ...query })}`)).body
  return {
    ...repositories,
    checkout,
    session_id,
    post,
    get,
    at: (name: string) => join(checkout, name),
    write: (files: Record<string, string>) => writeFiles(checkout, files),
    read: (name: string) => readFileSync(join(checkout, name), 'latin1'),
    diff: (path: string, kind: string) => get('diff', { path, kind }),
    /** Bytes of the index. */
    staged: (path: string) => runIn(checkout, 'show', `:${path}`),
    async ok(name: string, input: Record<string, unknown> = {}) {
      const { status, body } = await post(name, input)
      assert.is(status, 200, JSON.stringify(body))
      return body
    },
    async refused(name: string, input: Record<string, unknown>, code: string, words?: RegExp) {
      const { status, body } = await post(name, input)
      assert.is(body.code, code, `${status} ${JSON.stringify(body)}`)
      if (words) assert.match(body.error, words)
      return body
    },
  }
}

const changed = (edit: Record<number, string>): string =>
  FILES['a.txt'].replace(/line (\d+)\n/g, (line, n) => edit[Number(n)] ?? line)

test('rejects unknown sessions, folders without a repository, and names that are no branch', async () => {
  const gone = await world.app.post('/api/git/stage', {
    session_id: 'gone00000000',
    path: 'a',
    kind: 'unstaged',
  })
  assert.is(gone.status, 404)
  const plain = (await world.app.post('/api/session/new', {})).body.session.session_id
  const none = await world.app.post('/api/git/commit', { session_id: plain, message: 'x' })
  assert.match(none.body.error, 'not a Git repository')
  const work = await open()
  for (const name of ['-f', 'a..b', 'a b', '@{-1}x', 'x.lock'])
    await work.refused('switch', { name, create: true }, 'invalid_branch', /cannot be the name/)
  await work.refused('commit', { message: 'x' }, 'git_nothing_staged', /Nothing is staged/)
  await work.refused('commit', { message: ' \n' }, 'commit_message_missing')
  await work.refused('stage', { path: 'a.txt', kind: 'unstaged' }, 'git_change_not_found')
  await work.refused('abort', {}, 'git_nothing_in_progress')
})

test('stages and unstages several files in one step, or none when one of them is gone', async () => {
  const work = await open()
  mkdirSync(work.at('inner'))
  runIn(work.at('inner'), 'init', '-q')
  work.write({ 'a.txt': changed({ 2: 'changed\n' }), 'new *.txt': 'new\n', 'inner/x': 'x\n' })
  const names = () => runIn(work.checkout, 'diff', '--cached', '--name-only', '-z')
  await work.refused('stage', { paths: ['a.txt', 'gone.txt'] }, 'git_failed')
  await work.refused('stage', { paths: ['inner/'] }, 'git_nested', /cannot be staged/)
  assert.is((await work.post('stage', { paths: ['a.txt\0end.txt'] })).status, 400)
  assert.is((await work.post('stage', { paths: [] })).status, 400)
  assert.is(names(), '')
  await work.ok('stage', { paths: ['a.txt', 'new *.txt', 'inner/'] })
  assert.is(names(), 'a.txt\0new *.txt\0')
  await work.ok('unstage', { paths: ['a.txt', 'new *.txt'] })
  assert.is(names(), '')
  runIn(work.checkout, 'mv', 'a.txt', 'b.txt')
  await work.ok('unstage', { paths: ['b.txt', 'a.txt'] })
  assert.is(names(), '')
})

test('rejects lines of a diff that is no longer there, and lines it does not have', async () => {
  const work = await open()
  work.write({ 'a.txt': changed({ 2: 'changed\n' }) })
  const { id } = await work.diff('a.txt', 'unstaged')
  const input = { path: 'a.txt', kind: 'unstaged', id }
  await work.refused('stage', { ...input, lines: [9] }, 'git_diff_changed')
  await work.refused('stage', { path: 'a.txt', kind: 'unstaged', lines: [0] }, 'missing_fields')
  work.write({ 'a.txt': changed({ 2: 'changed again\n' }) })
  for (const lines of [{ lines: [0] }, {}])
    await work.refused('stage', { ...input, ...lines }, 'git_diff_changed')
  await work.refused('discard', input, 'git_diff_changed')
  assert.match(work.read('a.txt'), 'changed again')
  assert.is(work.git('diff', '--cached', '--name-only'), '')
})

test('stages and unstages a hunk, a line, and a file', async () => {
  const work = await open()
  work.write({ 'a.txt': changed({ 2: 'TWO\n', 3: '', 25: 'line 25\nadded\n' }) })
  const first = await work.diff('a.txt', 'unstaged')
  assert.ok(first.id)
  // Lines of the diff: -2 -3 +TWO, +added.
  await work.ok('stage', { path: 'a.txt', kind: 'unstaged', id: first.id, lines: [3] })
  assert.is(work.staged('a.txt'), changed({ 25: 'line 25\nadded\n' }).trim())
  const second = await work.diff('a.txt', 'unstaged')
  await work.ok('stage', { path: 'a.txt', kind: 'unstaged', id: second.id, lines: [1] })
  assert.is(work.staged('a.txt'), changed({ 3: '', 25: 'line 25\nadded\n' }).trim())
  const staged = await work.diff('a.txt', 'staged')
  await work.ok('unstage', { path: 'a.txt', id: staged.id, lines: [1] })
  assert.is(work.staged('a.txt'), changed({ 3: '' }).trim())
  await work.ok('stage', { path: 'a.txt', kind: 'unstaged' })
  assert.is(work.git('diff', '--name-only'), '')
  await work.ok('unstage', { path: 'a.txt' })
  assert.is(work.git('diff', '--cached', '--name-only'), '')
  assert.match(work.read('a.txt'), 'TWO')
})

test('keeps line endings, other encodings, and a missing line break at the end', async () => {
  const work = await open()
  work.write({ 'crlf.txt': 'one\r\n2\r\nthree\r\nfour\r\n', 'end.txt': 'first\nlast\nmore' })
  const crlf = await work.diff('crlf.txt', 'unstaged')
  await work.ok('stage', { path: 'crlf.txt', kind: 'unstaged', id: crlf.id, lines: [2] })
  assert.is(work.staged('crlf.txt'), 'one\r\ntwo\r\nthree\r\nfour')
  const end = await work.diff('end.txt', 'unstaged')
  const input = { path: 'end.txt', kind: 'unstaged', id: end.id }
  await work.refused('stage', { ...input, lines: [2] }, 'git_last_line', /no line break/)
  await work.ok('stage', { ...input, lines: [0, 1, 2] })
  assert.is(runIn(work.checkout, 'diff', '--name-only', '--', 'end.txt'), '')
  writeFileSync(work.at('latin.txt'), Buffer.from('caf\xe9\nb\n', 'latin1'))
  await work.ok('stage', { path: 'latin.txt', kind: 'untracked' })
  runIn(work.checkout, 'commit', '-qm', 'x')
  writeFileSync(work.at('latin.txt'), Buffer.from('caf\xe9\nB\xfc\nc\n', 'latin1'))
  const latin = await work.diff('latin.txt', 'unstaged')
  await work.ok('stage', { path: 'latin.txt', kind: 'unstaged', id: latin.id, lines: [0, 1] })
  await work.ok('discard', { path: 'latin.txt', id: (await work.diff('latin.txt', 'unstaged')).id })
  assert.is(work.read('latin.txt'), 'caf\xe9\nB\xfc\n')
})

test('takes hostile names, deleted and new files, modes, and renames as a whole', async () => {
  const work = await open()
  const names = ['-n', '--force', 'new\nline', 'ünïcode 漢', ':(glob)*', '"quoted"']
  work.write(Object.fromEntries(names.map(name => [name, 'x\n'])))
  for (const path of names) await work.ok('stage', { path, kind: 'untracked' })
  const staged = () =>
    runIn(work.checkout, 'diff', '--cached', '--name-only', '-z').split('\0').filter(Boolean)
  assert.equal(staged().toSorted(), names.toSorted())
  for (const path of names) await work.ok('unstage', { path })
  assert.equal(staged(), [])
  runIn(work.checkout, 'rm', '-q', '--cached', 'end.txt')
  await work.ok('unstage', { path: 'end.txt' })
  runIn(work.checkout, 'mv', 'a.txt', 'b.txt')
  assert.is((await work.diff('b.txt', 'staged')).id, undefined)
  await work.ok('unstage', { path: 'b.txt', old_path: 'a.txt' })
  assert.equal(staged(), [])
  chmodSync(work.at('crlf.txt'), 0o755)
  await work.ok('stage', { path: 'crlf.txt', kind: 'unstaged' })
  assert.match(runIn(work.checkout, 'ls-files', '-s', 'crlf.txt'), /^100755/)
})

test('discards a hunk or a file, and undoes it unless the file has changed since', async () => {
  const work = await open()
  const text = changed({ 2: 'TWO\n', 25: 'TWENTY-FIVE\n' })
  work.write({ 'a.txt': text })
  const { id } = await work.diff('a.txt', 'unstaged')
  const hunk = await work.ok('discard', { path: 'a.txt', id, lines: [0, 1] })
  assert.is(work.read('a.txt'), changed({ 25: 'TWENTY-FIVE\n' }))
  await work.ok('undo-discard', hunk)
  assert.is(work.read('a.txt'), text)
  const whole = await work.ok('discard', { path: 'a.txt' })
  assert.is(work.read('a.txt'), FILES['a.txt'])
  work.write({ 'a.txt': 'something else\n' })
  await work.refused('undo-discard', whole, 'git_diff_changed')
  assert.is(work.read('a.txt'), 'something else\n')
})

test('asks before it runs hooks of the repository, and again when they have changed', async () => {
  const work = await open()
  const hook = (text: string) => {
    mkdirSync(work.at('.git/hooks'), { recursive: true })
    writeFileSync(work.at('.git/hooks/pre-commit'), `#!/bin/sh\n${text}\n`)
    chmodSync(work.at('.git/hooks/pre-commit'), 0o755)
  }
  hook('touch ran; exit 1')
  work.write({ 'a.txt': 'new\n' })
  await work.ok('stage', { path: 'a.txt', kind: 'unstaged' })
  const asked = await work.refused('commit', { message: 'one' }, 'git_hooks')
  assert.equal(asked.hooks.names, ['pre-commit'])
  assert.not.ok(existsSync(work.at('ran')))
  await work.refused('commit', { message: 'one', hooks: asked.hooks.id }, 'git_failed')
  assert.ok(existsSync(work.at('ran')))
  hook('exit 0')
  await work.refused('commit', { message: 'one', hooks: asked.hooks.id }, 'git_hooks')
  await work.ok('commit', { message: 'one\n\n# kept\n', hooks: 'skip' })
  assert.is(runIn(work.checkout, 'log', '-1', '--format=%B'), 'one\n\n# kept')
  const { commits, more } = await work.get('log')
  assert.equal([commits.length, commits[0].message, more], [2, 'one\n\n# kept', false])
})

test('runs no program that the configuration of the repository names', async () => {
  const work = await open()
  const evil = `sh -c 'touch ${work.root}/ran; cat'`
  for (const [key, value] of [
    ['filter.evil.clean', evil],
    ['filter.evil.smudge', evil],
    ['core.sshCommand', evil],
    ['core.fsmonitor', evil],
    ['diff.evil.textconv', evil],
    ['core.editor', evil],
  ])
    runIn(work.checkout, 'config', key!, value!)
  work.write({ '.gitattributes': '*.txt filter=evil diff=evil\n', 'a.txt': 'x\n' })
  await work.get('status')
  await work.diff('a.txt', 'unstaged')
  await work.get('overview')
  await work.refused(
    'stage',
    { path: 'a.txt', kind: 'unstaged' },
    'git_needs_terminal',
    /filter\.evil/,
  )
  await work.refused('discard', { path: 'a.txt' }, 'git_needs_terminal')
  await work.refused('switch', { name: 'x', create: true }, 'git_needs_terminal')
  await work.refused('push', {}, 'git_needs_terminal', /core\.sshcommand/i)
  assert.not.ok(existsSync(join(work.root, 'ran')))
})

test('creates and switches branches, and refuses to lose local changes', async () => {
  const work = await open()
  await work.ok('switch', { name: 'feature/ä', create: true })
  work.write({ 'a.txt': 'feature\n' })
  await work.ok('stage', { path: 'a.txt', kind: 'unstaged' })
  await work.ok('commit', { message: 'feature' })
  work.write({ 'a.txt': 'local\n' })
  await work.refused('switch', { name: 'main' }, 'git_failed', /would be overwritten/)
  assert.is(work.read('a.txt'), 'local\n')
  work.git('stash', '-q')
  await work.ok('switch', { name: 'main' })
  const { branches } = await work.get('overview')
  const current = branches.find((each: { current: boolean }) => each.current)
  assert.equal([current.name, current.upstream], ['main', 'origin/main'])
})

test('fetches, pulls without merging, and pushes a new branch', async () => {
  const work = await open()
  const head = work.push({ 'new.txt': 'from elsewhere\n' })
  await work.ok('fetch')
  assert.is((await work.get('status')).behind, 1)
  await work.ok('pull')
  assert.is(work.head(), head)
  await work.ok('switch', { name: 'topic', create: true })
  await work.refused('pull', {}, 'git_no_upstream', /follows no branch/)
  work.write({ 'topic.txt': 'x\n' })
  await work.ok('stage', { path: 'topic.txt', kind: 'untracked' })
  await work.ok('commit', { message: 'topic' })
  await work.ok('push')
  assert.is(runIn(work.remote, 'rev-parse', 'topic'), work.head())
  await work.ok('switch', { name: 'main' })
  work.push({ 'a.txt': 'theirs\n' })
  work.write({ 'b.txt': 'mine\n' })
  await work.ok('stage', { path: 'b.txt', kind: 'untracked' })
  await work.ok('commit', { message: 'mine' })
  await work.refused('push', {}, 'git_failed', /rejected|fetch first/)
  await work.refused('pull', {}, 'git_failed', /fast-forward/)
})

test('does not wait for a password, and shows none', async () => {
  const server = createServer((_req, res) => {
    res.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const work = await open()
  work.git('remote', 'set-url', 'origin', `http://user:hunter2pass@127.0.0.1:${port}/x.git`)
  const { body } = await work.post('fetch')
  server.close()
  assert.is(body.code, 'git_sign_in')
  assert.match(body.error, /did not accept your sign-in/)
  assert.not.match(JSON.stringify(body), 'hunter2pass')
})

test('shows a merge with conflicts, and aborts it', async () => {
  const work = await open()
  await work.ok('switch', { name: 'other', create: true })
  work.write({ 'a.txt': 'other\n' })
  work.git('commit', '-qam', 'other')
  work.git('switch', '-q', 'main')
  work.write({ 'a.txt': 'main\n' })
  work.git('commit', '-qam', 'main')
  assert.throws(() => work.git('merge', 'other'))
  assert.is((await work.get('overview')).operation, 'merge')
  await work.refused('commit', { message: 'merged' }, 'git_failed')
  await work.ok('abort')
  assert.is((await work.get('overview')).operation, undefined)
  assert.is(work.read('a.txt'), 'main\n')
})

test.run()
