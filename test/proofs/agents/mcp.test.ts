/** MCP servers as a turn meets them: real ones, and one that does everything wrong; no turn is harmed by any. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callContext } from '../../_call.ts'
import { createTestClock, type TestClock } from '../../_clock.ts'
import { bundleProgram } from '../../_program.ts'
import { imageKeeper } from '../../../lib/agent/images.ts'
import type { Tool, ToolContext, ToolResult } from '../../../lib/agent/types.ts'
import { type HomeTools, Mcp } from '../../../lib/mcp/mcp.ts'
import { type Home, openHome } from '../../../lib/profiles/home.ts'
import { freePort } from '../../../build/start-program.ts'
import { ended, isAlive, until } from '../../_wait.ts'

const root = join(import.meta.dirname, '../../..')
const everything = join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const filesystem = join(root, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')
const odd = bundleProgram(join(import.meta.dirname, '../../lib/mcp/_server.ts'))

type Servers = Record<string, unknown>
type World = { dir: string; mcp: Mcp; clock: TestClock }

const test = suite<World>('mcp')

test.before.each(state => {
  state.dir = mkdtempSync(join(tmpdir(), 'mcp-'))
  state.clock = createTestClock()
  state.mcp = new Mcp({
    version: '1',
    turnWaitMs: 60_000,
    clock: state.clock,
  })
})
test.after.each(async ({ mcp, dir }) => {
  await mcp.close()
  rmSync(dir, { recursive: true, force: true })
})

const node = (...args: string[]) => ({ command: process.execPath, args })

const homeOf = (dir: string, name: string, servers: Servers, env = {}): Home => {
  const path = join(dir, name)
  mkdirSync(path, { recursive: true })
  // JSON is YAML.
  writeFileSync(join(path, 'config.yaml'), JSON.stringify({ mcp_servers: servers }))
  return openHome({
    name,
    dir: path,
    env: { PATH: process.env.PATH ?? '', ...env },
    clock: systemClock,
  })
}

/** As the configuration refers to a variable. */
const ref = (name: string): string => `\${${name}}`

const never = new AbortController().signal

const ask = (mcp: Mcp, home: Home): Promise<HomeTools> => mcp.tools(home, never)

const run = async (
  tools: readonly Tool[],
  name: string,
  args: object = {},
  given: Partial<ToolContext> = {},
): Promise<ToolResult> => {
  const tool = tools.find(each => each.name === name)
  assert.ok(tool, `${name} is not among ${tools.map(each => each.name)}`)
  return tool.run(callContext({}, given), args)
}

const failing = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    return String(error)
  }
  throw new Error('it should have failed')
}

// ── What cannot be used ─────────────────────────────────────────────────────────────────────────────────────────────

test('without servers nothing is loaded; an invalid entry is reported', async ({ mcp, dir }) => {
  assert.equal(await ask(mcp, homeOf(dir, 'none', {})), { tools: [], warnings: [], missing: [] })
  const home = homeOf(dir, 'bad', {
    empty: {},
    words: 'npx something',
    args: { command: 'x', args: 'not a list' },
    url: { url: 'ftp://example.org' },
    off: { command: 'nonesuch', enabled: 'off' },
  })
  const { tools, warnings } = await ask(mcp, home)
  assert.equal(tools, [])
  assert.is(warnings.length, 4, warnings.join('\n'))
  for (const sentence of warnings)
    assert.match(`${sentence}`, /^The MCP server “.+” cannot be used: /)
})

test('reports a missing program, one that exits, and one that cannot list its tools', async ({
  mcp,
  dir,
}) => {
  const home = homeOf(dir, 'a', {
    gone: { command: 'nonesuch-program' },
    ends: node(odd, 'exit'),
    lost: node(odd, 'no-list'),
  })
  const { tools, warnings } = await ask(mcp, home)
  assert.equal(tools, [])
  const [gone = '', ends = '', lost = ''] = warnings.map(String)
  assert.match(gone, 'nonesuch-program')
  assert.match(ends, 'exit code 2')
  assert.match(lost, 'the list is lost')
  const rows = mcp.list(home)
  assert.equal(
    rows.map(({ state }) => state),
    ['failed', 'failed', 'failed'],
  )
  assert.match(rows[1]?.stderr ?? '', 'no license found')
})

