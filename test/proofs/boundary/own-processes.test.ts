/** What the agent's programs may do with the service that runs them: read, and nothing that is for the person to decide. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { programEnv, SERVICE } from '../../../build/start-program.ts'
import { acceptSettings, type SpawnedApp, spawnApp } from '../../_app.ts'
import { autoApprove } from '../../_auto-approve.ts'
import { createProvider } from '../../_provider.ts'
import { until } from '../../_wait.ts'

const ATTACK = join(import.meta.dirname, '_attack.mjs')

const programs = suite('own processes')
/** The means are those of Linux; README.md says what is missing elsewhere. */
const test = process.platform === 'linux' ? programs : programs.skip

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

type Line = { label: string; base: string; path: string; status: number; text: string; done?: true }

const configure = async (app: SpawnedApp, url: string, more = '', headers = {}) => {
  writeFileSync(
    join(app.home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${url}\n  default: test-model\napprovals:\n  mode: off\n${more}`,
  )
  await acceptSettings(app, headers)
}

/** Every line, once each of these has said that it is done. */
const linesOf = async (out: string, labels: readonly string[]): Promise<Line[]> => {
  const state: { lines: Line[] } = { lines: [] }
  await until(() => {
    const text = existsSync(out) ? readFileSync(out, 'utf8') : ''
    // The last line may be half written.
    state.lines = text
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line))
    const done = state.lines.filter(line => line.done).map(line => line.label)
    return labels.every(label => done.includes(label))
  }, labels.join(', '))
  return state.lines.filter(line => !line.done)
}

/** Requests that decide, switch a guard, or change what runs later. */
const decisions = (session: string): [method: string, path: string, body?: unknown][] => [
  ['POST', '/api/session/yolo', { session_id: session, enabled: true }],
  ['POST', '/api/approval/respond', { session_id: session, choice: 'once' }],
  ['POST', '/api/approval/respond', { session_id: session, choice: 'always' }],
  ['POST', '/api/clarify/respond', { session_id: session, response: 'yes' }],
  ['POST', '/api/settings', { theme: 'stolen' }],
  ['POST', '/api/settings', { _set_password: 'stolen password' }],
  ['POST', '/api/settings', { _clear_password: true }],
  ['POST', '/api/default-model', { model: 'stolen' }],
  ['POST', '/api/providers', { provider: 'openai', api_key: 'sk-stolen-stolen-stolen' }],
  ['POST', '/api/reasoning', { effort: 'high' }],
  ['POST', '/api/budgets', {}],
  ['POST', '/api/tools/toggle', { name: 'terminal', enabled: true }],
  ['PUT', '/api/mcp/servers/stolen', { command: 'sh' }],
  ['DELETE', '/api/mcp/servers/stolen'],
  ['POST', '/api/crons/create', { prompt: 'stolen', schedule: '0 9 * * *' }],
  ['POST', '/api/memory/write', { section: 'user', content: 'stolen' }],
  [
    'POST',
    '/api/skills/save',
    { name: 'stolen', content: '---\nname: stolen\ndescription: x\n---\n' },
  ],
  ['POST', '/api/profile/create', { name: 'stolen' }],
  ['POST', '/api/workspaces/add', { path: '/tmp' }],
  ['POST', '/api/chat/start', { session_id: session, message: 'stolen' }],
  ['POST', '/api/session/delete', { session_id: session }],
  ['GET', `/api/chat/cancel?stream_id=${'0'.repeat(32)}`],
  ['POST', '/api/auth/login', { password: 'correct horse' }],
  ['POST', '/api/auth/pair/create', {}],
  ['POST', '/api/auth/pair/use', { code: 'stolen' }],
  ['POST', '/api/auth/revoke', { others: true }],
  ['POST', '/api/auth/passkey/options', {}],
  ['POST', '/api/auth/totp/disable', { password: 'correct horse' }],
  ['POST', '/api/notifications/answer', { token: 'stolen' }],
  ['POST', '/api/tokens/create', { name: 'stolen' }],
  ['POST', '/api/sandbox', { enabled: false, network: true }],
]

const REFUSED = 'Programs started by the agent cannot change anything here or sign in.'

test('every way the agent can start a program: each request that decides something is refused', async () => {
  const provider = await createProvider()
  const app = await spawnApp()
  try {
    const out = join(app.userHome, 'attack.jsonl')
    const { session_id } = (await app.post('/api/session/new', {})).body.session
    const attack = (label: string, more: object = {}) =>
      JSON.stringify({
        label,
        bases: [app.url],
        // The kinds of request are tried once, the ways to send them each.
        requests: decisions(session_id).slice(0, label === 'direct' ? undefined : 2),
        out,
        ...more,
      })
    const node = quote(process.execPath)
    const run = (label: string, more?: object) =>
      `${node} ${quote(ATTACK)} ${quote(attack(label, more))}`
    const mcp = { command: process.execPath, args: [ATTACK, attack('mcp')] }
    await configure(app, provider.url, `mcp_servers:\n  attack: ${JSON.stringify(mcp)}\n`)
    mkdirSync(join(app.home, 'scripts'))
    writeFileSync(join(app.home, 'scripts', 'attack.sh'), `${run('cron')}\n`)
    const command = [
      run('direct'),
      `setsid nohup ${run('setsid')} >/dev/null 2>&1 &`,
      `( ( setsid ${run('daemon', { isOrphan: true })} >/dev/null 2>&1 & ) & )`,
      `( ( env -i setsid ${run('bare daemon', { isOrphan: true })} >/dev/null 2>&1 & ) & )`,
      `( ulimit -q 5; exec ${run('lower limit')} )`,
      'wait',
    ].join('\n')
    const code = `import subprocess\nsubprocess.run([${[process.execPath, ATTACK, attack('code')].map(text => JSON.stringify(text)).join(', ')}])`
    provider.push(
      { toolCalls: [{ name: 'terminal', arguments: { command } }] },
      {
        toolCalls: [
          { name: 'terminal', arguments: { command: run('background'), background: true } },
        ],
      },
      { toolCalls: [{ name: 'execute_code', arguments: { code } }] },
      { text: 'done' },
      { text: 'Title' },
    )
    // Commands that name our own address are asked about; what follows holds even after a yes.
    const stopAnswering = autoApprove(app, session_id)
    const started = await app.post('/api/chat/start', { session_id, message: 'go' })
    assert.is(started.status, 200)
    const lines = await linesOf(out, [
      'direct',
      'setsid',
      'daemon',
      'bare daemon',
      'lower limit',
      'background',
      'code',
      'mcp',
    ])
    stopAnswering()
    for (const { label, path, status, text } of lines)
      assert.equal(
        [label, path, status, JSON.parse(text).error?.slice(0, REFUSED.length)],
        [label, path, 403, REFUSED],
      )
    assert.is(lines.length, decisions('').length + 7 * 2)
    // Nothing of it has happened, and the person may still do all of it.
    assert.is((await app.get('/api/settings')).body.theme, 'dark')
    assert.is((await app.get('/api/settings')).body.auth_enabled, false)
    assert.equal((await app.get('/api/crons')).body.jobs, [])
    assert.equal(
      (await app.get(`/api/session/yolo?session_id=${session_id}`)).body.yolo_enabled,
      false,
    )
    assert.is((await app.post('/api/settings', { theme: 'nord' })).status, 200)

    const job = await app.post('/api/crons/create', {
      prompt: 'x',
      schedule: '0 9 * * *',
      script: 'attack.sh',
    })
    assert.is(job.status, 200)
    provider.push({ text: 'done' }, { text: 'Title' })
    await app.post('/api/crons/run', { job_id: job.body.job.id })
    const later = (await linesOf(out, ['cron'])).filter(({ label }) => label === 'cron')
    assert.equal([...new Set(later.map(({ status }) => status))], [403])
  } finally {
    await app.close()
    await provider.close()
  }
})

const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap(list => list ?? [])
    .filter(({ scopeid }) => !scopeid)
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))

test('by whatever address of this machine, with the password and with a stolen cookie', async () => {
  const provider = await createProvider()
  const hasIpv6 = existsSync('/proc/net/if_inet6') && readFileSync('/proc/net/if_inet6').length > 0
  const app = await spawnApp({
    env: { AGENT_WEBUI_PASSWORD: 'correct horse', AGENT_WEBUI_HOST: hasIpv6 ? '::' : '0.0.0.0' },
  })
  try {
    const out = join(app.userHome, 'attack.jsonl')
    const signedIn = await app.post('/api/auth/login', { password: 'correct horse' })
    const cookie = (signedIn.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
    const headers = { cookie }
    await configure(app, provider.url, '', headers)
    const { session_id } = (await app.post('/api/session/new', {}, { headers })).body.session
    const { port } = new URL(app.url)
    const hosts = ['127.0.0.1', '127.0.0.2', 'localhost', ...ownAddresses()]
    if (hasIpv6) hosts.push('[::1]', '[::ffff:127.0.0.1]')
    const bases = [...new Set(hosts)].map(host => `http://${host}:${port}`)
    const requests = [
      ['POST', '/api/auth/login', { password: 'correct horse' }],
      ['POST', '/api/settings', { theme: 'stolen' }],
      ['POST', '/api/session/yolo', { session_id, enabled: true }],
      ['GET', '/api/settings'],
    ]
    const given = JSON.stringify({ label: 'all', bases, requests, out, cookie })
    const environ = 'cat /proc/$PPID/environ | tr "\\0" "\\n" | grep -c "correct horse"'
    const command = `${quote(process.execPath)} ${quote(ATTACK)} ${quote(given)}; ${environ}`
    provider.push(
      { toolCalls: [{ name: 'terminal', arguments: { command } }] },
      { text: 'done' },
      { text: 'Title' },
    )
    const stopAnswering = autoApprove(app, session_id, headers)
    await app.post('/api/chat/start', { session_id, message: 'go' }, { headers })
    const lines = await linesOf(out, ['all'])
    stopAnswering()
    assert.is(lines.length, bases.length * requests.length)
    // Reading is no decision; what it may read is up to the cookie.
    for (const { base, path, status } of lines)
      assert.equal(
        [base, path, status],
        [base, path, path === '/api/settings' && status === 200 ? 200 : 403],
      )
    assert.is(lines.filter(({ status }) => status === 200).length, bases.length)
    assert.is((await app.get('/api/settings', { headers })).body.theme, 'dark')
  } finally {
    await app.close()
    await provider.close()
  }
})

