/** The built file, alone in an empty directory with nothing but Node: it starts, serves, streams, resumes, and comes down. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join, resolve } from 'node:path'
import { transform } from 'esbuild'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { HEAD_BYTES, PAYLOAD_MARK } from '../build/run-built.cjs'
import { createClient } from './_http.ts'
import { createProvider } from './_provider.ts'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { sessionId, writeSessions } from '../bench/_data.ts'
import { freePort, launch, type Program, programEnv, startProgram } from '../build/start-program.ts'
import { rejection, startEditor } from './lib/cli/_acp-client.ts'
import { tempDir } from './_temp-dir.ts'

type State = { program: Program; client: ReturnType<typeof createClient> }

const root = tempDir('smoke')
const home = join(root, 'home')
const cwd = join(root, 'empty')
const file = join(cwd, 'agent-webui.mjs')

const test = suite<State>('smoke')

test.before(async state => {
  mkdirSync(cwd)
  copyFileSync('dist/agent-webui.mjs', file)
  state.program = await startProgram(process.execPath, [file, '--no-browser'], { home, cwd })
  state.client = createClient(() => state.program.url)
})
test.after(async ({ program, client }) => {
  client.closeClient()
  program.child.kill('SIGKILL')
  await program.exited
  rmSync(root, { recursive: true })
})

/** Another Node of this machine, older than ours; most have none. */
const findOldNode = () =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map(directory => join(directory, 'node'))
    .find(path => {
      const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
      return Number(/^v(\d+)/.exec(stdout ?? '')?.[1] ?? 24) < 24
    })

test('an older Node prints the required version', () => {
  const old = findOldNode()
  if (!old) return
  const { status, stderr } = spawnSync(old, [file], { encoding: 'utf8' })
  assert.is(status, 1)
  assert.match(
    stderr,
    /^agent-webui needs Node\.js 24 or newer, and this is v\d[\d.]+: install [^\n]+\n$/,
  )
})

test('an old Node can read the file up to that sentence', async () => {
  const [program = ''] = readFileSync(file, 'utf8').split('\n/*')
  assert.not.match(program, /^(?:import|export)\b/m)
  const [asIs, lowered] = await Promise.all(
    ['esnext', 'node12.22'].map(target => transform(program, { target, format: 'esm' })),
  )
  assert.is(lowered!.code, asIs!.code)
})

test('npm start runs it without reading its payload', async () => {
  const head = readFileSync(file).subarray(0, HEAD_BYTES)
  assert.ok(head.includes(PAYLOAD_MARK), 'the launcher has grown beyond what is read')
  const script = resolve('build/run-built.cjs')
  const options = { home: join(root, 'launched'), cwd }
  const program = await startProgram(process.execPath, [script, file, '--no-browser'], options)
  // A page, and an endpoint whose code is loaded now.
  const answers = await Promise.all(['/', '/api/crons'].map(path => fetch(program.url + path)))
  assert.equal(
    answers.map(({ status }) => status),
    [200, 200],
  )
  assert.is(await program.stop(), 0)
})

test('a file that is overwritten while it runs: what needs more of it fails by itself, and SIGTERM ends it in order', async () => {
  const copy = join(cwd, 'overwritten.mjs')
  copyFileSync(file, copy)
  const options = { home: join(root, 'overwritten'), cwd }
  const program = await startProgram(process.execPath, [copy, '--no-browser'], options)
  // What is due at a start has begun before it is answered.
  assert.is((await fetch(`${program.url}/api/settings`)).status, 200)
  // In place, as cp does it.
  writeFileSync(copy, 'x'.repeat(1_000))
  const statuses: unknown[] = []
  for (const path of ['/api/crons', '/api/insights', '/none'])
    statuses.push(await fetch(program.url + path).then(({ status }) => status, String))
  assert.equal(statuses, [500, 500, 404], program.output())
  assert.match(program.output(), /GET \/api\/crons: Error: The program file/)
  assert.is((await fetch(`${program.url}/health`)).status, 200)
  assert.is(await program.stop(), 0)
  assert.not.match(program.output(), /closing|uncaught/)
  rmSync(copy)
})

test('chats are listed and read without the code of a turn', async () => {
  const copy = join(cwd, 'idle.mjs')
  copyFileSync(file, copy)
  const home = join(root, 'idle')
  writeSessions(join(home, '.agent', 'webui'), home, { sessions: 3, messages: 4 })
  const run = () => startProgram(process.execPath, [copy, '--no-browser'], { home, cwd })
  // Reads the files, as a start with unknown ones does.
  await (await run()).stop()
  const program = await run()
  const statusOf = (path: string, body?: object) =>
    fetch(program.url + path, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'Content-Type': 'application/json' },
    }).then(({ status }) => status)
  const reads = ['/', '/api/sessions?limit=50', `/api/session?session_id=${sessionId(0)}`]
  const read = () => Promise.all(reads.map(path => statusOf(path)))
  assert.equal(await read(), [200, 200, 200])
  // Nothing more of it can be loaded.
  writeFileSync(copy, 'x'.repeat(1_000))
  assert.equal(await read(), [200, 200, 200])
  const turn = { session_id: sessionId(0), message: 'Hello' }
  assert.is(await statusOf('/api/chat/start', turn), 500)
  assert.match(program.output(), /POST \/api\/chat\/start: Error: The program file/)
  await program.stop()
  rmSync(copy)
})