test('an unresponsive server delays one turn briefly, and later turns not at all', async ({
  dir,
  clock,
}) => {
  const mcp = new Mcp({ version: '1', clock })
  const home = homeOf(dir, 'a', { mute: { ...node(odd, 'silent'), connect_timeout: 20 } })
  const first = ask(mcp, home)
  await clock.advance(10_000)
  assert.match(`${(await first).warnings[0]}`, 'still starting')
  const second = ask(mcp, home)
  await clock.advance(0)
  assert.match(`${(await second).warnings[0]}`, 'still starting')
  const trying = mcp.test(home, 'mute', never)
  await clock.advance(10_000)
  const tried = await trying
  assert.not.ok(tried.ok)
  assert.match(tried.message, 'did not answer within')
  await mcp.close()
})

test('a stopped turn does not wait for servers', async ({ mcp, dir }) => {
  const home = homeOf(dir, 'a', { mute: node(odd, 'silent') })
  const { warnings } = await mcp.tools(home, AbortSignal.abort())
  assert.match(`${warnings[0]}`, 'still starting')
})

// ── What goes wrong while it works ──────────────────────────────────────────────────────────────────────────────────

test('ignores garbage on a server’s output and hides secrets in it', async ({ mcp, dir }) => {
  const home = homeOf(dir, 'a', {
    g: { ...node(odd, 'garbage'), env: { SECRET_WORD: 'sesame-open-please' } },
  })
  const { tools, warnings } = await ask(mcp, home)
  assert.equal(warnings, [])
  assert.equal(await run(tools, 'mcp_g_echo', { a: 1 }), { content: '{"a":1}' })
  const [row] = mcp.list(home)
  assert.match(row?.stderr ?? '', 'great pleasure')
  assert.not.match(row?.stderr ?? '', 'sesame')
  assert.equal(row?.env, { SECRET_WORD: '••••••' })
})

test('omits invalid tools and offers the rest', async ({ mcp, dir }) => {
  const home = homeOf(dir, 'a', { w: node(odd, 'wrong'), m: node(odd, 'many') })
  const { tools } = await ask(mcp, home)
  assert.equal(
    tools.filter(({ name }) => name.startsWith('mcp_w_')).map(({ name }) => name),
    ['mcp_w_good'],
  )
  assert.is(tools.length, 129)
  assert.match(mcp.list(home)[0]?.error ?? '', '5 of its tools')
})

test('a server that exits during a call fails the call; the next call restarts it', async ({
  mcp,
  dir,
}) => {
  const trace = join(dir, 'trace')
  const home = homeOf(dir, 'a', { d: node(odd, 'well', trace) })
  const { tools } = await ask(mcp, home)
  assert.match(await failing(run(tools, 'mcp_d_die')), /lost during the call.*exit code 3/)
  assert.match(mcp.list(home)[0]?.stderr ?? '', 'cannot go on')
  assert.equal(await run(tools, 'mcp_d_echo'), { content: '{}' })
  assert.is(readFileSync(trace, 'utf8').trim().split('\n').length, 2)
})

test('stops restarting a server that keeps exiting, for a while', async ({ mcp, dir, clock }) => {
  const trace = join(dir, 'trace')
  const home = homeOf(dir, 'a', { d: node(odd, 'exit', trace) })
  const starts = () => readFileSync(trace, 'utf8').trim().split('\n').length
  for (let n = 0; n < 5; n++) await ask(mcp, home)
  assert.is(starts(), 2)
  await clock.advance(2_000)
  await ask(mcp, home)
  assert.is(starts(), 3)
  for (let n = 0; n < 20; n++) {
    await clock.advance(1_000)
    await ask(mcp, home)
  }
  assert.ok(starts() <= 5, `${starts()} starts within a minute`)
})

