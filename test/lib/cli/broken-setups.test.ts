/** Broken setups: a start and doctor say the same, once, in plain words; `--fix` repairs only what is safe. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { programEnv } from '../../../build/start-program.ts'
import type { Machine } from '../../../lib/operations/checks/machine.ts'
import {
  answersOf,
  START_QUESTIONS,
  startFailure,
  toSentence,
} from '../../../lib/operations/checks/start-checks.ts'
import { CHECK_CODES, type Check, type CheckCode } from '../../../lib/operations/checks/check.ts'
import { Readiness } from '../../../lib/app/readiness.ts'
import { type Config, readConfig } from '../../../lib/config.ts'
import { EXIT_SETUP, messageOf, SetupError } from '../../../lib/errors.ts'
import { tryListen } from '../../../lib/operations/preflight.ts'
import { createTestClock } from '../../_clock.ts'
import { MACHINE, SETUPS } from './_broken-setups.ts'
import { createDesk, type Desk, OWN_NAMES } from './_run.ts'

const test = suite<{ desk: Desk }>('agent-webui doctor: broken setups')
test.before.each(state => {
  state.desk = createDesk()
  state.desk.config('model: {provider: demo}\n')
})
test.after.each(({ desk }) => desk.close())

type Given = { env?: Record<string, string>; machine?: Partial<Machine>; args?: string[] }

const look = async (desk: Desk, { env = {}, machine = {}, args = [] }: Given = {}) => {
  const { code, out, err } = await desk.talk(['doctor', '--json', ...args], {
    env,
    machine: { ...MACHINE, ...machine },
  })
  assert.is(err, '')
  const { ok, checks, repairs } = JSON.parse(out) as {
    ok: boolean
    checks: Check[]
    repairs?: { does: string; problem: string | null }[]
  }
  assert.is(code, ok ? 0 : 1)
  const isExpected = ({ about, said }: Check) => about === 'model' && said.startsWith('demo model')
  const bad = checks.filter(check => check.level !== 'ok' && !isExpected(check))
  return { ok, checks, bad, repairs }
}

/** What a start says before it gives up, and its exit code; null: it starts. */
const failedStart = async (
  desk: Desk,
  { env, machine }: Given,
): Promise<{ said: string; code: number } | null> => {
  let config: Config
  try {
    config = readConfig(programEnv(desk.root, 0, env), [])
  } catch (error) {
    return { said: messageOf(error), code: EXIT_SETUP }
  }
  try {
    const context = { config, machine: { ...MACHINE, ...machine }, ownNames: OWN_NAMES }
    const failure = startFailure(await answersOf(START_QUESTIONS, context))
    if (failure) throw failure
    await tryListen(config)
    return null
  } catch (error) {
    return { said: messageOf(error), code: error instanceof SetupError ? EXIT_SETUP : 1 }
  }
}

/** What `/ready` says while the service runs in this setup. */
const notReady = (desk: Desk, { env, machine }: Given): string[] => {
  let config: Config
  try {
    config = readConfig(programEnv(desk.root, 0, env), [])
  } catch {
    // It never starts.
    return []
  }
  const readiness = new Readiness(
    config.stateDir,
    { ...MACHINE, ...machine },
    { clock: createTestClock() },
  )
  readiness.enter('running')
  return readiness.reasons().map(({ code }) => code)
}

/** Everything that doctor must not change. */
const listing = (dir: string): string[] => readdirSync(dir, { recursive: true }).map(String).sort()

/** Codes and calls of the system, OpenSSL or SQLite, and positions in the source. */
const RAW = /\bE[A-Z]{4,}\b|SQLITE_|error:[0-9A-F]{6}|raw text|routines|position \d| at .*\.ts/

const seen = new Set<string>()