/** Runs one command of the agent to its end and returns the theme afterwards: `dark` unless the command could change it. */
const themeAfter = async (commandFor: (app: SpawnedApp, request: string) => string) => {
  const provider = await createProvider()
  const app = await spawnApp()
  try {
    await configure(app, provider.url)
    const { session_id } = (await app.post('/api/session/new', {})).body.session
    const body = JSON.stringify({ theme: 'stolen' })
    const request = `POST /api/settings HTTP/1.1\\r\\nHost: localhost:${new URL(app.url).port}\\r\\nContent-Length: ${body.length}\\r\\n\\r\\n${body}`
    const done = join(app.userHome, 'done')
    const command = `${commandFor(app, request)} && touch ${quote(done)}`
    provider.push(
      { toolCalls: [{ name: 'terminal', arguments: { command } }] },
      { text: 'done' },
      { text: 'Title' },
    )
    const stopAnswering = autoApprove(app, session_id)
    const { stream_id } = (await app.post('/api/chat/start', { session_id, message: 'go' })).body
    for await (const { event } of app.events(`/api/chat/stream?stream_id=${stream_id}`))
      if (event === 'done') break
    stopAnswering()
    assert.ok(existsSync(done))
    return (await app.get('/api/settings')).body.theme
  } finally {
    await app.close()
    await provider.close()
  }
}