test('times out a call that never ends, and restarts a stuck server', async ({ mcp, dir }) => {
  const home = homeOf(dir, 'a', { h: { ...node(odd, 'well'), timeout: 0.2 } })
  const { tools } = await ask(mcp, home)
  assert.match(await failing(run(tools, 'mcp_h_hang')), 'did not answer within')
  // More time, which does not restart it: a start takes longer than the call was allowed.
  const patient = homeOf(dir, 'a', { h: { ...node(odd, 'well'), timeout: 60 } })
  const again = (await ask(mcp, patient)).tools
  assert.equal(await run(again, 'mcp_h_echo'), { content: '{}' })
})

test('a stop cancels the call on the server', async ({ mcp, dir }) => {
  const trace = join(dir, 'trace')
  const home = homeOf(dir, 'a', { h: node(odd, 'well', trace) })
  const { tools } = await ask(mcp, home)
  const stop = new AbortController()
  const call = run(tools, 'mcp_h_hang', {}, { signal: stop.signal })
  await until(() => readFileSync(trace, 'utf8').includes('hanging'))
  stop.abort(new Error('enough'))
  await failing(call)
  // The next answer comes after the note: the server reads in order.
  await run(tools, 'mcp_h_echo')
  assert.match(readFileSync(trace, 'utf8'), 'cancelled')
})

test('large output, failures and unknown content become results', async ({ mcp, dir }) => {
  const home = homeOf(dir, 'a', { f: node(odd, 'well') })
  const { tools } = await ask(mcp, home)
  assert.is((await run(tools, 'mcp_f_flood')).content.length, 3_000_000)
  assert.equal(await run(tools, 'mcp_f_fail'), {
    content: '{"error":"it did not work"}',
    isError: true,
  })
  assert.match((await run(tools, 'mcp_f_odd')).content, 'hologram')
})

test('kills a server that ignores shutdown, with its child processes', async ({ mcp, dir }) => {
  const trace = join(dir, 'trace')
  // A shell in between, as with npx: the signal has to reach its child.
  const script = `"${process.execPath}" "${odd}" deaf "${trace}"; true`
  const home = homeOf(dir, 'a', { deaf: { command: 'sh', args: ['-c', script] } })
  assert.equal((await ask(mcp, home)).warnings, [])
  const pid = Number(readFileSync(trace, 'utf8'))
  assert.ok(isAlive(pid))
  await mcp.close()
  await ended(pid)
})

// ── What works ──────────────────────────────────────────────────────────────────────────────────────────────────────

test('new tools are available in the next turn', async ({ mcp, dir }) => {
  const home = homeOf(dir, 'a', { g: node(odd, 'well') })
  const { tools } = await ask(mcp, home)
  await run(tools, 'mcp_g_grow')
  // The note is debounced: asked again until it has arrived.
  await until(async () => {
    const next = await ask(mcp, home)
    return next.tools.some(({ name }) => name === 'mcp_g_grown')
  }, 'the new tool')
})

test('destructive tools request approval under a label that can be allowed', async ({
  mcp,
  dir,
}) => {
  const home = homeOf(dir, 'a', { e: node(odd, 'well') })
  const { tools } = await ask(mcp, home)
  const denied = await run(tools, 'mcp_e_erase', { path: '/x' })
  assert.ok(denied.isError)
  const asked: string[][] = []
  const allowed = await run(
    tools,
    'mcp_e_erase',
    { path: '/x' },
    {
      approve: async ({ patternKeys }) => {
        asked.push(patternKeys)
        return 'once'
      },
    },
  )
  assert.equal([allowed, asked], [{ content: '{"path":"/x"}' }, [['mcp: e/erase']]])
  assert.is(tools.find(({ name }) => name === 'mcp_e_echo')?.kind, 'read')
})

test('elicitation reaches the user, or is canceled', async ({ mcp, dir }) => {
  const home = homeOf(dir, 'a', { q: node(odd, 'well') })
  const { tools } = await ask(mcp, home)
  const asked: unknown[] = []
  const answered = await run(
    tools,
    'mcp_q_ask',
    {},
    {
      clarify: async (question, choices) => {
        asked.push([question, choices])
        return 'blue'
      },
      // The server works on the call: after a restart it must not be called again.
      onBegin: () => void asked.push('begun'),
    },
  )
  assert.match(answered.content, '"color":"blue"')
  assert.equal(asked, ['begun', ['Which one?\n\ncolor', ['red', 'blue']]])
  assert.match((await run(tools, 'mcp_q_ask')).content, 'cancel')
})

