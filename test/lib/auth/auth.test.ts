/** Passwords and sign-ins: wrong, forged, expired, many at once, across restarts and changes. */
import { pbkdf2Sync, randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type AuthOptions, createAuth } from '../../../lib/auth/auth.ts'
import { createToken, signToken, verifyCookie } from '../../../lib/auth/cookie.ts'
import { openKey } from '../../../lib/auth/key.ts'
import { createHasher } from '../../../lib/auth/password.ts'
import { bucketOf, createThrottle } from '../../../lib/auth/throttle.ts'
import { Refusal } from '../../../lib/errors.ts'

const test = suite<{ dir: string }>('auth')
test.before.each(context => {
  context.dir = mkdtempSync(join(tmpdir(), 'agent-webui-auth-'))
})
test.after.each(({ dir }) => rmSync(dir, { recursive: true, force: true }))

const memorySettings = (hash: string | null = null) => {
  const state = { hash }
  return {
    state,
    passwordHash: () => state.hash,
    setPasswordHash: (next: string | null) => {
      state.hash = next
    },
  }
}

const make = (dir: string, options: Partial<AuthOptions> = {}) => {
  const clock = { now: 1_700_000_000_000 }
  const settings = memorySettings()
  const warnings: string[] = []
  const auth = createAuth({
    stateDir: dir,
    config: { password: null },
    settings,
    log: { warn: text => warnings.push(text) },
    now: () => clock.now,
    iterations: 10,
    ...options,
  })
  return { auth, clock, settings, warnings }
}

const refusal = async (promise: Promise<unknown>): Promise<[string, string]> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof Refusal) return [error.kind, error.message]
    throw error
  }
  return ['', '']
}

const HERE = { address: '1.2.3.4', agent: 'Browser' }
const WRONG: [string, string] = ['unauthorized', 'Invalid password']
const TOO_MANY: [string, string] = ['too-many', 'Too many attempts. Try again in a minute.']

test('off until there is a password', ({ dir }) => {
  const { auth } = make(dir)
  assert.not.ok(auth.enabled())
  assert.equal(auth.status('anything'), { auth_enabled: false, logged_in: false })
  assert.equal(auth.list(undefined), [])
})

test('a hash is what spec.md says: PBKDF2-SHA256, 600 000 times, salted with the key', async ({
  dir,
}) => {
  const key = openKey(dir)
  const hash = await createHasher(key).hash('correct horse')
  assert.is(hash, pbkdf2Sync('correct horse', key, 600_000, 32, 'sha256').toString('hex'))
})