/** Says what reads the data of all languages: 8 MB that stay, and 30 ms of the first turn. */
const WATCH_INTL = `
const tell = name => console.log('Intl: ' + name + new Error().stack)
const watched = (name, read) => new Proxy(read, {
  apply: (target, self, given) => (tell(name), Reflect.apply(target, self, given)),
  construct: (target, given) => (tell(name), Reflect.construct(target, given)),
})
for (const name of ['DateTimeFormat', 'NumberFormat', 'Collator', 'PluralRules', 'Segmenter'])
  Intl[name] = watched(name, Intl[name])
for (const [owner, name] of [[String, 'localeCompare'], [Number, 'toLocaleString'], [Date, 'toLocaleString']])
  owner.prototype[name] = watched(name, owner.prototype[name])
`

test('a first turn reads no data of languages', async () => {
  await using provider = await createProvider(
    { toolCalls: [{ name: 'terminal', arguments: { command: 'echo one' } }] },
    { text: 'Done' },
  )
  const home = join(root, 'first-turn')
  const watch = join(root, 'watch-intl.cjs')
  mkdirSync(join(home, '.agent'), { recursive: true, mode: 0o700 })
  writeFileSync(
    join(home, '.agent', 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: claude-sonnet-4-5\n`,
    { mode: 0o600 },
  )
  writeFileSync(watch, WATCH_INTL)
  const args = ['--require', watch, file, '--no-browser']
  const program = await startProgram(process.execPath, args, { home, cwd })
  const client = createClient(() => program.url)
  const { session_id } = (await client.post('/api/session/new')).body.session
  const { body } = await client.post('/api/chat/start', { session_id, message: 'hello' })
  const stream = client.events(`/api/chat/stream?stream_id=${body.stream_id}`)
  const events = await stream.until(({ event }) => event === 'stream_end')
  assert.ok(events.some(({ event }) => event === 'done'))
  assert.ok(provider.requests.length >= 2)
  client.closeClient()
  await program.stop()
  assert.not.match(program.output(), 'Intl: ')
})

test('rejects a second instance on the same state directory', async ({ program }) => {
  const port = await freePort()
  const second = launch(process.execPath, [file, '--no-browser'], { home, cwd, port })
  assert.is(await second.exited, 1)
  assert.match(second.output(), String(program.child.pid))
  assert.is(second.output().trim().split('\n').length, 1, second.output())
  assert.is((await fetch(`${program.url}/health`)).status, 200)
})

test('serves editors and MCP clients', async () => {
  const root = home
  const editor = await startEditor({ root, workspace: cwd }, { program: file })
  try {
    assert.is(editor.hello.protocolVersion, 1)
    // Nothing is set up here.
    assert.is((await rejection(editor.newSession())).code, -32000)
  } finally {
    await editor.close()
  }
  const client = new Client({ name: 'tester', version: '1' })
  const env = programEnv(home, 0)
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [file, 'mcp'], env }),
  )
  assert.is((await client.listTools()).tools.length, 4)
  await client.close()
})

test('reports a port in use in one sentence', async () => {
  const taken = createServer()
  const port = await freePort()
  await new Promise<void>(resolve => taken.listen(port, '127.0.0.1', resolve))
  const other = launch(process.execPath, [file, '--no-browser'], {
    home: join(root, 'other'),
    cwd,
    port,
  })
  assert.is(await other.exited, 1)
  assert.match(other.output(), /port is in use/)
  assert.is(other.output().trim().split('\n').length, 1, other.output())
  taken.close()
})

test('names the sources it was built from', () => {
  assert.match(readFileSync(file, 'latin1').split('\n', 2)[1] ?? '', /^\/\/ Sources: [0-9a-f]{64}$/)
})

test('starts without Maglev, with a collection that can be asked for, a heap that grows slowly, and with the code caches it was built with', async () => {
  const report = join(import.meta.dirname, '_report-v8.mjs')
  const program = await startProgram(process.execPath, ['--import', report, file, '--no-browser'], {
    home: join(root, 'cached'),
    cwd,
  })
  assert.is(await program.stop(), 0)
  // Before the first part, because a code cache fits only the flags it was made with.
  assert.match(
    program.output(),
    /^V8 flags --no-maglev --expose-gc --heap-growing-percent=50\ncode cache used\n/,
  )
  assert.not.match(program.output(), /code cache rejected/)
})

test('leaves no files beside the built file', () => {
  assert.equal(readdirSync(cwd), ['agent-webui.mjs'])
})

test('serves the page and all of its files, compressed', async ({ client }) => {
  // With the style of the first page, for which the composer does not wait.
  // The outbox is in it, so that the first message is as safe as a later one.
  // Controls of 44 px under a finger are a part of it.
  // Names of chunks are hashes: any change of a text makes 100 bytes more or less of the same code.
  assert.ok((await firstLoadOf(client, '/')) <= 83_700)
  assert.ok((await firstLoadOf(client, '/session/abcdef012345')) <= 97_850)
})

test('the sign-in page is one document', async () => {
  const env = { AGENT_WEBUI_PASSWORD: 'correct horse' }
  const signedOut = { home: join(root, 'signed-out'), cwd, env }
  const program = await startProgram(process.execPath, [file, '--no-browser'], signedOut)
  const page = await fetch(`${program.url}/login`)
  assert.is(page.status, 200)
  const text = await page.text()
  assert.match(text, '<form id="login-form"')
  assert.not.match(text, /(?:src|href)="static/)
  await program.stop()
})

/** Checks the files that a page names; returns the bytes of its script and style, which the composer needs. */
const firstLoadOf = async ({ get }: State['client'], path: string): Promise<number> => {
  const page = await get(path)
  assert.is(page.status, 200)
  const names = [...page.text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(([, name]) => name)
  assert.ok(
    names.some(name => /^static\/main-\w+\.js$/.test(name ?? '')),
    page.text,
  )
  assert.ok(
    names.some(name => /^static\/main-\w+\.css$/.test(name ?? '')),
    page.text,
  )
  let firstLoad = 0
  for (const name of names) {
    const plain = await get(`/${name}`)
    assert.is(plain.status, 200, name)
    for (const coding of ['br', 'gzip']) {
      const packed = await get(`/${name}`, { headers: { 'Accept-Encoding': coding } })
      if (packed.headers['content-encoding']) assert.ok(packed.bytes.length < plain.bytes.length)
      assert.is(packed.status, 200, name)
      if (coding === 'br' && /\.(?:js|css)$/.test(name ?? '')) firstLoad += packed.bytes.length
    }
  }
  console.log(`  ${path}: ${firstLoad} bytes of script and style`)
  assert.ok(firstLoad > 50_000, `only ${firstLoad} bytes were found`)
  return firstLoad
}

test('a turn of the demo model streams; a dropped reader resumes exactly', async ({ client }) => {
  const made = await client.post('/api/session/new')
  const { session_id } = made.body.session
  const started = await client.post('/api/chat/start', { session_id, message: 'hello' })
  assert.is(started.status, 200, started.text)
  const { stream_id } = started.body
  const path = `/api/chat/stream?stream_id=${stream_id}`

  const first = client.events(path)
  const before = await first.until(({ event }) => event === 'token')
  first.close()
  const lastId = before.at(-1)?.id ?? ''
  const second = client.events(path, { headers: { 'Last-Event-ID': lastId } })
  const after = await second.until(({ event }) => event === 'stream_end')
  second.close()

  const ids = [...before, ...after].map(({ id }) => Number(id)).filter(id => id > 0)
  assert.equal(
    ids,
    Array.from(ids, (_, index) => index + 1),
  )
  assert.ok(after.some(({ event }) => event === 'done'))
  const whole = await client.events(path).until(({ event }) => event === 'stream_end')
  const text = (events: typeof whole) =>
    events
      .filter(({ event }) => event === 'token')
      .map(({ data }) => data.text)
      .join('')
  assert.is(text([...before, ...after]), text(whole))
  assert.ok(text(whole).length > 0)
})

test('full-text search finds messages in the packed worker', async ({ client }) => {
  const made = await client.post('/api/session/new')
  const { session_id } = made.body.session
  const sent = await client.post('/api/chat', { session_id, message: 'zanzibar' })
  assert.is(sent.status, 200, sent.text)
  const found = await client.get('/api/sessions/search?q=zanzibar&content=1')
  assert.is(found.status, 200, found.text)
  assert.match(found.text, session_id)
})

test('exits with 0 on SIGTERM, and a new process continues', async state => {
  assert.is(await state.program.stop(), 0)
  assert.not.match(state.program.output(), /error/i)
  state.client.closeClient()
  state.program = await startProgram(process.execPath, [file, '--no-browser'], { home, cwd })
  state.client = createClient(() => state.program.url)
  const list = await state.client.get('/api/sessions')
  assert.is(list.body.sessions.length, 2)
  assert.is(await state.program.stop(), 0)
})

test.run()