test('a server gets only the keys configured for it', async ({ mcp, dir }) => {
  const env = { HOME: '/home/me', OPENAI_API_KEY: 'sk-no', OTHER: 'no', LANG: 'C', GIVEN: 'yes' }
  const home = homeOf(
    dir,
    'a',
    { e: { ...node(odd, 'well'), env: { TOKEN: `x ${ref('GIVEN')} ${ref('ABSENT')}`, PORT: 80 } } },
    env,
  )
  const { tools } = await ask(mcp, home)
  const seen = JSON.parse((await run(tools, 'mcp_e_env')).content) as Record<string, string>
  assert.is(seen.TOKEN, `x yes ${ref('ABSENT')}`)
  assert.is(seen.PORT, '80')
  assert.is(seen.HOME, '/home/me')
  assert.is(seen.LANG, 'C')
  for (const name of ['OPENAI_API_KEY', 'OTHER', 'GIVEN']) assert.is(seen[name], undefined, name)
})

test('tool names are valid for every provider and unique', async ({ mcp, dir }) => {
  const home = homeOf(dir, 'a', {
    'a b': node(odd, 'well'),
    a_b: node(odd, 'well'),
    [`${'long'.repeat(20)}1`]: node(odd, 'well'),
    [`${'long'.repeat(20)}2`]: node(odd, 'well'),
  })
  const { tools } = await ask(mcp, home)
  const names = tools.map(({ name }) => name)
  assert.is(new Set(names).size, names.length)
  assert.is(names.length, 40)
  for (const name of names) assert.match(name, /^mcp_[A-Za-z0-9_-]{1,60}$/)
})

test('config.yaml changes: filters apply at once, another command restarts the server', async ({
  mcp,
  dir,
}) => {
  const trace = join(dir, 'trace')
  const entry = node(odd, 'well', trace)
  const home = homeOf(dir, 'a', { s: entry })
  const write = (servers: Servers) => {
    home.configFile.edit(['mcp_servers'], servers)
  }
  assert.is((await ask(mcp, home)).tools.length, 10)
  write({ s: { ...entry, tools: { include: ['echo', 'env'], exclude: ['env'] } } })
  assert.equal(
    (await ask(mcp, home)).tools.map(({ name }) => name),
    ['mcp_s_echo'],
  )
  const pids = () => readFileSync(trace, 'utf8').trim().split('\n').map(Number)
  assert.is(pids().length, 1)
  write({ s: { ...entry, env: { NEW: '1' } } })
  await ask(mcp, home)
  assert.is(pids().length, 2)
  write({})
  const { tools } = await ask(mcp, home)
  assert.equal(tools, [])
  await mcp.close()
  for (const pid of pids()) await ended(pid)
})

test('stops an idle server and restarts it on demand', async ({ dir, mcp, clock }) => {
  const trace = join(dir, 'trace')
  const home = homeOf(dir, 'a', { s: node(odd, 'well', trace) })
  const { tools } = await ask(mcp, home)
  await clock.advance(30 * 60_000)
  assert.is(mcp.list(home)[0]?.state, 'stopped')
  assert.equal(await run(tools, 'mcp_s_echo'), { content: '{}' })
  assert.is(readFileSync(trace, 'utf8').trim().split('\n').length, 2)
})

test('profiles do not share servers', async ({ mcp, dir }) => {
  const trace = join(dir, 'trace')
  const servers = { s: { ...node(odd, 'well', trace), env: { WORD: ref('WORD') } } }
  const one = homeOf(dir, 'one', servers, { WORD: 'first' })
  const two = homeOf(dir, 'two', servers, { WORD: 'second' })
  const [a, b] = await Promise.all([ask(mcp, one), ask(mcp, two)])
  assert.is(new Set(readFileSync(trace, 'utf8').trim().split('\n')).size, 2)
  const seen = await Promise.all([a, b].map(({ tools }) => run(tools, 'mcp_s_env')))
  assert.equal(
    seen.map(({ content }) => (JSON.parse(content) as { WORD: string }).WORD),
    ['first', 'second'],
  )
})

