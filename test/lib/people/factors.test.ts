/** One-time codes, challenges and people.json: replay, races, the clock, restarts, and files that were damaged or removed. */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TOTP } from 'otpauth'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { Auth } from '../../../lib/people/auth.ts'
import { Challenges } from '../../../lib/people/challenges.ts'
import { Codes } from '../../../lib/people/codes.ts'
import { relyingPartyOf } from '../../../lib/people/passkeys.ts'
import { People } from '../../../lib/people/people.ts'
import { UserError } from '../../../lib/errors.ts'
import { changesReported, writeOld } from '../../_wait.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string }>('sign-in factors')
test.before.each(context => {
  context.dir = tempDir('agent-webui-factors')
})

const HERE = { address: '1.2.3.4' }

const make = (dir: string, clock = createTestClock()) => {
  const warnings: string[] = []
  const secrets: string[] = []
  const warn = (text: string) => void warnings.push(text)
  const people = new People(dir, warn)
  const throttlePath = join(dir, 'throttle.json')
  const onSecret = (secret: string) => void secrets.push(secret)
  const codes = new Codes(people, throttlePath, clock, warn, onSecret)
  const auth = new Auth(dir, people, {
    codes,
    config: { password: 'correct horse', isExposed: false },
    settings: { read: () => ({ kind: 'none' }), store() {} },
    log: { warn },
    clock,
    iterations: 10,
  })
  const login = (code?: string) => auth.login('correct horse', HERE, { code })
  return { clock, warnings, secrets, people, codes, auth, login }
}

const codeOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof UserError) return error.code
    throw error
  }
  return 'accepted'
}

/** Turns codes on; returns what an authenticator app shows at a time, and the recovery codes. */
const turnOn = async ({ codes, clock }: ReturnType<typeof make>) => {
  const { secret } = await codes.start('me', { title: 'Agent' })
  const generator = new TOTP({ secret })
  const at = (offset = 0) => generator.generate({ timestamp: clock.now() + offset * 1_000 })
  const recovery = await codes.enable('me', at())
  return { at, recovery, secret }
}

test('codes are required only after the app has shown a right one', async ({ dir }) => {
  const made = make(dir)
  const { codes, login } = made
  assert.is(await codeOf(codes.enable('me', '123456')), 'setup_expired')
  const { secret } = await codes.start('me', { title: 'Agent' })
  assert.ok(made.secrets.includes(secret))
  assert.is(await codeOf(codes.enable('other', '123456')), 'setup_expired')
  assert.is(await codeOf(codes.enable('me', '12')), 'wrong_code')
  assert.is(await codeOf(login()), 'accepted')
  const { at } = await turnOn(made)
  assert.is(await codeOf(codes.start('me', { title: 'Agent' })), 'codes_on')
  assert.is(await codeOf(login()), 'code_required')
  assert.is(await codeOf(login(' ')), 'code_required')
  assert.is(await codeOf(made.auth.login('wrong', HERE, { code: at(30) })), 'wrong_password')
  codes.disable()
  assert.is(await codeOf(login()), 'accepted')
})

test('a code works once, also for two requests at once, and one step early or late', async ({
  dir,
}) => {
  const made = make(dir)
  const { clock, login } = made
  const { at } = await turnOn(made)
  // The code that turned them on is used up.
  assert.is(await codeOf(login(at())), 'wrong_code')
  await clock.advance(300_000)
  assert.is(await codeOf(login(at(-60))), 'wrong_code')
  assert.is(await codeOf(login(at(60))), 'wrong_code')
  assert.is(await codeOf(login(at(-30))), 'accepted')
  const both = await Promise.all([codeOf(login(at())), codeOf(login(at()))])
  assert.equal(both.toSorted(), ['accepted', 'wrong_code'])
  assert.is(await codeOf(login(at(-30))), 'wrong_code')
  const spaced = at(30).replace(/^.../, '$& ')
  assert.is(await codeOf(login(spaced)), 'accepted')
  // Neither does a restart bring it back.
  assert.is(
    await codeOf(make(dir).auth.login('correct horse', HERE, { code: at(30) })),
    'wrong_code',
  )
})

test('a recovery code works once; new ones replace the old', async ({ dir }) => {
  const made = make(dir)
  const { codes, login } = made
  const { recovery } = await turnOn(made)
  assert.is(new Set(recovery).size, 10)
  const [first = '', second = '', third = ''] = recovery
  const both = await Promise.all([codeOf(login(first)), codeOf(login(first))])
  assert.equal(both.toSorted(), ['accepted', 'wrong_code'])
  assert.is(await codeOf(login(second.replace('-', '').toUpperCase())), 'accepted')
  assert.is(codes.view().recovery_left, 8)
  const [fresh = ''] = codes.renewRecovery()
  assert.is(await codeOf(login(third)), 'wrong_code')
  assert.is(await codeOf(login(fresh)), 'accepted')
  const file = readFileSync(join(dir, 'people.json'), 'utf8')
  assert.not.ok(file.includes(third.replace('-', '')))
  assert.is(statSync(join(dir, 'people.json')).mode & 0o777, 0o600)
})

