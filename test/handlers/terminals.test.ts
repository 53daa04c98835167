/** Terminals: a real shell on a pseudo-terminal, typed into and read by numbered requests, ended with all it started. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { routes } from '../../router.ts'
import { OutputBuffer } from '../../lib/workspaces/terminals/output-buffer.ts'
import { startApp, type TestApp } from '../_app.ts'
import { ended, isAlive } from '../_wait.ts'

const world = {} as { app: TestApp; session: string }
/** A read waits for output. */
const MAX_READS = 10_000
const SIZE = { cols: 100, rows: 30 }

const PATHS: Readonly<Record<string, string>> = {
  open: '/api/terminal/open',
  read: '/api/terminal/read',
  input: '/api/terminal/input',
  resize: '/api/terminal/resize',
  close: '/api/terminal/close',
}

const test = suite('terminals')

test.before(async () => {
  world.app = await startApp({
    env: { SHELL: '/bin/bash', SOME_API_KEY: 'key-of-the-service-0123456789', PLAIN: 'visible' },
  })
  const work = join(world.app.userHome, 'wörk $(x)')
  mkdirSync(work)
  const { body } = await world.app.post('/api/session/new', { workspace: work })
  world.session = body.session.session_id
})
test.after(() => world.app.close())

const call = (name: string, input: Record<string, unknown> = {}) =>
  world.app.post(PATHS[name]!, { session_id: world.session, ...input })

/** A client that reads one terminal from the start. */
const openTerminal = async (given: Record<string, unknown> = {}) => {
  const { status, body } = await call('open', { ...SIZE, ...given })
  assert.is(status, 200, JSON.stringify(body))
  const { terminal_id } = body.terminal
  const state = { text: '', next: 0, n: 0 }
  const one = (name: string, input: Record<string, unknown> = {}) =>
    call(name, { terminal_id, client: 'test', ...input })
  return {
    id: terminal_id as string,
    terminal: body.terminal,
    one,
    state,
    type: async (data: string) => one('input', { n: ++state.n, data }),
    /** Reads until the output matches. */
    async until(pattern: RegExp): Promise<string> {
      for (let round = 0; round < MAX_READS; round++) {
        if (pattern.test(state.text)) return state.text
        const { body: part } = await one('read', { after: state.next })
        if (part.reset) state.text = ''
        state.text += part.text
        state.next = part.next
        if (part.terminal.status === 'exited' && !part.more && part.text === '') break
      }
      assert.match(state.text, pattern, `${JSON.stringify(state.text)} has no ${pattern}`)
      return state.text
    },
    close: () => one('close'),
  }
}

test('rejects unknown sessions, terminals, sizes and inputs', async () => {
  const unknown = await call('open', { ...SIZE, session_id: 'aaaaaaaaaaaa' })
  assert.is(unknown.status, 404)
  assert.is(unknown.body.code, 'session_not_found')
  const none = await call('read', { terminal_id: 'term_0', client: 'a', after: 0 })
  assert.is(none.body.code, 'terminal_not_found')
  for (const size of [
    { cols: 1, rows: 30 },
    { cols: 80, rows: 301 },
    { cols: 80.5, rows: 3 },
  ])
    assert.is((await call('open', size)).status, 400)
  const terminal = await openTerminal()
  for (const input of [
    { n: 0, data: 'x' },
    { n: 1, data: '' },
    { n: 1, data: 'x'.repeat(100_001) },
  ])
    assert.is((await terminal.one('input', input)).status, 400)
  const other = (await world.app.post('/api/session/new', {})).body.session.session_id
  const foreign = await terminal.one('read', { session_id: other, after: 0 })
  assert.is(foreign.body.code, 'terminal_not_found')
  await terminal.close()
})

test('every route that opens, reads or types is a POST, which programs of the agent cannot send', () => {
  const named = Object.keys(routes).filter(key => key.includes('/api/terminal'))
  assert.equal(
    named.filter(key => !key.startsWith('POST ')),
    ['GET /api/terminals'],
  )
  for (const key of named) {
    const { public: isPublic, byToken } = routes[key as keyof typeof routes] as Record<
      string,
      unknown
    >
    assert.is(isPublic ?? byToken, undefined)
  }
})

