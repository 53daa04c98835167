/** Workspace lists: cleaned on every read, one per profile, and which folders are let in. */
import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UserError } from '../../../lib/errors.ts'
import { Workspaces } from '../../../lib/workspaces/workspaces.ts'
import { isSystemPath } from '../../../lib/workspaces/workspace-paths.ts'
import { configOf } from '../../_config.ts'
import { tempDir } from '../../_temp-dir.ts'

type Place = {
  root: string
  user: string
  base: string
  state: string
  outside: string
  boot: string
}
const test = suite<Place>('workspaces')
test.before.each(context => {
  const root = realpathSync(tempDir('workspaces'))
  const make = (name: string) => {
    mkdirSync(join(root, name), { recursive: true })
    return join(root, name)
  }
  Object.assign(context, {
    root,
    user: make('user'),
    base: make('user/.agent'),
    state: make('user/.agent/webui'),
    outside: make('outside'),
    boot: make('boot'),
  })
})

const open = ({ user, base, state, boot }: Place, stateDir = state) =>
  new Workspaces({ stateDir, baseHome: base, userHome: user }, () => boot)

const homeOf = ({ base }: Place, name = 'default', values: Record<string, unknown> = {}) => {
  const dir = name === 'default' ? base : join(base, 'profiles', name)
  mkdirSync(dir, { recursive: true })
  return { name, dir, lenient: { config: () => configOf(values) } }
}

const make = (path: string): string => {
  mkdirSync(path, { recursive: true })
  return path
}
const entry = (path: string, name: string) => ({ path, name, label: name })
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const refuses = (kind: string, words: RegExp) => (error: unknown) =>
  error instanceof UserError && error.kind === kind && words.test(error.message)

test('cleanup removes and renames entries, and saves the result', place => {
  const home = homeOf(place)
  const file = join(place.state, 'workspaces.json')
  const one = make(join(place.user, 'one'))
  const real = make(join(place.user, 'real'))
  symlinkSync(real, join(place.user, 'link'))
  const artifact = make(join(place.user, 'webui-mvp-test', 'x'))
  const similar = make(join(place.user, 'webui-mvp-test-2'))
  const other = make(join(place.base, 'profiles', 'other', 'workspace'))
  writeFileSync(
    file,
    JSON.stringify([
      { path: one, name: 'DEFAULT' },
      { path: join(place.user, 'gone'), name: 'gone' },
      { path: artifact, name: 'test' },
      { path: similar, name: 'kept' },
      { path: other, name: 'theirs' },
      { path: join(place.user, 'link'), name: 'linked' },
      { path: real, name: 'twice' },
      { path: real },
      { name: 'no path' },
      { path: 5, name: 'odd' },
      'odd',
      null,
    ]),
  )
  const expected = [entry(one, 'Home'), entry(similar, 'kept'), entry(real, 'linked')]
  assert.equal(open(place).list(home), expected)
  assert.equal(
    readJson(file),
    expected.map(({ path, name }) => ({ path, name })),
  )
})

test('cleanup saves a renamed label even when nothing was removed', place => {
  const file = join(place.state, 'workspaces.json')
  writeFileSync(file, JSON.stringify([{ path: place.outside, name: 'Default' }]))
  open(place).list(homeOf(place))
  assert.equal(readJson(file), [{ path: place.outside, name: 'Home' }])
})

test('an empty list is shown as Home, which is not saved', place => {
  const file = join(place.state, 'workspaces.json')
  writeFileSync(file, '[]')
  assert.equal(open(place).list(homeOf(place)), [entry(place.boot, 'Home')])
  assert.is(readFileSync(file, 'utf8'), '[]')
})

test('a broken list is shown as Home and not overwritten', place => {
  const file = join(place.state, 'workspaces.json')
  for (const text of ['[{"path"', '{}']) {
    writeFileSync(file, text)
    const app = open(place)
    assert.equal(app.list(homeOf(place)), [entry(place.boot, 'Home')])
    assert.throws(() => app.add(homeOf(place), place.outside), refuses('conflict', /Fix or delete/))
    assert.is(readFileSync(file, 'utf8'), text)
  }
})

