/** The process: one sentence when it cannot start, one instance per state directory, and coming down in order. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  symlinkSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  freePort,
  launch,
  type ProgramOptions,
  startProgram,
} from '../../../build/start-program.ts'

const CHILD = join(import.meta.dirname, '_start-child.ts')

/** On a connection of its own: one that `fetch` keeps may be closed by the end of the service at the moment it is used. */
const ask = async (url: string): Promise<{ status: number | undefined; body: string }> => {
  const [response]: IncomingMessage[] = await once(get(url, { agent: false }), 'response')
  return { status: response?.statusCode, body: response ? await text(response) : '' }
}

const test = suite<{ home: string }>('start')
test.before.each(context => {
  context.home = mkdtempSync(join(tmpdir(), 'agent-webui-start-'))
})
test.after.each(({ home }) => rmSync(home, { recursive: true, force: true }))

const run = (options: ProgramOptions) =>
  startProgram(process.execPath, [CHILD, '--no-browser'], options)

/** False without openssl on this machine. */
const certify = (cert: string, key: string, name: string): boolean => {
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 90 -subj /CN=${name}`
  try {
    execFileSync('openssl', [...words.split(' '), '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
}

const fails = async (options: ProgramOptions, args: string[] = [], exit = 1): Promise<string> => {
  const program = launch(process.execPath, [CHILD, ...args], options)
  const code = await program.exited
  assert.is(code, exit, program.output())
  const lines = program
    .output()
    .trim()
    .split('\n')
    .filter(line => !line.endsWith(' info: closing'))
  assert.is(lines.length, 1, program.output())
  return program.output()
}

test('a failed start gives the reason in one sentence', async ({ home }) => {
  const file = join(home, 'file')
  writeFileSync(file, 'no certificate')
  const short = join(home, 'short')
  mkdirSync(short)
  writeFileSync(join(short, '.signing_key'), 'short')
  const unmounted = join(home, 'disk')
  symlinkSync(join(home, 'not-mounted'), unmounted)
  const [misspelled, option, stateDir, tls, key, address, bug, link] = await Promise.all([
    fails({ home, env: { AGENT_WEBUI_PROT: '1' } }, [], 78),
    fails({ home }, ['--prot', '1'], 2),
    fails({ home, env: { AGENT_WEBUI_STATE_DIR: join(file, 'state') } }, [], 78),
    fails({ home, env: { AGENT_WEBUI_TLS_CERT: file, AGENT_WEBUI_TLS_KEY: file } }),
    fails({ home, env: { AGENT_WEBUI_STATE_DIR: short } }, [], 78),

    fails({ home, env: { AGENT_WEBUI_STATE_DIR: join(home, 'a') } }, ['--host', '203.0.113.77']),
    fails({ home, env: { AGENT_WEBUI_STATE_DIR: join(home, 'b'), MODE: 'bug' } }),
    // What it leads to may be mounted before the next start.
    fails({ home, env: { AGENT_WEBUI_STATE_DIR: join(unmounted, 'state') } }),
  ])
  // Nobody finds there an address that never answered.
  for (const name of ['a', 'b']) assert.not(existsSync(join(home, name, 'instance.json')), name)
  assert.match(misspelled, 'did you mean AGENT_WEBUI_PORT?')
  assert.match(option, '"--prot" is not an option. Usage: agent-webui [port]')
  assert.match(stateDir, 'The state directory cannot be used')
  assert.match(link, 'is a symlink to no directory')
  assert.match(tls, 'is not a certificate in PEM format')
  assert.match(key, 'holds 5 bytes instead of 32')
  assert.match(address, 'this machine does not have that address')
  for (const text of [misspelled, option, stateDir, tls, key, address])
    assert.not.match(text, / at .*\.ts:/)
  assert.match(bug, /TypeError: x is not a function ⏎/)
})

test('runs one instance per state directory; a killed one leaves nothing behind', async ({
  home,
}) => {
  const first = await run({ home, port: await freePort() })
  const state = join(home, '.agent', 'webui')
  assert.is(statSync(state).mode & 0o777, 0o700)
  assert.is(JSON.parse(readFileSync(join(state, 'instance.json'), 'utf8')).pid, first.child.pid)
  const [held, inUse] = await Promise.all([
    fails({ home }),
    fails({ home, port: first.port, env: { AGENT_WEBUI_STATE_DIR: join(home, 'other') } }),
  ])
  assert.match(
    held,
    `Another agent-webui (process ${first.child.pid}, ${first.url}) is using ${state}`,
  )
  assert.match(inUse, `Cannot listen at 127.0.0.1:${first.port}: the port is in use`)
  first.child.kill('SIGKILL')
  await first.exited
  const second = await run({ home, port: await freePort() })
  assert.is(await second.stop(), 0)
  assert.throws(() => statSync(join(state, 'instance.json')))
})

test('SIGTERM: open responses finish, the app closes streams, then the process exits', async ({
  home,
}) => {
  const program = await run({ home, port: await freePort() })
  assert.match(program.output(), `agent-webui v9.9.9 answers at ${program.url}/`)
  const events = await fetch(`${program.url}/events`)
  const slow = fetch(`${program.url}/slow`)
  await program.waitForOutput('slow begins')
  program.child.kill('SIGTERM')
  assert.is((await slow).status, 200)
  assert.is(await events.text(), 'data: 1\n\ndata: end\n\n')
  assert.is(await program.exited, 0)
  assert.match(program.output(), /SIGTERM: shutting down\n[\s\S]*closing\n/)
  assert.match(program.output(), /"path":"\/slow","status":200/)
})

test('SIGTERM: /ready says stopping and /health answers while the app closes; nothing else is answered', async ({
  home,
}) => {
  const mode = join(home, 'closed')
  for (const base of ['', '/agent']) {
    rmSync(mode, { force: true })
    const env = { MODE: mode, ...(base && { AGENT_WEBUI_BASE_PATH: base }) }
    const program = await run({ home, port: await freePort(), env })
    const { origin } = new URL(program.url)
    program.child.kill('SIGTERM')
    await program.waitForOutput('closing')
    for (const prefix of new Set(['', base])) {
      const ready = await ask(`${origin}${prefix}/ready?x=1`)
      assert.equal(JSON.parse(ready.body), { state: 'stopping' }, prefix)
      assert.is((await ask(`${origin}${prefix}/health`)).status, 200, prefix)
      for (const path of ['/slow', '/ready/x', '/x/ready', '/events'])
        assert.is(
          await fetch(`${origin}${prefix}${path}`).catch(() => 'broken'),
          'broken',
          prefix + path,
        )
    }
    writeFileSync(mode, '')
    assert.is(await program.exited, 0)
    assert.is(await fetch(`${origin}/ready`).catch(() => 'refused'), 'refused')
  }
})

test('cuts an endless response after the grace period; an uncaught error shuts down in order', async ({
  home,
}) => {
  const stuck = await run({ home, port: await freePort() })
  const never = fetch(`${stuck.url}/never`).then(
    () => 'answered',
    () => 'cut',
  )
  await fetch(`${stuck.url}/health`)
  assert.is(await stuck.stop(), 0)
  assert.is(await never, 'cut')

  const crashing = await run({ home, port: await freePort() })
  await fetch(`${crashing.url}/crash`).catch(() => undefined)
  assert.is(await crashing.exited, 1)
  assert.match(crashing.output(), /error: uncaught: Error: outside every border/)
})

test('SIGHUP reloads the TLS certificate and does not stop the process', async ({ home }) => {
  const plain = await run({ home, port: await freePort() })
  plain.child.kill('SIGHUP')
  await plain.waitForOutput('SIGHUP: the configuration files are in force')
  assert.is((await fetch(`${plain.url}/health`)).status, 200)
  assert.is(await plain.stop(), 0)

  const [cert, key] = [join(home, 'cert.pem'), join(home, 'key.pem')]
  if (!certify(cert, key, 'first')) return
  const port = await freePort()
  const env = { AGENT_WEBUI_TLS_CERT: cert, AGENT_WEBUI_TLS_KEY: key }
  const program = launch(process.execPath, [CHILD], { home, port, env })
  await program.waitForOutput('answers at https://')
  const { connect } = await import('node:tls')
  const served = () =>
    new Promise(resolve => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().subject.CN)
        socket.destroy()
      })
    })
  assert.is(await served(), 'first')
  certify(cert, key, 'second')
  program.child.kill('SIGHUP')
  await program.waitForOutput('SIGHUP: certificate reloaded')
  assert.is(await served(), 'second')
  writeFileSync(cert, 'not a certificate')
  program.child.kill('SIGHUP')
  await program.waitForOutput('SIGHUP: keeping the current certificate')
  assert.is(await served(), 'second')
  program.child.kill('SIGTERM')
  assert.is(await program.exited, 0)
})

test('serves TLS and warns when exposed without a password', async ({ home }) => {
  const [cert, key] = [join(home, 'cert.pem'), join(home, 'key.pem')]
  if (!certify(cert, key, 'localhost')) return
  const port = await freePort()
  const env = { AGENT_WEBUI_TLS_CERT: cert, AGENT_WEBUI_TLS_KEY: key, AGENT_WEBUI_HOST: '0.0.0.0' }
  const program = launch(process.execPath, [CHILD], { home, port, env })
  await new Promise<void>(resolve => {
    program.child.stderr?.on('data', () => resolve())
    void program.exited.then(() => resolve())
  })
  const { get } = await import('node:https')
  const status = await new Promise(resolve =>
    get(
      { port, host: '127.0.0.1', path: '/health', rejectUnauthorized: false, agent: false },
      res => resolve(res.resume().statusCode),
    ),
  )
  assert.is(status, 200)
  assert.match(program.output(), `answers at https://0.0.0.0:${port}/`)
  assert.match(
    program.output(),
    /warning: Others can reach the sign-in page, and no password is set\. Sign in with the setup token [a-z2-9]{5}(-[a-z2-9]{5}){3} /,
  )
  program.child.kill('SIGTERM')
  assert.is(await program.exited, 0)
})

test.run()