test('rejects requests of other sites', async () => {
  const { status } = await world.app.request('POST', '/api/terminal/open', {
    headers: { Origin: 'https://evil.example' },
    body: { session_id: world.session, ...SIZE },
  })
  assert.is(status, 403)
})

test('runs the shell of the person in the workspace, without secrets of the service', async () => {
  const terminal = await openTerminal()
  assert.is(terminal.terminal.shell, 'bash')
  await terminal.type(
    'echo "[$PWD][$SOME_API_KEY][$PLAIN][$TERM][$HOME][$SHELL]" | tr -d "\\n"; stty size\r',
  )
  const text = await terminal.until(/\]30 100/)
  assert.match(text, `wörk $(x)][][visible][xterm-256color][${world.app.userHome}][/bin/bash]`)
  await terminal.close()
})

test('writes a repeated input once and passes control characters and wide characters', async () => {
  const terminal = await openTerminal()
  // bash prints the line it was given before it turns the echo of the terminal on again: only what the line prints is late enough.
  await terminal.type('echo ready-$((1+1)); cat -v\r')
  await terminal.until(/ready-2/)
  const again = { n: ++terminal.state.n, data: '漢字 👩‍💻 é\r' }
  await terminal.one('input', again)
  await terminal.one('input', again)
  // cat has read it.
  await terminal.until(/M-CM-\)/)
  await terminal.type('\x03')
  // An interrupt discards input that has not been read yet.
  await terminal.until(/\^C.*\?2004h/s)
  await terminal.type('echo done-$((40+2))\r')
  const text = await terminal.until(/done-42/)
  assert.is(text.split('漢字 👩‍💻 é').length - 1, 1)
  await terminal.close()
})

test('resizes, and tells the program in it', async () => {
  const terminal = await openTerminal()
  // A trap that runs a program may miss the second of the two signals of stty: rows and columns are changed one after the other.
  await terminal.type(`trap 'echo seen-$((3+4))' WINCH; echo ready-$((1+1))\r`)
  await terminal.until(/ready-2/)
  assert.is((await terminal.one('resize', { cols: 61, rows: 17 })).status, 200)
  await terminal.type('stty size\r')
  await terminal.until(/17 61/)
  await terminal.until(/seen-7/)
  await terminal.close()
})

test('shows the exit code, refuses input then, and keeps the output for another page', async () => {
  const terminal = await openTerminal()
  await terminal.type('echo last-words; exit 7\r')
  await terminal.until(/last-words\r\n/)
  for (let round = 0; round < 50; round++) {
    const { body } = await terminal.one('read', { after: terminal.state.next })
    terminal.state.next = body.next
    if (body.terminal.status === 'exited') break
  }
  const { body } = await world.app.get(`/api/terminals?session_id=${world.session}`)
  const ended = body.terminals.find(
    (each: { terminal_id: string }) => each.terminal_id === terminal.id,
  )
  assert.is(ended.exit_code, 7)
  assert.is((await terminal.type('x')).body.code, 'terminal_ended')
  const again = await terminal.one('read', { client: 'other page', after: 0 })
  assert.match(again.body.text, 'last-words')
  await terminal.close()
})

test('ends everything in the terminal when it is closed, also what ignores a hangup', async () => {
  const terminal = await openTerminal()
  await terminal.type("(trap '' HUP TERM; exec sleep 1000) & echo pid-$!-; sleep 1001\r")
  const [, pid] = /pid-(\d+)-\r/.exec(await terminal.until(/pid-\d+-\r/)) ?? []
  assert.ok(isAlive(Number(pid)))
  assert.is((await terminal.close()).status, 200)
  await ended(Number(pid))
})

test('keeps memory and the service usable while a program prints without end', async () => {
  const terminal = await openTerminal()
  await terminal.type('yes 0123456789012345678901234567890123456789\r')
  await terminal.until(/(?:0123456789\d+\r\n){3}/)
  // Nothing reads for a while except these requests.
  for (let round = 0; round < 20; round++) await world.app.get('/health')
  await terminal.type('\x03')
  await terminal.type('echo over-$((6*7))\r')
  await terminal.until(/over-42/)
  await terminal.close()
})

