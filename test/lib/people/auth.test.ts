/** Passwords and sign-ins: wrong, forged, expired, many at once, across restarts and changes. */
import { createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock, type TestClock } from '../../_clock.ts'
import {
  type AuthOptions,
  type Device,
  PASSWORD_FROM_ENVIRONMENT,
  Auth,
} from '../../../lib/people/auth.ts'
import { People } from '../../../lib/people/people.ts'
import { openSigningKey } from '../../../lib/people/signing-key.ts'
import { PasswordHasher } from '../../../lib/people/passwords.ts'
import type { SettingsHash } from '../../../lib/people/password-record.ts'
import { bucketOf, type ClientAddress, Throttle } from '../../../lib/people/throttle.ts'
import { UserError } from '../../../lib/errors.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string }>('auth')
test.before.each(context => {
  context.dir = tempDir('agent-webui-auth')
})

/** The hash on disk; undefined when there is none. */
const storedHash = (dir: string): string | null | undefined =>
  existsSync(join(dir, '.password'))
    ? JSON.parse(readFileSync(join(dir, '.password'), 'utf8')).hash
    : undefined

/** settings.json, in memory. */
const settingsOf = () => {
  const state: { now: SettingsHash } = { now: { kind: 'none' } }
  return {
    state,
    read: () => state.now,
    store(hash: string | null) {
      state.now = hash === null ? { kind: 'none' } : { kind: 'hash', hash }
    },
  }
}

const make = (dir: string, options: Partial<AuthOptions> & { clock?: TestClock } = {}) => {
  const { clock = createTestClock() } = options
  const settings = settingsOf()
  const warnings: string[] = []
  const auth = new Auth(dir, new People(dir, () => {}), {
    config: { password: null, isExposed: false },
    settings,
    log: { warn: text => warnings.push(text) },
    iterations: 10,
    ...options,
    clock,
  })
  return { auth, clock, settings, warnings }
}

const withVariable = (password: string) => ({ config: { password, isExposed: false } })

const refusal = async (promise: Promise<unknown>): Promise<[string, string]> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof UserError) return [error.kind, error.message]
    throw error
  }
  return ['', '']
}

const HERE = { address: '1.2.3.4', agent: 'Browser' }
const WRONG: [string, string] = ['unauthorized', 'Invalid password']
const TOO_MANY: [string, string] = ['too-many', 'Too many attempts. Try again in a minute.']

test('is off until a password is set', ({ dir }) => {
  const { auth } = make(dir)
  assert.not.ok(auth.enabled())
  assert.equal(auth.status('anything'), { auth_enabled: false, logged_in: false })
  assert.equal(auth.list(undefined), [])
})

test('hashes as other versions do: PBKDF2-SHA256, 600 000 iterations, salted with the key', async ({
  dir,
}) => {
  const key = openSigningKey(dir)
  const hash = await new PasswordHasher(key).hash('correct horse')
  assert.is(hash, pbkdf2Sync('correct horse', key, 600_000, 32, 'sha256').toString('hex'))
})

test('signs in, stays signed in, signs out', async ({ dir }) => {
  const { auth } = make(dir)
  await auth.setPassword(' secret ')
  assert.match(storedHash(dir) ?? '', /^[0-9a-f]{64}$/)
  for (const bad of ['', ' ', 'Secret', 'secret1', 'x'.repeat(5000)]) {
    assert.equal(await refusal(auth.login(bad, { address: bad.length.toString() })), WRONG)
  }
  const cookie = await auth.login('secret', HERE)
  assert.match(cookie, /^[0-9a-f]{64}\.[0-9a-f]{32}$/)
  assert.equal(auth.status(cookie), { auth_enabled: true, logged_in: true })
  const other = await auth.login('secret', HERE)
  auth.logout(cookie)
  assert.not.ok(auth.check(cookie))
  assert.ok(auth.check(other))
  auth.logout('nonsense')
  auth.logout(undefined)
})

const signToken = (key: Buffer, token: string) =>
  `${token}.${createHmac('sha256', key).update(token).digest('hex').slice(0, 32)}`

test('rejects forged, truncated and foreign cookies', async ({ dir }) => {
  const { auth } = make(dir)
  await auth.setPassword('secret')
  const good = await auth.login('secret', HERE)
  const token = good.slice(0, 64)
  const flip = (text: string, i: number) =>
    text.slice(0, i) + (text[i] === '0' ? '1' : '0') + text.slice(i + 1)
  const bad = [
    '',
    ' ',
    '.',
    token,
    `${token}.`,
    good.slice(0, -1),
    `${good}0`,
    good.toUpperCase(),
    flip(good, 0),
    flip(good, 70),
    `${good}\n`,
    `"${good}"`,
    `${token}.${'0'.repeat(32)}`,
    `${'0'.repeat(64)}${good.slice(64)}`,
    signToken(randomBytes(32), token),
    signToken(openSigningKey(dir), '0'.repeat(64)),
    '__proto__',
    'x'.repeat(100_000),
  ]
  for (const cookie of bad) assert.not.ok(auth.check(cookie), cookie.slice(0, 100))
  assert.ok(auth.check(good))
  assert.is(signToken(openSigningKey(dir), token), good)
})