test('real servers: everything and filesystem', async ({ mcp, dir }) => {
  const home = homeOf(dir, 'a', {
    everything: node(everything, 'stdio'),
    files: node(filesystem, dir),
  })
  const { tools, warnings } = await ask(mcp, home)
  assert.equal(warnings, [])
  const said: string[] = []
  const sum = await run(tools, 'mcp_everything_get-sum', { a: '2', b: 3 })
  assert.match(sum.content, '5')
  assert.match((await run(tools, 'mcp_everything_get-tiny-image')).content, '[image: image/png')
  const keepImage = imageKeeper({
    mode: 'auto',
    load: () => null,
    save: () => `image-${'0'.repeat(32)}.png`,
  })
  const seen = await run(tools, 'mcp_everything_get-tiny-image', {}, { keepImage })
  const [image] = seen.images ?? []
  assert.equal([image?.name, image?.width, image?.height], ['everything/get-tiny-image', 20, 20])
  assert.match(seen.content, '[image: everything/get-tiny-image, 20×20, ')
  await run(
    tools,
    'mcp_everything_trigger-long-running-operation',
    { duration: 0.2, steps: 4 },
    { output: text => said.push(text) },
  )
  assert.match(said.join(''), '1/4')
  const { resources } = JSON.parse((await run(tools, 'mcp_everything_list_resources')).content) as {
    resources: { uri: string }[]
  }
  const read = await run(tools, 'mcp_everything_read_resource', { uri: resources[0]?.uri })
  assert.ok(read.content.length > 50)
  const prompt = { name: 'args-prompt', arguments: { city: 'Graz' } }
  assert.match((await run(tools, 'mcp_everything_list_prompts')).content, 'args-prompt')
  assert.match((await run(tools, 'mcp_everything_get_prompt', prompt)).content, 'Graz')

  const path = join(dir, 'note.txt')
  const write = { path, content: 'hello' }
  assert.ok((await run(tools, 'mcp_files_write_file', write)).isError)
  await run(tools, 'mcp_files_write_file', write, { approve: async () => 'once' })
  assert.is(readFileSync(path, 'utf8'), 'hello')
  assert.match((await run(tools, 'mcp_files_read_text_file', { path })).content, 'hello')
})

// ── Over HTTP ───────────────────────────────────────────────────────────────────────────────────────────────────────

const startHttp = async (transport: string): Promise<{ child: ChildProcess; port: number }> => {
  const port = await freePort()
  const child = spawn(process.execPath, [everything, transport], {
    env: { PATH: process.env.PATH ?? '', PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  await new Promise<void>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      if (/listening|running|on port/i.test(String(chunk))) resolve()
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
    child.once('exit', code => reject(new Error(`it ended with ${code}`)))
  })
  return { child, port }
}

for (const [transport, path] of [
  ['streamableHttp', 'mcp'],
  ['sse', 'sse'],
] as const)
  test(`over HTTP: ${transport}; rejected, connected, lost`, async ({ mcp, dir, clock }) => {
    const { child, port } = await startHttp(transport)
    const home = homeOf(dir, 'a', {
      web: { url: `http://127.0.0.1:${port}/${path}`, headers: { 'X-Key': 'k' } },
      nowhere: { url: `http://127.0.0.1:${await freePort()}/mcp` },
    })
    const { tools, warnings } = await ask(mcp, home)
    assert.is(warnings.length, 1, warnings.join('\n'))
    assert.match(`${warnings[0]}`, '“nowhere” cannot be used')
    assert.equal(await run(tools, 'mcp_web_echo', { message: 'hi' }), { content: 'Echo: hi' })
    child.kill('SIGKILL')
    await new Promise(resolve => child.once('close', resolve))
    await clock.advance(1_000)
    await failing(run(tools, 'mcp_web_echo', { message: 'hi' }))
  })

test.run()