for (const { name, make, start, doctor } of SETUPS)
  test(name, async ({ desk }) => {
    const state = join(desk.home, 'webui')
    mkdirSync(state, { mode: 0o700 })
    const made = make(desk, state) ?? {}
    const before = listing(desk.root)
    const failure = await failedStart(desk, made)
    const { ok, bad } = await look(desk, made)
    const shown = JSON.stringify(bad, null, 1)
    assert.equal(
      bad.map(({ level, about, code }) => `${level} ${about} ${code}`),
      doctor,
      shown,
    )
    assert.is(failure?.code, start, failure?.said)
    for (const { code = '' } of bad) seen.add(code)
    assert.ok(
      bad.every(({ advice }) => advice),
      shown,
    )
    // Six random letters of a path can look like a code.
    assert.not.match(`${shown}${failure?.said}`.replaceAll(desk.root, ''), RAW)
    // One source: what stops a start is what doctor says.
    const failed = bad.filter(({ level }) => level === 'fail')
    assert.is(ok, failed.length === 0)
    if (failure)
      assert.ok(
        failed.some(({ said }) => failure.said.startsWith(said)),
        shown,
      )
    // The same of what `/ready` says: a service could not work here either.
    const codes = failed.map(({ code = '' }) => code)
    const reason = codes.includes('disk_full')
      ? ['disk_full']
      : codes.some(code => code.startsWith('state_'))
        ? ['state_not_writable']
        : []
    if (!made.env?.AGENT_HOME) assert.equal(notReady(desk, made), reason)
    assert.equal(listing(desk.root), before)
  })