test('a program that closes its connection at once is refused, too', async () => {
  const theme = await themeAfter((app, request) => {
    // Many times: the service may look before, while, or after the connection is closed.
    const once = `exec 3<>/dev/tcp/127.0.0.1/${new URL(app.url).port}; printf '${request}' >&3; exec 3>&-`
    return `bash -c ${quote(`for i in $(seq 15); do (${once}); done`)}`
  })
  assert.is(theme, 'dark')
})

test('SIGUSR1 opens no debugger, in the service and in the other commands', async () => {
  const app = await spawnApp()
  try {
    const { pid } = JSON.parse(readFileSync(join(app.state, 'instance.json'), 'utf8'))
    process.kill(pid, 'SIGUSR1')
    assert.is((await app.get('/health')).status, 200)
    assert.not.match(app.output(), /Debugger listening/)
    for (const command of ['mcp', 'acp']) {
      const child = spawn(process.execPath, [SERVICE, command], {
        env: programEnv(app.userHome, 0),
        stdio: 'pipe',
      })
      const texts: string[] = []
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', text => texts.push(String(text)))
      const ended = new Promise(resolve => child.once('close', (_, signal) => resolve(signal)))
      // The answer says that it runs.
      const params =
        command === 'mcp'
          ? {
              protocolVersion: '2025-06-18',
              capabilities: {},
              clientInfo: { name: 'a', version: '1' },
            }
          : { protocolVersion: 1 }
      const ask = (id: number, method: string, input: object) =>
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params: input })}\n`)
      ask(1, 'initialize', params)
      await until(() => texts.join('').includes('"id":1'), `${command} answers`)
      child.kill('SIGUSR1')
      ask(2, 'no/such/method', {})
      await until(() => texts.join('').includes('"id":2'), `${command} still answers`)
      assert.not.match(texts.join(''), /Debugger listening/)
      child.stdin.end()
      assert.is(await ended, null, command)
    }
  } finally {
    await app.close()
  }
})

/** The descriptor is in the buffer of a Unix socket when the request arrives: no process has the connection open. */
const SEND_THE_CONNECTION_AWAY = `
import array, socket, sys, time
for _ in range(5):
    connection = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
    sender, receiver = socket.socketpair()
    request = sys.argv[2].encode().decode('unicode_escape').encode()
    connection.sendall(request[:-1])
    sender.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [connection.fileno()]))])
    # The last byte is sent by a process that ends before the service can look.
    connection.send(request[-1:])
    connection.close()
    time.sleep(0.05)
