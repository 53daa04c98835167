/** Names in a text that are entries of the workspace, and a commit with its diff. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { addDesk, type Desk, ESCAPES, openDesk } from './_files.ts'

const test = suite<Desk>('names in a text')
test.before(async context => void Object.assign(context, await openDesk()))
test.after(({ app }) => app.close())

const run = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=a@example.org', ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
    .toString()
    .trim()

const ask = ({ app, id }: Desk, body: object) =>
  app.post('/api/file/named', { session_id: id, ...body })

test('rejects an unknown session, too many names, and what is no commit id', async desk => {
  const gone = await ask(desk, { session_id: 'gone00000000', paths: ['README.md'] })
  assert.is(gone.status, 404)
  assert.is((await ask(desk, { paths: Array(201).fill('a') })).status, 400)
  const { app, query } = desk
  for (const commit of ['HEAD', '--all', 'abc', 'ABCDEF1', 'abcdef1^', `${'a'.repeat(41)}`])
    assert.is((await app.get(`/api/git/commit?${query({ commit })}`)).status, 400, commit)
})

test('leaves out what is outside, hidden, no file, or missing', async desk => {
  const secret = join(desk.app.home, '.env')
  writeFileSync(secret, 'KEY=1')
  symlinkSync(secret, join(desk.root, 'linked-secret'))
  const names = [
    'x'.repeat(1000),
    ...ESCAPES,
    'away.txt',
    'up',
    'linked-secret',
    'missing.ts',
    'README.md/below',
    'nul\0name',
    '/etc/passwd',
    `${desk.root}x`,
  ]
  const { status, body } = await ask(desk, {
    paths: names.filter(name => name !== '' && name.length <= 1000),
  })
  assert.is(status, 200)
  assert.equal(body, { entries: [] })
})

test('finds files and directories, relative and absolute', async desk => {
  const paths = ['README.md', './src/main.ts', 'src', 'src/', `${desk.root}/src/main.ts`, desk.root]
  const { body } = await ask(desk, { paths: [...paths, 'alias.ts', 'README.md'] })
  assert.equal(
    body.entries.map(({ asked, path, type }: Record<string, string>) => [asked, path, type]),
    [
      ['README.md', 'README.md', 'file'],
      ['./src/main.ts', 'src/main.ts', 'file'],
      ['src', 'src', 'dir'],
      ['src/', 'src', 'dir'],
      [`${desk.root}/src/main.ts`, 'src/main.ts', 'file'],
      [desk.root, '', 'dir'],
      ['alias.ts', 'src/main.ts', 'file'],
    ],
  )
})

test('shows a commit by its abbreviated id', async ({ app }) => {
  const desk = await addDesk(app, 'repository')
  const { root, query } = desk
  const show = (commit: string) => app.get(`/api/git/commit?${query({ commit })}`)
  // Without a repository there are no commits.
  assert.is((await show('abcdef1')).status, 404)
  run(root, 'init', '-qb', 'main')
  run(root, 'add', '-A')
  run(root, 'commit', '-qm', 'Begin')
  writeFileSync(join(root, 'README.md'), 'hello\nthere\n')
  mkdirSync(join(root, 'docs'))
  writeFileSync(
    join(root, 'docs', 'a b.md'),
    'token sk-ant-api03-abcdefghijklmnopqrstuvwxyz012345\n',
  )
  run(root, 'add', '-A')
  run(root, 'commit', '-qm', 'Say more\n\nBecause it was short.')
  const id = run(root, 'rev-parse', 'HEAD')
  const blob = run(root, 'rev-parse', 'HEAD:README.md')
  const { status, body: commit } = await show(id.slice(0, 8))
  assert.is(status, 200)
  assert.equal(
    [commit.id, commit.author, commit.files, commit.message, commit.truncated],
    [id, 'Ann', 2, 'Say more\n\nBecause it was short.', false],
  )
  assert.match(commit.diff, '-world\n+there')
  assert.match(commit.diff, '+++ b/docs/a b.md')
  assert.not.match(commit.diff, 'abcdefghijklmnopqrstuvwxyz')
  // The first commit is compared with nothing, a merge with its first parent.
  const first = await show(run(root, 'rev-parse', 'HEAD~1'))
  assert.match(first.body.diff, 'new file mode')
  run(root, 'checkout', '-qb', 'side', 'HEAD~1')
  rmSync(join(root, 'src'), { recursive: true })
  run(root, 'commit', '-qam', 'Remove')
  run(root, 'merge', '-q', '--no-edit', 'main')
  const merged = await show(run(root, 'rev-parse', 'HEAD'))
  assert.is(merged.body.files, 2)
  for (const none of [blob, '0123456', 'f'.repeat(40)])
    assert.is((await show(none)).status, 404, none)
})

test.run()