const occupy = async (): Promise<{ server: Server; port: number }> => {
  const server = createServer(socket => socket.end('220 mail\r\n'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return { server, port: typeof address === 'object' && address ? address.port : 0 }
}

test('reports a port that is in use', async ({ desk }) => {
  const { server, port } = await occupy()
  const env = { AGENT_WEBUI_PORT: `${port}` }
  const failure = await failedStart(desk, { env })
  const { bad } = await look(desk, { env })
  server.close()
  assert.is(failure?.code, 1)
  const failed = bad.find(({ code }) => code === 'address_unusable')
  assert.is(failed && toSentence(failed), failure?.said)
})

test('the clock is compared with that of the model’s server, which gets no key', async ({
  desk,
}) => {
  const requests: IncomingMessage[] = []
  let date = ''
  const server = createHttpServer((req, res) => {
    requests.push(req)
    res.sendDate = false
    if (date !== '') res.setHeader('Date', date)
    res.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  desk.useProvider(`http://127.0.0.1:${port}/v1`)
  const clock = async (offsetMs: number | null) => {
    const now = Date.UTC(2026, 10, 23)
    date = offsetMs === null ? '' : new Date(now - offsetMs).toUTCString()
    const { checks } = await look(desk, {
      machine: { clock: { now: () => now }, programAt: () => 0 },
    })
    return checks
      .filter(({ about }) => about === 'clock')
      .map(({ level, said, advice = '' }) => [level, said, advice.split('.')[0]])
  }
  const host = `127.0.0.1:${port}`
  const hour = 3_600_000
  const [ahead, behind] = ['ahead of', 'behind'].map(
    word => (length: string) => `The clock is ${length} ${word} that of ${host}`,
  ) as [(length: string) => string, (length: string) => string]
  try {
    assert.equal(await clock(null), [])
    assert.equal(await clock(60_000), [['ok', `agrees with ${host}`, '']])
    assert.equal(await clock(3 * 24 * hour), [['warn', ahead('3 days'), 'Set the clock']])
    assert.equal(await clock(-hour), [['warn', behind('1 hour'), 'Set the clock']])
    assert.equal(await clock(-5 * 60_000), [['warn', behind('5 minutes'), 'Set the clock']])
    assert.ok(requests.length > 0)
    for (const { method, headers, url } of requests.filter(each => each.method === 'HEAD'))
      assert.equal([method, url, headers.authorization], ['HEAD', '/', undefined])
  } finally {
    server.closeAllConnections()
    server.close()
  }
  // Nothing listens: nothing can be compared.
  assert.equal(await clock(0), [])
})

test('--fix changes what is safe and says so; --dry-run changes nothing', async ({ desk }) => {
  const state = join(desk.home, 'webui')
  mkdirSync(state, { mode: 0o700 })
  const [key, note, settings] = ['.signing_key', 'instance.json', 'settings.json'].map(name =>
    join(state, name),
  ) as [string, string, string]
  writeFileSync(key, Buffer.alloc(32, 7))
  chmodSync(key, 0o644)
  writeFileSync(note, '{"pid": 4194304, "address": "http://127.0.0.1:1"}')
  writeFileSync(settings, '{"theme": "da', { mode: 0o600 })
  const changes = [`set the mode of ${key} to 600`, `delete ${note}`].map(does => ({
    does,
    problem: null,
  }))

  const dry = await look(desk, { args: ['--fix', '--dry-run'] })
  assert.equal(dry.repairs, changes)
  assert.is(statSync(key).mode & 0o777, 0o644)
  assert.ok(existsSync(note))
  const shown = await desk.talk(['doctor', '--fix', '--dry-run'], { machine: MACHINE })
  assert.match(shown.out, `would delete ${note}\n`)

  const before = listing(desk.root).filter(name => !name.endsWith('instance.json'))
  const fixed = await look(desk, { args: ['--fix'] })
  assert.equal(fixed.repairs, changes)
  assert.is(statSync(key).mode & 0o777, 0o600)
  // A damaged file is for a person to decide about.
  assert.equal(
    fixed.bad.map(({ about }) => about),
    ['settings.json'],
  )
  assert.is(readFileSync(settings, 'utf8'), '{"theme": "da')
  assert.equal(listing(desk.root), before)
  assert.equal((await look(desk, { args: ['--fix'] })).repairs, [])
})

test('--fix creates the home and the state directory, for their owner only', async ({ desk }) => {
  const home = join(desk.root, 'new')
  const { repairs } = await look(desk, { env: { AGENT_HOME: home }, args: ['--fix'] })
  assert.equal(
    repairs?.map(({ does }) => does),
    [`create ${home}`, `create ${join(home, 'webui')}`],
  )
  assert.is(statSync(join(home, 'webui')).mode & 0o777, 0o700)
})

test('--fix reports what it may not change; --dry-run alone is an error', async ({ desk }) => {
  const home = '/proc/nowhere'
  const { code, out } = await desk.talk(['doctor', '--fix'], {
    env: { AGENT_HOME: home, AGENT_WEBUI_STATE_DIR: join(desk.root, 'state') },
    machine: MACHINE,
  })
  assert.is(code, 0)
  assert.match(out, `could not create ${home}: `)
  assert.match(out, `did: create ${join(desk.root, 'state')}`)
  const alone = await desk.talk(['doctor', '--dry-run'])
  assert.equal([alone.code, alone.err], [2, '--dry-run needs --fix.\n'])
})

test('a program that cannot be unpacked is a finding, also as JSON', async ({ desk }) => {
  const unpackAddon = () => {
    throw new SetupError('no directory runs programs: set XDG_CACHE_HOME')
  }
  const { code, out, err } = await desk.talk(['doctor', '--json'], { unpackAddon })
  const { ok, checks } = JSON.parse(out) as { ok: boolean; checks: Check[] }
  assert.equal(
    [code, err, ok, checks.map(each => each.code)],
    [1, '', false, ['program_not_unpacked']],
  )
})

/** What needs a machine, a server, or an order of events of its own; each is in the test that is named. */
const ELSEWHERE: Readonly<Record<string, readonly CheckCode[]>> = {
  'this file: a port, a clock, a service': [
    'address_unusable',
    'clock_differs',
    'program_not_unpacked',
    'service_stopped',
    'service_unhealthy',
  ],
  'doctor-url.test.ts': [
    'address_unreachable',
    'certificate_untrusted',
    'page_redirected',
    'page_unknown',
    'path_wrong',
    'proxy_asks_sign_in',
    'proxy_headers_missing',
    'proxy_without_server',
    'server_refuses',
    'stream_failed',
    'stream_held_back',
    'too_many_checks',
    'upload_refused',
  ],
  'doctor.test.ts': ['guard_accepted', 'model_demo', 'settings_unconfirmed', 'sign_in_expired'],
  'proofs of agents, containers, clusters, and MCP': [
    'agent_signed_out',
    'image_missing',
    'mcp_signed_out',
  ],
  // The package is beside the sources.
  'nowhere: ripgrep is always found here': ['ripgrep_missing'],
  // A directory that root cannot read does not exist.
  'nowhere: the tests run as root': ['sessions_unreadable'],
  'depends on whether this machine has a sandbox': ['sandbox_off'],
}

test('each finding is that of a setup, or is tested elsewhere', () => {
  const elsewhere = Object.values(ELSEWHERE).flat()
  assert.equal(
    CHECK_CODES.filter(code => !seen.has(code) && !elsewhere.includes(code)),
    [],
  )
})

test.run()
