/** Keys on disk: the .env as it is left behind, and secrets found open at the start. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { writeEnv } from '../../../lib/profiles/write-env.ts'
import { findExposed, restrictSecrets } from '../../../lib/profiles/file-permissions.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string }>('secrets on disk')
test.before.each(context => {
  context.dir = tempDir('env')
})

const modeOf = (path: string) => statSync(path).mode & 0o777
const refused = async (writing: Promise<void>) => {
  const error: unknown = await writing.then(
    () => undefined,
    reason => reason,
  )
  assert.instance(error, Error)
  return (error as Error).message
}

test('does not write to a managed home', async ({ dir }) => {
  writeFileSync(join(dir, '.managed'), '')
  assert.match(await refused(writeEnv({ dir }, { A_KEY: 'x' })), 'managed by the system')
  assert.equal(readdirSync(dir), ['.managed'])
})

test('a rejected value leaves the file unchanged', async ({ dir }) => {
  writeFileSync(join(dir, '.env'), 'A=1\n')
  await refused(writeEnv({ dir }, { B: '2', PATH: '/evil' }))
  assert.is(readFileSync(join(dir, '.env'), 'utf8'), 'A=1\n')
})

test('.env is created with owner-only permissions', async ({ dir }) => {
  await writeEnv({ dir }, { OPENAI_API_KEY: 'sk-1' })
  assert.is(readFileSync(join(dir, '.env'), 'utf8'), 'OPENAI_API_KEY=sk-1\n')
  assert.is(modeOf(join(dir, '.env')), 0o600)
})

test('a byte order mark stays', async ({ dir }) => {
  writeFileSync(join(dir, '.env'), '\ufeffA=1\n')
  await writeEnv({ dir }, { B: '2' })
  assert.is(readFileSync(join(dir, '.env'), 'utf8'), '\ufeffA=1\nB=2\n')
})

test('an open .env is private after the next write, links stay links', async ({ dir }) => {
  mkdirSync(join(dir, 'dotfiles'))
  writeFileSync(join(dir, 'dotfiles', 'env'), '# mine\nA=1\n', { mode: 0o644 })
  symlinkSync(join('dotfiles', 'env'), join(dir, '.env'))
  await writeEnv({ dir }, { B: '2' })
  assert.is(readFileSync(join(dir, 'dotfiles', 'env'), 'utf8'), '# mine\nA=1\nB=2\n')
  assert.is(modeOf(join(dir, 'dotfiles', 'env')), 0o600)
})

test('concurrent writers hold a lock and lose nothing', async ({ dir }) => {
  const names = Array.from({ length: 8 }, (_, at) => `KEY_${at}`)
  await Promise.all(names.map(name => writeEnv({ dir }, { [name]: 'x' })))
  const lines = readFileSync(join(dir, '.env'), 'utf8').trimEnd().split('\n')
  assert.equal(
    lines.toSorted(),
    names.map(name => `${name}=x`),
  )
  assert.equal(readdirSync(dir).toSorted(), ['.env', '.env.lock'])
})

test('the last key leaves an empty file', async ({ dir }) => {
  await writeEnv({ dir }, { A: '1' })
  await writeEnv({ dir }, { A: null })
  assert.is(readFileSync(join(dir, '.env'), 'utf8'), '')
  await writeEnv({ dir: join(dir, 'other') }, { A: null })
  assert.not.ok(existsSync(join(dir, 'other', '.env')))
})

test('restricts permissions of sensitive files only, at start, in every profile', ({ dir }) => {
  const work = join(dir, 'profiles', 'work')
  const managed = join(dir, 'profiles', 'managed')
  const stateDir = join(dir, 'webui')
  for (const place of [work, managed, stateDir]) mkdirSync(place, { recursive: true })
  writeFileSync(join(managed, '.managed'), '')
  const open = [
    join(dir, '.env'),
    join(dir, 'auth.json'),
    join(dir, 'google_token.json'),
    join(dir, 'google_client_secret.json'),
    join(work, '.env'),
    join(stateDir, '.signing_key'),
    join(stateDir, '.password'),
    join(stateDir, 'people.json'),
    join(stateDir, '.second_factor'),
    join(stateDir, 'shares.json'),
    join(dir, '.env.bak'),
    join(dir, 'auth.json.old'),
    join(work, 'mcp-tokens', 'server.json'),
    join(work, 'mcp-tokens', 'agent-webui', 'server-1.json'),
  ]
  mkdirSync(join(work, 'mcp-tokens', 'agent-webui'), { recursive: true })
  const left = [join(dir, 'config.yaml'), join(managed, '.env'), join(dir, '.env.example')]
  for (const path of [...open, ...left]) {
    writeFileSync(path, 'x')
    chmodSync(path, 0o644)
  }
  mkdirSync(join(work, 'auth.json'))
  const said: string[] = []
  restrictSecrets({ baseHome: dir, stateDir }, line => said.push(line))
  assert.equal(
    open.map(modeOf),
    open.map(() => 0o600),
  )
  assert.equal(
    left.map(modeOf),
    left.map(() => 0o644),
  )
  // Shared on purpose, perhaps: it is named at every start.
  const named = () => said.filter(line => line.startsWith(`${join(dir, 'config.yaml')} `))
  assert.is(named().length, 1)
  assert.match(named()[0] ?? '', 'doctor --fix')
  assert.is(said.length, open.length + 1)
  restrictSecrets({ baseHome: dir, stateDir }, line => said.push(line))
  assert.is(said.length, open.length + 2)
  // Only whoever manages that home changes it.
  assert.equal(
    findExposed({ baseHome: dir, stateDir }).map(({ path, mode }) => [path, mode]),
    [
      [join(dir, 'config.yaml'), 0o600],
      [join(managed, '.env'), null],
    ],
  )
})

test('every file with secrets, and every place that others could change, is found with the mode it needs', ({
  dir,
}) => {
  const work = join(dir, 'profiles', 'work')
  const stateDir = join(dir, 'webui')
  for (const place of [work, stateDir]) mkdirSync(place, { recursive: true })
  const files = [
    join(dir, 'config.yaml'),
    join(work, 'config.yaml'),
    join(work, 'auth.json'),
    join(stateDir, '.password'),
    join(stateDir, 'settings.json'),
    join(stateDir, 'people.json'),
  ]
  for (const path of files) {
    writeFileSync(path, 'x')
    chmodSync(path, path.endsWith('people.json') ? 0o666 : 0o640)
  }
  writeFileSync(join(stateDir, 'instance.lock'), '', { mode: 0o644 })
  const below = [join(dir, 'cron'), join(work, 'skills'), join(stateDir, 'sessions')]
  for (const place of [dir, stateDir, ...below]) {
    mkdirSync(place, { recursive: true })
    chmodSync(place, 0o777)
  }
  chmodSync(work, 0o755)
  // Nobody else gets there.
  const closed = join(dir, 'profiles', 'closed')
  mkdirSync(join(closed, 'cron'), { recursive: true, mode: 0o700 })
  chmodSync(join(closed, 'cron'), 0o777)
  const found = findExposed({ baseHome: dir, stateDir })
  const named = (text: string) =>
    found.filter(({ message: said }) => said.includes(text)).map(({ path }) => path)
  assert.equal(named('readable').toSorted(), files.slice(0, -1).toSorted())
  assert.equal(named('changed').toSorted(), [dir, stateDir, files.at(-1), ...below].toSorted())
  for (const { path, mode } of found) {
    assert.is.not(mode, null)
    if (mode !== null) chmodSync(path, mode)
  }
  assert.equal(findExposed({ baseHome: dir, stateDir }), [])
  assert.equal([dir, ...files].map(modeOf), [0o755, ...files.map(() => 0o600)])
})

test('a missing home is not an error', ({ dir }) => {
  const said: string[] = []
  const nowhere = join(dir, 'nowhere')
  restrictSecrets({ baseHome: nowhere, stateDir: nowhere }, line => said.push(line))
  assert.equal(said, [])
})

test.run()
