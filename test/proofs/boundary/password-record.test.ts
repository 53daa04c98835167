/** Every way the stored password can be damaged, before a start and while the service runs: never an open service. */
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { People } from '../../../lib/people/people.ts'
import { Auth } from '../../../lib/people/auth.ts'
import { openSigningKey } from '../../../lib/people/signing-key.ts'
import { PasswordHasher } from '../../../lib/people/passwords.ts'
import { UserError } from '../../../lib/errors.ts'
import { SettingsStore } from '../../../lib/profiles/settings.ts'
import { PasswordFile, type SettingsPassword } from '../../../lib/people/password-record.ts'
import { writeOld } from '../../_wait.ts'
import { PASSWORD_ITERATIONS, startApp, type TestApp } from '../../_app.ts'

const test = suite<{ dir: string; app: TestApp }>('auth: password record')
test.before(async context => {
  context.app = await startApp({ allowErrors: true })
})
test.after(({ app }) => app.close())
test.before.each(context => {
  context.dir = mkdtempSync(join(tmpdir(), 'record-'))
})
test.after.each(({ dir }) => rmSync(dir, { recursive: true, force: true }))

/** A record that is not what was written. `path` is the record's. */
const edit = (change: (record: Record<string, unknown>) => unknown) => (path: string) =>
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')))))
const text = (data: string | Buffer) => (path: string) => writeFileSync(path, data)
const replaced = (make: (path: string) => void) => (path: string) => {
  rmSync(path, { recursive: true, force: true })
  make(path)
}

const DAMAGE: Readonly<Record<string, (path: string) => void>> = {
  deleted: replaced(() => {}),
  empty: text(''),
  '{}': text('{}'),
  null: text('null'),
  list: text('[]'),
  string: text('"x"'),
  binary: text(Buffer.from([0, 255, 254, 128, 1])),
  'not JSON': text('{'),
  truncated: path => truncateSync(path, 40),
  nested: edit(record => ({ password: record })),
  'in a list': edit(record => [record]),
  'no hash': edit(({ hash: _, ...rest }) => rest),
  'hash null with the old seal': edit(record => ({ ...record, hash: null })),
  'hash empty': edit(record => ({ ...record, hash: '' })),
  'hash of a wrong type': edit(record => ({ ...record, hash: 5 })),
  'hash in upper case': edit(record => ({ ...record, hash: String(record.hash).toUpperCase() })),
  'hash too short': edit(record => ({ ...record, hash: String(record.hash).slice(1) })),
  'another hash': edit(record => ({ ...record, hash: 'f'.repeat(64) })),
  'no seal': edit(({ seal: _, ...rest }) => rest),
  'another seal': edit(record => ({ ...record, seal: '0'.repeat(64) })),
  'another version': edit(record => ({ ...record, version: 2 })),
  'one more key': edit(record => ({ ...record, off: true })),
  huge: text(' '.repeat(100_000)),
  directory: replaced(path => mkdirSync(path)),
  FIFO: replaced(path => void execFileSync('mkfifo', [path])),
  'link to nothing': replaced(path => symlinkSync('/nowhere', path)),
  'link to a device': replaced(path => symlinkSync('/dev/zero', path)),
  'link to another file': replaced(path => symlinkSync('/etc/passwd', path)),
}

const SECRET = 'correct horse'
const HERE = { address: '1.2.3.4' }

/** Authentication over the files of this directory, as after a start of the service. */
const boot = (dir: string) => {
  const settings = new SettingsStore(join(dir, 'settings.json'), {
    botName: 'Agent',
    usableWorkspace: () => undefined,
    defaultWorkspace: () => dir,
    migrateDefaultModel: () => {},
  })
  return new Auth(dir, new People(dir, () => {}), {
    clock: createTestClock(),
    config: { password: null, isExposed: false },
    settings: settings.password,
    log: { warn: () => {} },
    iterations: 10,
  })
}

const kindOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'signed in',
    error => (error instanceof UserError ? error.kind : String(error)),
  )

for (const [name, damage] of Object.entries(DAMAGE)) {
  test(`a record damaged before the start rejects every sign-in: ${name}`, async ({ dir }) => {
    const first = boot(dir)
    await first.setPassword(SECRET)
    const cookie = await first.login(SECRET, HERE)
    damage(join(dir, '.password'))
    // The copy in settings.json is still there: closed, and the password works.
    const copied = boot(dir)
    assert.equal([copied.enabled(), copied.check(undefined)], [true, false])
    assert.is(await kindOf(copied.login('wrong', HERE)), 'unauthorized')
    assert.is(await kindOf(copied.login(SECRET, HERE)), 'signed in')
    // Without it every sign-in is rejected.
    damage(join(dir, '.password'))
    rmSync(join(dir, 'settings.json'))
    const auth = boot(dir)
    assert.is(auth.enabled(), true)
    assert.is(auth.check(cookie), false)
    assert.is(await kindOf(auth.login(SECRET, HERE)), 'unavailable')
    // Setting one is the way out; the service asks for a sign-in before it comes to that.
    await auth.setPassword('another one')
    assert.is(await kindOf(boot(dir).login('another one', HERE)), 'signed in')
  })

  test(`a record that is damaged while the service runs: the password keeps working – ${name}`, async ({
    dir,
  }) => {
    const auth = boot(dir)
    await auth.setPassword(SECRET)
    const cookie = await auth.login(SECRET, HERE)
    damage(join(dir, '.password'))
    rmSync(join(dir, 'settings.json'))
    assert.is(auth.enabled(), true)
    assert.is(auth.check(undefined), false)
    assert.is(auth.check(cookie), true)
    assert.is(await kindOf(auth.login('wrong', HERE)), 'unauthorized')
    assert.is(await kindOf(auth.login(SECRET, HERE)), 'signed in')
    // The person has shown that they know it, so it is written again.
    assert.is(await kindOf(boot(dir).login(SECRET, HERE)), 'signed in')
  })
}