test('five wrong codes close codes for everyone, across a restart, and not the password', async ({
  dir,
}) => {
  const made = make(dir)
  const { at } = await turnOn(made)
  await made.clock.advance(300_000)
  for (let i = 0; i < 5; i += 1)
    assert.is(
      await codeOf(made.auth.login('correct horse', { address: `9.9.9.${i}` }, { code: '000000' })),
      'wrong_code',
    )
  assert.is(await codeOf(made.login(at())), 'too_many_codes')
  const again = make(dir, made.clock)
  assert.is(await codeOf(again.login(at())), 'too_many_codes')
  assert.is(await codeOf(again.login()), 'code_required')
})

test('a removed or damaged people.json closes the password instead of opening it', async ({
  dir,
}) => {
  const made = make(dir)
  const path = join(dir, 'people.json')
  const { at } = await turnOn(made)
  const good = readFileSync(path)
  for (const bad of ['', '{}', '{"version":1,"people":[]}', 'x'.repeat(100)]) {
    writeFileSync(path, bad)
    await changesReported()
    assert.is(await codeOf(made.login(at(30))), 'factors_unreadable')
  }
  rmSync(path)
  await changesReported()
  assert.is(await codeOf(made.login(at(30))), 'factors_unreadable')
  assert.is(await codeOf(make(dir).login()), 'factors_unreadable')
  writeFileSync(path, good)
  await changesReported()
  await made.clock.advance(60_000)
  assert.is(await codeOf(made.login(at())), 'accepted')
  rmSync(path)
  made.people.reset()
  assert.not.ok(existsSync(join(dir, '.second_factor')))
  assert.is(await codeOf(made.login()), 'accepted')
})

test('a people.json from before codes closes sign-in; a kill while they are turned on or off leaves them on', async ({
  dir,
}) => {
  const made = make(dir)
  const [path, mark] = [join(dir, 'people.json'), join(dir, '.second_factor')]
  made.people.update({ passkeys: [] })
  const before = readFileSync(path)
  const { at } = await turnOn(made)
  const good = readFileSync(path)
  writeFileSync(path, before)
  await changesReported()
  assert.is(await codeOf(made.login()), 'factors_unreadable')
  assert.throws(() => made.people.update({ totp: null }), /cannot be read/)
  // Between the two files, in both directions.
  writeFileSync(path, good)
  rmSync(mark)
  await changesReported()
  assert.is(await codeOf(made.login()), 'code_required')
  await made.clock.advance(60_000)
  assert.is(await codeOf(made.login(at())), 'accepted')
  assert.ok(existsSync(mark))
})

test('a fresh sign-in confirms for ten minutes, also when the clock is set back', async ({
  dir,
}) => {
  const { auth, clock, login } = make(dir)
  const cookie = await login()
  const confirm = () => codeOf(auth.confirm(cookie, { client: HERE }))
  assert.is(await confirm(), 'accepted')
  clock.set(clock.now() - 3_600_000)
  assert.is(await confirm(), 'confirm_password')
  await clock.advance(3_600_000 + 599_000)
  assert.is(await confirm(), 'accepted')
  await clock.advance(1_000)
  assert.is(await confirm(), 'confirm_password')
})

test('keys of people.json that a later version wrote are kept', ({ dir }) => {
  const { people } = make(dir)
  people.update({ passkeys: [] })
  const path = join(dir, 'people.json')
  const file = JSON.parse(readFileSync(path, 'utf8'))
  writeOld(path, JSON.stringify(file))
  people.owner()
  const guest = { ...file.people[0], id: 'guest', role: 'viewer', profiles: ['work'], since: 7 }
  writeFileSync(path, JSON.stringify({ ...file, more: 1, people: [file.people[0], guest] }))
  people.update({ totp: null })
  const after = JSON.parse(readFileSync(path, 'utf8'))
  assert.equal([after.more, after.people[1]], [1, guest])
})

test('a challenge counts once, for its purpose, for five minutes, in this process', async () => {
  const clock = createTestClock()
  const challenges = new Challenges(clock)
  const text = (purpose: string) => Buffer.from(challenges.create(purpose)).toString('base64url')
  const one = text('sign-in a')
  assert.not.ok(challenges.spend(one, 'sign-in b'))
  assert.not.ok(challenges.spend('', 'sign-in a'))
  assert.not.ok(challenges.spend(`${one.slice(0, -4)}AAAA`, 'sign-in a'))
  assert.not.ok(new Challenges(clock).spend(one, 'sign-in a'))
  assert.ok(challenges.spend(one, 'sign-in a'))
  assert.not.ok(challenges.spend(one, 'sign-in a'))
  assert.not.ok(challenges.spend(`${one}==`, 'sign-in a'))
  const late = text('sign-in a')
  await clock.advance(300_000)
  assert.not.ok(challenges.spend(late, 'sign-in a'))
})

test('passkeys belong to the host name of the page; addresses have none', () => {
  const of = (host: string, secure = true) =>
    relyingPartyOf({
      host,
      secure,
      allowedOrigins: ['https://a.example:8443', 'https://b.example'],
    })
  assert.equal(of('a.example'), {
    id: 'a.example',
    origin: 'https://a.example',
    allowed: ['https://a.example:8443'],
  })
  assert.equal(of('LOCALHOST:8787', false), {
    id: 'localhost',
    origin: 'http://localhost:8787',
    allowed: [],
  })
  for (const host of ['127.0.0.1:80', '[::1]:80', '0x7f.1', '', ' ', 'a b', '2130706433'])
    assert.is(of(host), undefined, host)
})

test.run()