test('a sign-in ends after 24 hours, regardless of use', async ({ dir }) => {
  const { auth, clock } = make(dir)
  await auth.setPassword('secret')
  const cookie = await auth.login('secret', HERE)
  await clock.advance(86_399_000)
  assert.ok(auth.check(cookie))
  await clock.advance(1_000)
  assert.not.ok(auth.check(cookie))
  assert.equal(auth.list(cookie), [])
  await auth.login('secret', HERE)
  assert.is(JSON.parse(readFileSync(join(dir, 'auth-sessions.json'), 'utf8')).sessions.length, 1)
})

test('sign-ins survive a restart; the file has no tokens', async ({ dir }) => {
  const first = make(dir)
  await first.auth.setPassword('secret')
  const cookie = await first.auth.login('secret', HERE)
  const file = join(dir, 'auth-sessions.json')
  assert.is(statSync(file).mode & 0o777, 0o600)
  const text = readFileSync(file, 'utf8')
  assert.not.ok(text.includes(cookie.slice(0, 20)))
  assert.not.ok(text.includes(storedHash(dir) ?? 'x'))
  assert.ok(make(dir).auth.check(cookie))
  for (const broken of [
    '{',
    '[]',
    '{"version":2}',
    '{"version":1,"sessions":[{"hash":"x"}]}',
    '\0',
  ]) {
    writeFileSync(file, broken)
    const { auth, warnings } = make(dir)
    assert.not.ok(auth.check(cookie))
    assert.is(warnings.length, 1)
  }
})

test('changing the password ends all other sign-ins', async ({ dir }) => {
  const { auth, settings, clock } = make(dir)
  await auth.setPassword('one')
  const [mine, other] = [await auth.login('one', HERE), await auth.login('one', HERE)]
  await auth.setPassword('two', mine)
  assert.equal([auth.check(mine), auth.check(other)], [true, false])
  assert.equal(await refusal(auth.login('one', HERE)), WRONG)
  // The one that stayed is bound to the new password, after a restart too.
  assert.ok(make(dir, { clock }).auth.check(mine))
  await auth.setPassword('three')
  assert.not.ok(auth.check(mine))
  // The former service set a password in settings.json.
  const last = await auth.login('three', HERE)
  assert.ok(auth.check(last))
  settings.state.now = { kind: 'hash', hash: 'f'.repeat(64) }
  assert.not.ok(auth.check(last))
})

test('clearing the password turns sign-in off and ends all sign-ins', async ({ dir }) => {
  const { auth } = make(dir)
  await auth.setPassword('one')
  const old = readFileSync(join(dir, '.password'))
  const cookie = await auth.login('one', HERE)
  auth.clearPassword()
  assert.equal(auth.status(cookie), { auth_enabled: false, logged_in: false })
  assert.not.ok(make(dir).auth.enabled())
  writeFileSync(join(dir, '.password'), old)
  assert.not.ok(auth.check(cookie))
})

test('setting a password signs in the browser that set it', async ({ dir }) => {
  const { auth } = make(dir)
  assert.is(auth.issue(HERE), null)
  await auth.setPassword('one')
  assert.ok(auth.check(auth.issue(HERE) ?? undefined))
})

test('lists and revokes devices', async ({ dir }) => {
  const { auth, clock } = make(dir)
  await auth.setPassword('one')
  const mine = await auth.login('one', HERE)
  await clock.advance(5_000)
  const other = await auth.login('one', { address: '9.9.9.9', agent: 'x'.repeat(1000) })
  const list = auth.list(mine)
  assert.equal(
    list.map(({ address, current }) => [address, current]),
    [
      ['9.9.9.9', false],
      ['1.2.3.4', true],
    ],
  )
  assert.is(list[0]?.agent.length, 200)
  assert.not.ok(auth.revoke(''))
  assert.not.ok(auth.revoke('0'.repeat(16)))
  assert.ok(auth.revoke(list[0]?.id ?? ''))
  assert.equal([auth.check(mine), auth.check(other)], [true, false])
  const third = await auth.login('one', HERE)
  assert.is(auth.revokeOthers(third), 1)
  assert.equal([auth.check(mine), auth.check(third)], [false, true])
})

