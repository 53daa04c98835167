/** Suggestions complete a path inside trusted places, and show nothing of the rest of the disk. */
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fileScope } from '../../../lib/workspaces/file-scope.ts'
import { listDirectory } from '../../../lib/workspaces/list-directory.ts'
import { listFolders, suggestDirectories } from '../../../lib/workspaces/suggest.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ root: string; user: string; outside: string }>('suggestions and listings')
test.before.each(context => {
  const root = realpathSync(tempDir('suggest'))
  const names = [
    'user/Projects/alpha',
    'user/Projects/Beta',
    'user/Projects/.hidden',
    'user/.config',
    'user/photos',
    'outside/secret',
    'saved/deep',
  ]
  for (const name of names) mkdirSync(join(root, name), { recursive: true })
  writeFileSync(join(root, 'user/Projects/all.txt'), '12345')
  symlinkSync(join(root, 'outside'), join(root, 'user/Projects/away'))
  symlinkSync(join(root, 'user/photos'), join(root, 'user/Projects/pics'))
  symlinkSync('loop', join(root, 'user/Projects/loop'))
  Object.assign(context, { root, user: join(root, 'user'), outside: join(root, 'outside') })
})

const trustIn = (root: string) => ({
  userHome: join(root, 'user'),
  defaultWorkspace: join(root, 'saved'),
  stateDir: '/nowhere/state',
  saved: [join(root, 'saved'), join(root, 'gone'), '/etc'],
})

/** Names below `root`, as suggested. */
const suggest = (root: string, prefix: string): string[] =>
  suggestDirectories(prefix, trustIn(root)).map(path =>
    path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path,
  )

test('suggests nothing outside: not by .., a link or an absolute path', ({ root, user }) => {
  const prefixes = [
    '/',
    '/etc/',
    '/etc/pass',
    '/root/',
    '~/..',
    '~/../',
    '~/../outside/',
    '~/../outside/s',
    `${user}/../outside/`,
    `${user}/Projects/away/`,
    `${user}/Projects/away/s`,
    `${user}/Projects/../../outside/`,
    '../outside/',
    '../../',
    `${root}/outside/`,
    `${root}/outside/se`,
    '\0',
    `${user}/\0`,
    `${user}/Projects/all.txt/`,
    `${user}/gone/`,
    'x'.repeat(10_000),
    '~root/',
    '~/Projects/loop/',
  ]
  for (const prefix of prefixes)
    for (const path of suggest(root, prefix))
      assert.ok(['user', 'saved'].includes(path), `${prefix.slice(0, 60)} suggests ${path}`)
  assert.equal(suggest(root, '~/Projects/aw'), [])
})

test('folders to choose from: up to the places where one can begin, and nothing outside of them', ({
  root,
  user,
}) => {
  mkdirSync(join(user, 'Projects/alpha/.git'))
  const list = (path: string) => listFolders(path, trustIn(root))
  assert.equal(list('~/Projects'), {
    path: join(user, 'Projects'),
    parent: user,
    folders: [
      { path: join(user, 'Projects/alpha'), name: 'alpha', is_repository: true },
      { path: join(user, 'Projects/Beta'), name: 'Beta', is_repository: false },
      { path: join(user, 'photos'), name: 'photos', is_repository: false },
    ],
  })
  assert.is(list(user).parent, '')
  for (const path of ['', '/', '/etc', `${root}/outside`, '~/../outside', '~/gone', 'a\0']) {
    const { path: shown, parent, folders } = list(path)
    assert.equal(
      [shown, parent, folders.map(each => each.path)],
      ['', null, [user, join(root, 'saved')]],
      path,
    )
  }
})

const CASES: [prefix: string, expected: string[]][] = [
  ['', ['user', 'saved']],
  ['   ', ['user', 'saved']],
  ['~', ['user']],
  ['~/', ['user/photos', 'user/Projects']],
  ['~/P', ['user/photos', 'user/Projects']],
  ['~/pr', ['user/Projects']],
  ['pro', ['user/Projects']],
  ['Projects/', ['user/Projects/alpha', 'user/Projects/Beta', 'user/photos']],
  ['Projects/b', ['user/Projects/Beta']],
  ['~/.', ['user/.config']],
  ['~/.C', ['user/.config']],
  ['Projects/.', ['user/Projects/.hidden']],
  ['~/./Projects/../pho', ['user/photos']],
  ['~/none', []],
]
for (const [prefix, expected] of CASES)
  test(`"${prefix}" suggests ${expected.length}`, ({ root }) =>
    assert.equal(suggest(root, prefix), expected))

test('roots come first, ignoring case', ({ root }) => {
  assert.equal(suggest(root, `${root}/SA`), ['saved'])
  assert.equal(suggest(root, `${root}/`), ['user', 'saved'])
  assert.equal(suggest(root, `${root}/saved/`), ['saved/deep'])
})

test('returns at most twelve', ({ root, user }) => {
  for (let n = 0; n < 30; n++) mkdirSync(join(user, 'Projects', `many-${n}`))
  assert.is(suggest(root, '~/Projects/many').length, 12)
})

test('a listing returns 200 names and the total', ({ user }) => {
  for (let n = 0; n < 250; n++) writeFileSync(join(user, 'photos', `${n}.jpg`), '')
  const { entries, total } = listDirectory(fileScope(user, { hidden: [] }), 'photos')
  assert.equal([entries.length, total], [200, 250])
})

test.run()
