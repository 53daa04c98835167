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
import type { Machine } from '../../../lib/app/machine.ts'
import { startChecks, toSentence } from '../../../lib/app/start-checks.ts'
import type { Check } from '../../../lib/cli/check.ts'
import { readConfig } from '../../../lib/config.ts'
import { messageOf } from '../../../lib/errors.ts'
import { tryListen } from '../../../lib/preflight.ts'
import { MACHINE } from './_broken-setup.ts'
import { SETUPS } from './_broken-setups.ts'
import { createDesk, type Desk, OWN_NAMES } from '../../lib/cli/_run.ts'

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

/** What a start says before it gives up; null: it starts. */
const startSentence = async (desk: Desk, { env, machine }: Given): Promise<string | null> => {
  try {
    const config = readConfig(programEnv(desk.root, 0, env), [])
    const failed = startChecks(config, { ...MACHINE, ...machine }, OWN_NAMES).find(
      ({ level }) => level === 'fail',
    )
    if (failed) return toSentence(failed)
    await tryListen(config)
    return null
  } catch (error) {
    return messageOf(error)
  }
}

/** Everything that doctor must not change. */
const listing = (dir: string): string[] => readdirSync(dir, { recursive: true }).map(String).sort()

/** Codes and calls of the system, OpenSSL or SQLite, and positions in the source. */
const RAW = /\bE[A-Z]{4,}\b|SQLITE_|error:[0-9A-F]{6}|raw text|routines|position \d| at .*\.ts/

for (const { name, make, start, doctor = [] } of SETUPS)
  test(name, async ({ desk }) => {
    const state = join(desk.home, 'webui')
    mkdirSync(state, { mode: 0o700 })
    const made = make(desk, state) ?? {}
    const before = listing(desk.root)
    const sentence = await startSentence(desk, made)
    if (start) assert.match(sentence ?? 'it starts', start)
    else assert.is(sentence, null)
    const { ok, bad } = await look(desk, made)
    const shown = JSON.stringify(bad, null, 1)
    const names = (list: readonly (readonly string[])[]) => list.map(each => each.join(' '))
    assert.equal(
      names(bad.map(({ level, about }) => [level, about])),
      names(doctor.map(([level, about]) => [level, about])),
      shown,
    )
    for (const [index, [, , said]] of doctor.entries()) assert.match(bad[index]?.said ?? '', said)
    assert.ok(
      bad.every(({ advice }) => advice),
      shown,
    )
    assert.is(ok, !doctor.some(([level]) => level === 'fail'))
    // Six random letters of a path can look like a code.
    assert.not.match(`${shown}${sentence}`.replaceAll(desk.root, ''), RAW)
    // One source: what stops a start is what doctor says.
    const failed = bad.find(({ level }) => level === 'fail')
    if (sentence !== null) assert.ok(failed && sentence.startsWith(failed.said), shown)
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
  const sentence = await startSentence(desk, { env })
  const { bad } = await look(desk, { env })
  server.close()
  assert.match(sentence ?? '', `Cannot listen at 127.0.0.1:${port}: the port is in use. Choose`)
  const failed = bad.find(({ about }) => about === 'address')
  assert.is(failed && toSentence(failed), sentence)
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

test('--wait exits with 0 when the server responds, with 1 on timeout', async ({ desk }) => {
  const { server, port } = await occupy()
  const waiting = await desk.talk(['doctor', '--wait', '0'], {
    env: { AGENT_WEBUI_PORT: `${port}` },
  })
  assert.is(waiting.code, 1)
  assert.match(waiting.err, 'does not respond')
  server.close()
  const running = desk.start(['0', '--no-browser'])
  const { code, out } = await desk.talk(['doctor', '--wait', '120'])
  // The first poll may come before the start and use the configured port until instance.json exists.
  assert.is(code, 0)
  assert.match(out, 'The server responds at http://127.0.0.1:')
  running.child.kill('SIGTERM')
  await running.ended
})

test.run()