test('a device keeps its name and its last use across a restart, and only live ones can be renamed', async ({
  dir,
}) => {
  const { auth, clock } = make(dir)
  await auth.setPassword('one')
  const cookie = await auth.login('one', HERE)
  const [{ id, ...first }] = auth.list(cookie) as [Device]
  assert.equal(
    [first.name, first.how, first.seen_at, first.seen_address],
    ['', 'password', first.created_at, '1.2.3.4'],
  )
  assert.not.ok(auth.rename('0'.repeat(16), 'x'))
  assert.not.ok(auth.rename('', 'x'))
  assert.ok(auth.rename(id, 'Laptop'))
  // Within a minute the address is not even determined.
  const unwanted = () => assert.unreachable() as never
  auth.personOf(cookie, unwanted)
  await clock.advance(90_000)
  auth.personOf(cookie, () => '5.6.7.8')
  auth.personOf(cookie, unwanted)
  auth.close()
  const [again] = make(dir, { clock }).auth.list(cookie)
  assert.equal(
    [again?.name, again?.seen_at, again?.seen_address, again?.address],
    ['Laptop', first.created_at + 90, '5.6.7.8', '1.2.3.4'],
  )
})

test('sign-ins of earlier versions stay valid', async ({ dir }) => {
  const { auth, clock } = make(dir)
  await auth.setPassword('one')
  const cookie = await auth.login('one', HERE)
  auth.close()
  const path = join(dir, 'auth-sessions.json')
  const file = JSON.parse(readFileSync(path, 'utf8'))
  for (const entry of file.sessions) delete entry.how
  writeFileSync(path, JSON.stringify(file))
  const [device] = make(dir, { clock }).auth.list(cookie)
  assert.equal([device?.current, device?.how, device?.name], [true, 'password', ''])
})

test('AGENT_WEBUI_PASSWORD overrides the stored password, which is neither used nor changed', async ({
  dir,
}) => {
  await make(dir).auth.setPassword('stored')
  const before = storedHash(dir)
  const { auth, warnings } = make(dir, withVariable('env'))
  assert.ok(auth.enabled())
  assert.is(warnings.length, 1)
  assert.match(warnings[0] ?? '', 'A stored password exists beside AGENT_WEBUI_PASSWORD')
  assert.equal(await refusal(auth.login('stored', HERE)), WRONG)
  const cookie = await auth.login('env', HERE)
  assert.equal(await refusal(auth.setPassword('new')), ['conflict', PASSWORD_FROM_ENVIRONMENT])
  assert.throws(() => auth.clearPassword(), PASSWORD_FROM_ENVIRONMENT)
  assert.is(storedHash(dir), before)
  assert.ok(auth.check(cookie))
  // Without the variable the stored one counts again, and what was signed in under the variable does not.
  const later = make(dir).auth
  assert.not.ok(later.check(cookie))
  assert.ok(later.check(await later.login('stored', HERE)))
})

test('rejects cookies of an earlier AGENT_WEBUI_PASSWORD, also while the new one is being hashed', async ({
  dir,
}) => {
  const cookie = await make(dir, withVariable('env')).auth.login('env', HERE)
  const same = make(dir, withVariable('env')).auth
  assert.not.ok(same.check(cookie), 'not known yet')
  await same.settling()
  assert.ok(same.check(cookie))
  assert.is(same.settling(), undefined)
  const changed = make(dir, withVariable('new')).auth
  assert.not.ok(changed.check(cookie))
  await changed.settling()
  assert.not.ok(changed.check(cookie))
})

test('after five wrong passwords, rejects every password', async ({ dir }) => {
  const { auth, clock } = make(dir)
  await auth.setPassword('right')
  for (let i = 0; i < 4; i++) assert.equal(await refusal(auth.login('wrong', HERE)), WRONG)
  // The right one forgives what was before.
  await auth.login('right', HERE)
  for (let i = 0; i < 5; i++) assert.equal(await refusal(auth.login('wrong', HERE)), WRONG)
  assert.equal(await refusal(auth.login('right', HERE)), TOO_MANY)
  await auth.login('right', { address: '5.6.7.8' })
  await clock.advance(59_999)
  assert.equal(await refusal(auth.login('right', HERE)), TOO_MANY)
  await clock.advance(1)
  await auth.login('right', HERE)
})

test('a parallel burst cannot exceed the limit', async ({ dir }) => {
  const { auth } = make(dir)
  await auth.setPassword('right')
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => refusal(auth.login('wrong', HERE))),
  )
  assert.is(answers.filter(([kind]) => kind === 'unauthorized').length, 5)
  assert.is(answers.filter(([kind]) => kind === 'too-many').length, 15)
})