/** As on the first day. */
const reset = async (app: TestApp) => {
  for (const file of ['.password', '.password_set', 'settings.json', 'auth-throttle.json'])
    rmSync(join(app.state, file), { recursive: true, force: true })
  await app.restart()
}

const assertClosed = async (app: TestApp, what: string) => {
  assert.is((await app.get('/api/sessions')).status, 401, what)
  assert.is((await app.post('/api/settings', { theme: 'nord' })).status, 401, what)
  assert.is((await app.post('/api/settings', { _clear_password: true })).status, 401, what)
  assert.is((await app.get('/')).status, 302, what)
  assert.is((await app.get('/api/auth/status')).body.auth_enabled, true, what)
  assert.is((await app.get('/health')).status, 200, what)
}

const login = (app: TestApp) => app.post('/api/auth/login', { password: SECRET })

const setPassword = async (app: TestApp) => {
  const set = await app.post('/api/settings', { _set_password: SECRET })
  assert.is(set.status, 200)
  return (set.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
}

test('with a lost record, pages and API are closed and sign-in explains what to do', async ({
  app,
}) => {
  await reset(app)
  const cookie = await setPassword(app)
  rmSync(join(app.state, '.password'))
  rmSync(join(app.state, 'settings.json'))
  await assertClosed(app, 'running')
  assert.is((await app.get('/api/sessions', { headers: { cookie } })).status, 200)
  await app.restart()
  await assertClosed(app, 'started')
  const refused = await login(app)
  assert.is(refused.status, 503)
  assert.match(refused.body.error, 'agent-webui password')
})

test('deleting, emptying or replacing settings.json does not turn the password off', async ({
  app,
}) => {
  await reset(app)
  await setPassword(app)
  const path = join(app.state, 'settings.json')
  const states = [null, '{}', '[]', '{', '\0', '{"password_hash": null}', '{"password_hash": ""}']
  for (const state of states) {
    if (state === null) rmSync(path, { force: true })
    else writeFileSync(path, state)
    await assertClosed(app, String(state))
    await app.restart()
    await assertClosed(app, String(state))
    assert.is((await login(app)).status, 200, String(state))
  }
})

test('an invalid hash in settings.json closes sign-in, before the start and while running', async ({
  app,
}) => {
  await reset(app)
  const hash = 'ab'.repeat(32)
  for (const odd of [5, true, [], {}, { hash }, [hash], 'short', `${hash}00`]) {
    writeFileSync(join(app.state, 'settings.json'), JSON.stringify({ password_hash: odd }))
    await assertClosed(app, JSON.stringify(odd))
    await app.restart()
    await assertClosed(app, JSON.stringify(odd))
  }
  writeFileSync(join(app.state, 'settings.json'), '{}')
  assert.is((await app.get('/api/sessions')).status, 200)
})

test('a hash of the former server in settings.json turns sign-in on, also after settings.json is deleted', async ({
  app,
}) => {
  await reset(app)
  const hasher = new PasswordHasher(openSigningKey(app.state), PASSWORD_ITERATIONS)
  const hash = await hasher.hash(SECRET)
  for (const written of [hash, hash.toUpperCase()]) {
    writeFileSync(
      join(app.state, 'settings.json'),
      JSON.stringify({ theme: 'nord', password_hash: written }),
    )
    await assertClosed(app, written)
    assert.is((await login(app)).status, 200)
    writeFileSync(join(app.state, 'settings.json'), '{}')
    await app.restart()
    await assertClosed(app, written)
    assert.is((await login(app)).status, 200)
  }
})

test('a removed password stays removed after a restart', async ({ app }) => {
  await reset(app)
  const cookie = await setPassword(app)
  const off = await app.post('/api/settings', { _clear_password: true }, { headers: { cookie } })
  assert.equal([off.status, off.body.auth_enabled], [200, false])
  await app.restart()
  assert.is((await app.get('/api/sessions')).status, 200)
})

test('another signing key invalidates the record and keeps sign-in closed', async ({ app }) => {
  await reset(app)
  await setPassword(app)
  rmSync(join(app.state, '.signing_key'))
  await app.restart()
  await assertClosed(app, 'another key')
  // The hash of the copy was made with the other key, too.
  assert.is((await login(app)).status, 401)
  rmSync(join(app.state, 'settings.json'))
  rmSync(join(app.state, '.signing_key'))
  await app.restart()
  await assertClosed(app, 'another key, no copy')
  assert.is((await login(app)).status, 503)
})

test('a record that another program wrote with settings.json is not mistaken for an older one', ({
  dir,
}) => {
  const path = join(dir, '.password')
  const [first, second] = ['a'.repeat(64), 'b'.repeat(64)]
  const stored = { hash: first }
  const warnings: string[] = []
  const settings: SettingsPassword = {
    read: () => ({ kind: 'hash', hash: stored.hash }),
    store(hash) {
      stored.hash = hash ?? ''
    },
  }
  const record = new PasswordFile(dir, Buffer.alloc(32), settings, text => void warnings.push(text))
  record.set(second)
  const next = readFileSync(path, 'utf8')
  record.set(first)
  writeOld(path, readFileSync(path, 'utf8'))
  assert.equal(record.state(), { kind: 'hash', hash: first })
  // Nothing has reported this yet.
  writeOld(path, next)
  stored.hash = second
  assert.equal(record.state(), { kind: 'hash', hash: second })
  assert.equal(warnings, [])
})

test.run()