test('ends with a service that was killed', async () => {
  const source = new URL('../../lib/workspaces/terminals/pseudo-terminal.ts', import.meta.url)
  const service = spawn(process.execPath, [
    '--input-type=module',
    '-e',
    `import { PseudoTerminal } from ${JSON.stringify(source.href)}
    await PseudoTerminal.open({
      command: ['/bin/sh', '-c', 'echo pid-$$-; sleep 600'],
      cwd: '/',
      env: { PATH: process.env.PATH },
      size: { cols: 80, rows: 24 },
      onOutput: text => process.stdout.write(text),
    })`,
  ])
  const [text] = await once(service.stdout, 'data')
  const [, pid] = /pid-(\d+)-/.exec(String(text)) ?? []
  assert.ok(isAlive(Number(pid)))
  service.kill('SIGKILL')
  await ended(Number(pid))
})

test('is of the folder: other chats there have it, and it outlives the chat that opened it', async () => {
  const work = join(world.app.userHome, 'shared')
  mkdirSync(work)
  const [first, second] = await Promise.all(
    [0, 1].map(async () => {
      const { body } = await world.app.post('/api/session/new', { workspace: work })
      return body.session.session_id as string
    }),
  )
  const terminal = await openTerminal({ session_id: first })
  const listed = async () =>
    (await world.app.get(`/api/terminals?session_id=${second}`)).body.terminals
  assert.equal(
    (await listed()).map((each: { terminal_id: string }) => each.terminal_id),
    [terminal.id],
  )
  await world.app.post('/api/session/delete', { session_id: first })
  // What runs in it besides the shell is named, so that closing an idle one need not ask.
  const input = { session_id: second, n: 1, data: 'echo ready-$((1+1)); sleep 600\r' }
  await terminal.one('input', input)
  for (let after = 0, text = ''; !/ready-2/.test(text); ) {
    const { body } = await terminal.one('read', { session_id: second, after })
    text += body.text
    after = body.next
  }
  let programs: string[] = []
  for (let round = 0; round < MAX_READS && programs.length === 0; round++)
    programs = (await listed())[0].programs
  assert.equal(programs, ['sleep'])
  await terminal.one('close', { session_id: second })
  assert.equal(await listed(), [])
})

test('says why when it is turned off or a program is missing', async () => {
  const off = await startApp({ env: { AGENT_WEBUI_TERMINAL: 'off' } })
  const session_id = (await off.post('/api/session/new', {})).body.session.session_id
  const refused = await off.post('/api/terminal/open', { session_id, ...SIZE })
  assert.is(refused.status, 503)
  assert.is(refused.body.code, 'terminal_unavailable')
  const listed = await off.get(`/api/terminals?session_id=${session_id}`)
  assert.match(listed.body.problem, 'AGENT_WEBUI_TERMINAL=off')
  await off.close()
  const bin = join(world.app.userHome, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'stty'), '#!/bin/sh\n')
  chmodSync(join(bin, 'stty'), 0o755)
  const bare = await startApp({ env: { PATH: bin } })
  const id = (await bare.post('/api/session/new', {})).body.session.session_id
  assert.match((await bare.get(`/api/terminals?session_id=${id}`)).body.problem, 'util-linux')
  await bare.close()
})

test('limits the number of terminals of a folder', async () => {
  const opened = await Promise.all(
    Array.from({ length: 9 }, () =>
      call('open', SIZE).then(({ status, body }) => ({ status, body })),
    ),
  )
  assert.equal(opened.map(({ status }) => status).toSorted(), [...Array(8).fill(200), 429])
  for (const { body } of opened)
    if (body.terminal) await call('close', { terminal_id: body.terminal.terminal_id })
})

test('a page that is far behind continues with the oldest stored line', () => {
  const buffer = new OutputBuffer(50_000)
  for (let n = 0; n < 10_000; n++) buffer.append(`line ${n}\r\n`)
  const late = buffer.read(10)
  assert.ok(late.reset)
  assert.match(late.text, /^line \d+\r\n/)
  const rest = buffer.read(buffer.end - 6)
  assert.equal(rest, { text: '9999\r\n', next: buffer.end, reset: false, more: false })
  assert.ok(buffer.read(buffer.end + 1).reset)
})

test.run()