test('hashes one at a time, queues eight, and rejects more without counting an attempt', async ({
  dir,
}) => {
  const { auth } = make(dir, { iterations: 2_000 })
  await auth.setPassword('right')
  const tries = Array.from({ length: 12 }, (_, i) =>
    refusal(auth.login('right', { address: `1.1.1.${i}` })),
  )
  const answers = await Promise.all(tries)
  assert.is(answers.filter(([kind]) => kind === '').length, 9)
  assert.is(answers.filter(([, text]) => text.startsWith('Too many sign-ins at once')).length, 3)
  for (let i = 0; i < 5; i++)
    assert.equal(await refusal(auth.login('wrong', { address: '1.1.1.11' })), WRONG)
})

test('bounds the number of clients; a /64 and every spelling of an address are one client', () => {
  const throttle = new Throttle({ clock: createTestClock() })
  for (let i = 0; i < 30_000; i++) throttle.take({ address: `${i >> 8}.${i & 255}` })
  const cases = {
    '2001:db8::1': '2001:db8:0:0',
    '2001:0db8:0:0:ffff::': '2001:db8:0:0',
    '2001:DB8::2': '2001:db8:0:0',
    '::1': '0:0:0:0',
    'fe80::1%eth0': 'fe80:0:0:0',
    '1.2.3.4': '1.2.3.4',
    '::ffff:1.2.3.4': '1.2.3.4',
    '::FFFF:102:304': '1.2.3.4',
    '0:0:0:0:0:ffff:0102:0304': '1.2.3.4',
    '0000:0000:0000:0000:0000:ffff:1.2.3.4': '1.2.3.4',
  }
  for (const [address, bucket] of Object.entries(cases))
    assert.is(bucketOf(address), bucket, address)
})

const takes = (throttle: Throttle, from: ClientAddress): boolean => {
  try {
    throttle.take(from)
    return true
  } catch {
    return false
  }
}

test('attempts survive a restart and clock changes', async ({ dir }) => {
  const path = join(dir, 'auth-throttle.json')
  const clock = createTestClock()
  const open = () => new Throttle({ path, clock, warn: assert.unreachable })
  const first = open()
  for (let i = 0; i < 5; i++) assert.ok(takes(first, HERE))
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.not.ok(takes(open(), HERE))
  await clock.advance(59_000)
  assert.not.ok(takes(open(), HERE))
  await clock.advance(1_000)
  assert.ok(takes(open(), HERE))
  // A clock that is set back by a day counts them from now on: a minute, not a day.
  for (let i = 0; i < 4; i++) takes(open(), HERE)
  clock.set(clock.now() - 86_400_000)
  const back = open()
  assert.not.ok(takes(back, HERE))
  await clock.advance(60_000)
  assert.ok(takes(back, HERE))
  for (const damage of ['{', '[]', '{"1.2.3.4": 5}']) {
    writeFileSync(path, damage)
    const warnings: string[] = []
    new Throttle({ path, clock, warn: text => warnings.push(text) })
    assert.is(warnings.length, 1, damage)
  }
})

test('setting the clock locks no client out', async ({ dir }) => {
  const { auth, clock } = make(dir)
  await auth.setPassword('right')
  for (let i = 0; i < 4; i++) await refusal(auth.login('wrong', HERE))
  clock.set(clock.now() - 86_400_000)
  await auth.login('right', HERE)
})

test('an unconfigured proxy has twenty attempts in total; a correct password does not reset them', () => {
  const throttle = new Throttle({ clock: createTestClock() })
  const from = (i: number) => ({ address: `9.9.9.${i}`, via: '127.0.0.1' })
  const slots = Array.from({ length: 20 }, (_, i) => throttle.take(from(i)))
  assert.not.ok(takes(throttle, from(100)))
  slots[0]?.clear()
  assert.ok(takes(throttle, from(101)))
  assert.not.ok(takes(throttle, from(102)))
  // Without a proxy in between, and through another one, nothing of that counts.
  assert.ok(takes(throttle, { address: '127.0.0.1' }))
  assert.ok(takes(throttle, { address: '9.9.9.200', via: '::1' }))
})

test('the signing key is private, persistent and never replaced silently', ({ dir }) => {
  const path = join(dir, '.signing_key')
  const key = openSigningKey(dir)
  assert.is(key.length, 32)
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.equal(openSigningKey(dir), key)
  writeFileSync(path, Buffer.concat([key, Buffer.from('more')]))
  chmodSync(path, 0o644)
  assert.equal(openSigningKey(dir), key)
  assert.is(statSync(path).mode & 0o777, 0o600)
  writeFileSync(path, 'short')
  assert.throws(() => openSigningKey(dir), /holds 5 bytes instead of 32/)
  assert.is(readFileSync(path, 'utf8'), 'short')
  rmSync(path)
  writeFileSync(join(dir, 'file'), '')
  assert.throws(() => openSigningKey(join(dir, 'file')), /cannot be read/)
  assert.throws(() => openSigningKey(join(dir, 'no', 'where')), /cannot be written/)
})

test.run()