test('signing in, staying in, signing out', async ({ dir }) => {
  const { auth, settings } = make(dir)
  await auth.setPassword(' secret ')
  assert.match(settings.state.hash ?? '', /^[0-9a-f]{64}$/)
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

test('forged, truncated, foreign and odd cookies', async ({ dir }) => {
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
    signToken(openKey(dir), createToken()),
    '__proto__',
    'x'.repeat(100_000),
  ]
  for (const cookie of bad) assert.not.ok(auth.check(cookie), cookie.slice(0, 100))
  assert.ok(auth.check(good))
  assert.is(verifyCookie(openKey(dir), good), token)
})

test('24 hours, not a second longer however much it is used', async ({ dir }) => {
  const { auth, clock } = make(dir)
  await auth.setPassword('secret')
  const cookie = await auth.login('secret', HERE)
  clock.now += 86_399_000
  assert.ok(auth.check(cookie))
  clock.now += 1_000
  assert.not.ok(auth.check(cookie))
  assert.equal(auth.list(cookie), [])
  await auth.login('secret', HERE)
  assert.is(JSON.parse(readFileSync(join(dir, 'auth-sessions.json'), 'utf8')).sessions.length, 1)
})

test('a restart signs nobody out; the file holds no token', async ({ dir }) => {
  const first = make(dir)
  await first.auth.setPassword('secret')
  const cookie = await first.auth.login('secret', HERE)
  const file = join(dir, 'auth-sessions.json')
  assert.is(statSync(file).mode & 0o777, 0o600)
  const text = readFileSync(file, 'utf8')
  assert.not.ok(text.includes(cookie.slice(0, 20)))
  assert.not.ok(text.includes(first.settings.state.hash ?? ''))
  assert.ok(make(dir, { settings: first.settings }).auth.check(cookie))
  for (const broken of [
    '{',
    '[]',
    '{"version":2}',
    '{"version":1,"sessions":[{"hash":"x"}]}',
    '\0',
  ]) {
    writeFileSync(file, broken)
    const { auth, warnings } = make(dir, { settings: first.settings })
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
  assert.ok(make(dir, { settings, now: () => clock.now }).auth.check(mine))
  await auth.setPassword('three')
  assert.not.ok(auth.check(mine))
  // Another program changed the hash in the file.
  const last = await auth.login('three', HERE)
  assert.ok(auth.check(last))
  settings.state.hash = 'f'.repeat(64)
  assert.not.ok(auth.check(last))
})

test('clearing the password turns it off and ends everything', async ({ dir }) => {
  const { auth, settings } = make(dir)
  await auth.setPassword('one')
  const old = settings.state.hash
  const cookie = await auth.login('one', HERE)
  auth.clearPassword()
  assert.equal(auth.status(cookie), { auth_enabled: false, logged_in: false })
  settings.state.hash = old
  assert.not.ok(auth.check(cookie))
})

test('turning it on gives the one who did a cookie', async ({ dir }) => {
  const { auth } = make(dir)
  assert.is(await auth.issue(HERE), null)
  await auth.setPassword('one')
  assert.ok(auth.check((await auth.issue(HERE)) ?? undefined))
})

test('devices are listed and revoked', async ({ dir }) => {
  const { auth, clock } = make(dir)
  await auth.setPassword('one')
  const mine = await auth.login('one', HERE)
  clock.now += 5_000
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

test('a password of the environment wins, and is hashed when first needed', async ({ dir }) => {
  const settings = memorySettings('f'.repeat(64))
  const { auth } = make(dir, { config: { password: 'env' }, settings })
  assert.ok(auth.enabled())
  assert.equal(await refusal(auth.login('other', HERE)), WRONG)
  const cookie = await auth.login('env', HERE)
  await auth.setPassword('stored')
  assert.ok(auth.check(cookie))
  auth.clearPassword()
  assert.ok(auth.enabled() && auth.check(cookie))
  assert.ok(make(dir, { config: { password: 'env' } }).auth.check(cookie))
  // Another one at the next start: what was signed in under the first ends.
  const changed = make(dir, { config: { password: 'new' } }).auth
  await changed.issue(HERE)
  assert.not.ok(changed.check(cookie))
})

test('five wrong ones, then silence, even for the right one', async ({ dir }) => {
  const { auth, clock } = make(dir)
  await auth.setPassword('right')
  for (let i = 0; i < 4; i++) assert.equal(await refusal(auth.login('wrong', HERE)), WRONG)
  // The right one forgives what was before.
  await auth.login('right', HERE)
  for (let i = 0; i < 5; i++) assert.equal(await refusal(auth.login('wrong', HERE)), WRONG)
  assert.equal(await refusal(auth.login('right', HERE)), TOO_MANY)
  await auth.login('right', { address: '5.6.7.8' })
  clock.now += 59_999
  assert.equal(await refusal(auth.login('right', HERE)), TOO_MANY)
  clock.now += 1
  await auth.login('right', HERE)
})

test('a parallel burst does not pass the count', async ({ dir }) => {
  const { auth } = make(dir)
  await auth.setPassword('right')
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => refusal(auth.login('wrong', HERE))),
  )
  assert.is(answers.filter(([kind]) => kind === 'unauthorized').length, 5)
  assert.is(answers.filter(([kind]) => kind === 'too-many').length, 15)
})

test('one hash at a time, eight wait, more are told to come back and lose no attempt', async ({
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

test('a flood of clients is remembered only so far; a /64 is one client', () => {
  let now = 0
  const throttle = createThrottle(() => now)
  for (let i = 0; i < 30_000; i++) {
    now += 1
    throttle.take(`${i >> 8}.${i & 255}`)
  }
  assert.is(bucketOf('2001:db8::1'), '2001:db8:0:0')
  assert.is(bucketOf('2001:0db8:0:0:ffff::'), '2001:db8:0:0')
  assert.is(bucketOf('::1'), '0:0:0:0')
  assert.is(bucketOf('fe80::1%eth0'), 'fe80:0:0:0')
  assert.is(bucketOf('1.2.3.4'), '1.2.3.4')
})

test('the key: private, kept, never replaced silently', ({ dir }) => {
  const path = join(dir, '.signing_key')
  const key = openKey(dir)
  assert.is(key.length, 32)
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.equal(openKey(dir), key)
  writeFileSync(path, Buffer.concat([key, Buffer.from('more')]))
  chmodSync(path, 0o644)
  assert.equal(openKey(dir), key)
  assert.is(statSync(path).mode & 0o777, 0o600)
  writeFileSync(path, 'short')
  assert.throws(() => openKey(dir), /holds 5 bytes instead of 32/)
  assert.is(readFileSync(path, 'utf8'), 'short')
  rmSync(path)
  writeFileSync(join(dir, 'file'), '')
  assert.throws(() => openKey(join(dir, 'file')), /cannot be read/)
  assert.throws(() => openKey(join(dir, 'no', 'where')), /cannot be written/)
})

test.run()