`

const python = ['/usr/bin/python3', '/usr/local/bin/python3'].find(path => existsSync(path))
/** Processes of other PID namespaces are invisible: there, an unknown owner can be a browser. */
const seesAllProcesses =
  process.platform === 'linux' && readlinkSync('/proc/self/ns/pid') === 'pid:[4026531836]'

const withPython = python && seesAllProcesses ? test : programs.skip
withPython('nor is a program accepted that has sent its connection away', async () => {
  const theme = await themeAfter(
    (app, request) =>
      `${python} -c ${quote(SEND_THE_CONNECTION_AWAY)} ${new URL(app.url).port} ${quote(request)}`,
  )
  assert.is(theme, 'dark')
})

test('once it runs, nothing of its environment that is a secret can be read', async () => {
  const app = await spawnApp({
    env: { AGENT_WEBUI_PASSWORD: 'correct horse', OPENAI_API_KEY: 'sk-readable', LANG: 'C.UTF-8' },
  })
  try {
    const { pid } = JSON.parse(readFileSync(join(app.state, 'instance.json'), 'utf8'))
    const environ = readFileSync(`/proc/${pid}/environ`, 'utf8')
    assert.not.match(environ, 'correct horse')
    assert.not.match(environ, 'sk-readable')
    assert.match(environ, 'LANG=C.UTF-8')
    // It has kept them for itself.
    const signedIn = await app.post('/api/auth/login', { password: 'correct horse' })
    assert.is(signedIn.status, 200)
    const headers = { cookie: (signedIn.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
    const { body } = await app.get('/api/providers', { headers })
    const openai = body.providers.find(({ id }: { id: string }) => id === 'openai')
    assert.is(openai.has_key, true)
  } finally {
    await app.close()
  }
})

programs.run()