test('the base profile imports the list of an older location once', place => {
  const state = make(join(place.root, 'new-state'))
  const old = join(place.base, 'webui', 'workspaces.json')
  writeFileSync(old, JSON.stringify([{ path: place.outside, name: 'default' }]))
  const app = open(place, state)
  assert.equal(app.list(homeOf(place, 'work')), [entry(place.boot, 'Home')])
  assert.equal(app.list(homeOf(place)), [entry(place.outside, 'Home')])
  assert.equal(readJson(join(state, 'workspaces.json')), [{ path: place.outside, name: 'Home' }])
  app.remove(homeOf(place), place.outside)
  assert.equal(app.list(homeOf(place)), [entry(place.boot, 'Home')])
})

test('a profile’s default: workspace, default_workspace, terminal.cwd except the dot, the service’s', place => {
  const app = open(place)
  const [a, b, c] = ['a', 'b', 'c'].map(name => make(join(place.user, name)))
  const cases: [values: Record<string, unknown>, expected: string | undefined][] = [
    [{ workspace: '~/a', default_workspace: b, terminal: { cwd: c } }, a],
    [{ workspace: '~/gone', default_workspace: b, terminal: { cwd: c } }, b],
    [{ workspace: 5, terminal: { cwd: 'c' } }, c],
    [{ terminal: { cwd: '.' } }, place.boot],
    [{ terminal: 'odd' }, place.boot],
    [{}, place.boot],
  ]
  for (const [values, expected] of cases) {
    const home = homeOf(place, 'default', values)
    assert.is(app.defaultOf(home), expected)
    assert.is(app.check(home, ' '), expected)
    assert.equal(app.list(home), [entry(expected ?? '', 'Home')])
  }
})

test('the last workspace: the profile’s, the service’s unless another profile’s, one that may be used, the default', place => {
  const app = open(place)
  const base = homeOf(place)
  const work = homeOf(place, 'work')
  const other = make(join(homeOf(place, 'other').dir, 'workspace'))
  assert.is(app.last(base), place.boot)
  app.setLast(base, place.outside)
  assert.is(readFileSync(join(place.state, 'last_workspace.txt'), 'utf8'), `${place.outside}\n`)
  assert.is(app.last(base), place.boot, 'a chat would be refused there')
  app.add(base, place.outside)
  assert.equal([app.last(base), app.last(work)], [place.outside, place.boot])
  app.setLast(base, place.user)
  assert.equal([app.last(base), app.last(work)], [place.user, place.user])
  const own = make(join(place.user, 'own'))
  app.setLast(work, own)
  assert.equal([app.last(base), app.last(work)], [place.user, own])
  writeFileSync(join(place.state, 'last_workspace.txt'), other)
  assert.equal([app.last(base), app.last(homeOf(place, 'third'))], [place.boot, place.boot])
  rmSync(join(work.dir, 'webui_state'), { recursive: true })
  writeFileSync(join(place.state, 'last_workspace.txt'), join(place.user, 'gone'))
  assert.is(app.last(work), place.boot)
})

test('a session’s path: trusts home, saved list and default workspace only', place => {
  const app = open(place)
  const home = homeOf(place)
  const inside = make(join(place.user, 'deep', 'er'))
  const below = make(join(place.boot, 'sub'))
  symlinkSync(place.outside, join(place.user, 'escape'))
  assert.is(app.check(home, '~/deep/er'), inside)
  assert.is(app.check(home, below), below)
  for (const path of [place.outside, join(place.user, 'escape'), '/', '/tmp'])
    assert.throws(() => app.check(home, path), refuses('invalid', /outside the user home/), path)
  assert.throws(() => app.check(home, '/etc'), refuses('invalid', /system directory/))
  app.add(home, place.outside)
  assert.is(app.check(home, place.outside), place.outside)
  assert.throws(
    () => app.check(homeOf(place, 'work'), place.outside),
    refuses('invalid', /outside/),
  )
})

test('rejects system directories, and homes of service accounts in them', () => {
  for (const path of ['/etc', '/etc/x', '/usr/local', '/var', '/dev', '/proc/1', '/boot'])
    assert.is(isSystemPath(path, ['/home/u']), true, path)
  for (const path of ['/home/u', '/opt/x', '/', '/etcetera', '/variable'])
    assert.is(isSystemPath(path, ['/']), false, path)
  assert.is(isSystemPath('/var/lib/agent/work', ['/var/lib/agent']), false)
  assert.is(isSystemPath('/var/lib/other', ['/var/lib/agent']), true)
  assert.is(isSystemPath('/etc', ['/']), true)
  assert.is(isSystemPath('/var/x', ['/var']), true)
})

test.run()
