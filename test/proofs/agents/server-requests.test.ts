/** What a server asks of a turn, and what it offers beside tools: sampling, roots, resources; with the reference server. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callContext } from '../../_call.ts'
import type {
  ApprovalRequest,
  Tool,
  ToolContext,
  ToolResult,
  TurnServices,
} from '../../../lib/agent/types.ts'
import { Mcp } from '../../../lib/mcp/mcp.ts'
import { parseServers, type ServerConfig } from '../../../lib/mcp/config.ts'
import { Sampling, type Sample } from '../../../lib/mcp/sampling.ts'
import { type Home, openHome } from '../../../lib/profiles/home.ts'

const everything = join(
  import.meta.dirname,
  '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
)

type World = { dir: string; mcp: Mcp }

const test = suite<World>('mcp server requests')
test.before.each(state => {
  state.dir = mkdtempSync(join(tmpdir(), 'mcp-requests-'))
  state.mcp = new Mcp({ version: '1', clock: systemClock })
})
test.after.each(async ({ mcp, dir }) => {
  await mcp.close()
  rmSync(dir, { recursive: true, force: true })
})

const homeOf = (dir: string, more: object = {}): Home => {
  mkdirSync(dir, { recursive: true })
  const server = { command: process.execPath, args: [everything], ...more }
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify({ mcp_servers: { e: server } }))
  return openHome({ name: 'a', dir, env: { PATH: process.env.PATH ?? '' }, clock: systemClock })
}

const never = new AbortController().signal

const run = async (
  tools: readonly Tool[],
  name: string,
  args: object,
  given?: Partial<ToolContext>,
  turn?: Partial<TurnServices>,
): Promise<ToolResult> => {
  const tool = tools.find(each => each.name === `mcp_e_${name}`)
  if (!tool) throw new Error(`${name} is not among ${tools.map(each => each.name)}`)
  return tool.run(callContext(turn, given), args)
}

const ASK = { prompt: 'How tall is it?', maxTokens: 50 }
const ANSWERED: Sample = async () => ({ text: 'Very tall.', model: 'test-model' })

/** The result of the call, or its error. */
const sampled = async (
  { mcp, dir }: World,
  {
    settings = {},
    sample = ANSWERED,
    ...given
  }: Partial<ToolContext> & { settings?: unknown; sample?: Sample | null },
): Promise<string> => {
  const home = homeOf(dir, { sampling: settings })
  const { tools } = await mcp.tools(home, never, sample === null ? undefined : () => sample)
  return run(tools, 'trigger-sampling-request', ASK, given).then(
    ({ content }) => content,
    (error: Error) => error.message,
  )
}

test('sampling is refused: turned off, denied, without a user, too often, or with another model', async world => {
  const { tools } = await world.mcp.tools(homeOf(world.dir, { sampling: false }), never)
  assert.not.ok(tools.some(({ name }) => name.includes('sampling')))
  const allow = async () => 'once' as const
  assert.match(await sampled(world, {}), 'denied')
  assert.match(await sampled(world, { approve: allow, sample: null }), 'a user can approve')
  const failing: Sample = async (_, { allowedModels }) => {
    throw new Error(`only ${allowedModels}`)
  }
  const settings = { allowed_models: ['small'] }
  assert.match(await sampled(world, { settings, approve: allow, sample: failing }), 'only small')
  // The same server, which has asked twice.
  const limited = { max_rpm: 3 }
  assert.match(await sampled(world, { settings: limited, approve: allow }), 'Very tall.')
  assert.match(await sampled(world, { settings: limited, approve: allow }), 'At most 3 requests')
})

test('sampling is approved by what is sent, limited, and shown', async world => {
  const asked: ApprovalRequest[] = []
  const calls: unknown[] = []
  const shown: string[] = []
  const text = await sampled(world, {
    settings: { max_tokens_cap: 20, model: 'mini' },
    approve: async ask => {
      asked.push(ask)
      return 'once'
    },
    output: line => shown.push(line),
    async sample(messages, { signal: _, ...options }) {
      calls.push([messages, options])
      return { text: 'Very tall.', model: 'mini' }
    },
  })
  assert.match(text, 'Very tall.')
  assert.match(text, '"stopReason": "endTurn"')
  const [ask] = asked
  assert.equal(ask?.patternKeys, ['sampling: e'])
  assert.equal(ask?.choices, ['once', 'session', 'deny'])
  assert.match(ask?.command ?? '', 'How tall is it?')
  assert.match(ask?.command ?? '', 'system: You are a helpful test server.')
  assert.match(ask?.description ?? '', 'up to 20 tokens')
  const [[messages, options]] = calls as [[{ role: string }[], unknown]]
  assert.equal(
    messages.map(({ role }) => role),
    ['system', 'user'],
  )
  assert.equal(options, { model: 'mini', allowedModels: [], maxTokens: 20 })
  assert.match(shown.join(''), 'Answer of mini to e:\nVery tall.')
})

test('sampling that is approved when the call is over, or the server no longer waits, calls no model', async world => {
  const asked = Promise.withResolvers<void>()
  const late = Promise.withResolvers<'once'>()
  const answered: string[] = []
  const sample: Sample = async () => {
    answered.push('too late')
    return { text: 'Very tall.', model: 'mini' }
  }
  const home = homeOf(world.dir, { timeout: 0.5 })
  const { tools } = await world.mcp.tools(home, never, () => sample)
  let withdrawn: AbortSignal | undefined
  const approve = ({ signal }: ApprovalRequest) => {
    withdrawn = signal
    asked.resolve()
    return late.promise
  }
  const call = run(tools, 'trigger-sampling-request', ASK, { approve })
  await asked.promise
  assert.match(
    await call.then(
      () => '',
      (error: Error) => error.message,
    ),
    'did not answer',
  )
  assert.is(withdrawn?.aborted, true, 'the question leaves the page with the call')
  late.resolve('once')
  await new Promise(setImmediate)
  assert.equal(answered, [])

  const canceled = new AbortController()
  const caller = { ...callContext(), workspace: '/', sample, approve: async () => 'once' as const }
  const params = {
    messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
    maxTokens: 5,
  }
  const { sampling: settings } = parseServers({
    mcp_servers: { e: { command: 'x' } },
  })[0] as ServerConfig
  const answer = () =>
    new Sampling('e', systemClock).answer(params, settings, caller, canceled.signal)
  await answer()
  assert.equal(answered, ['too late'])
  canceled.abort(new Error('canceled'))
  assert.is(await answer().then(String, (error: Error) => error.message), 'canceled')
  assert.equal(answered, ['too late'])
})

test('a server gets the workspaces of the turns that use it, where it is configured, and nothing else', async ({
  mcp,
  dir,
}) => {
  const plain = await mcp.tools(homeOf(join(dir, 'plain')), never)
  assert.not.ok(plain.tools.some(({ name }) => name.includes('roots')))
  const { tools } = await mcp.tools(homeOf(join(dir, 'roots'), { roots: true }), never)
  const rootsOf = async (workspace: string, turn: AbortController) => {
    const { content } = await run(
      tools,
      'get-roots-list',
      {},
      { signal: turn.signal },
      { workspace },
    )
    return [...content.matchAll(/file:\S+/g)].map(([uri]) => uri)
  }
  const [one, two] = [new AbortController(), new AbortController()]
  assert.equal(await rootsOf('/work/one', one), ['file:///work/one'])
  assert.equal(await rootsOf('/work/t wo', two), ['file:///work/one', 'file:///work/t%20wo'])
  one.abort()
  const three = new AbortController()
  assert.equal(await rootsOf('/work/three', three), ['file:///work/t%20wo', 'file:///work/three'])
})

test('resources are listed with their templates, read as text, and stored when they are not', async ({
  mcp,
  dir,
}) => {
  const { tools } = await mcp.tools(homeOf(dir), never)
  const listed = JSON.parse((await run(tools, 'list_resources', {})).content)
  assert.ok(listed.resources.length > 0)
  const templates = listed.templates.map(({ uriTemplate }: { uriTemplate: string }) => uriTemplate)
  assert.ok(templates.includes('demo://resource/dynamic/text/{resourceId}'), String(templates))
  const text = await run(tools, 'read_resource', { uri: 'demo://resource/dynamic/text/1' })
  assert.match(text.content, 'Resource 1')
  const stored: [string, string][] = []
  const keepFile = (bytes: Buffer, ending: string) => {
    stored.push([bytes.toString(), ending])
    return '/out/a.txt'
  }
  const uri = 'demo://resource/dynamic/blob/1'
  const blob = await run(tools, 'read_resource', { uri }, { keepFile })
  assert.match(blob.content, /stored in \/out\/a\.txt/)
  assert.match(stored[0]?.[0] ?? '', 'Resource 1')
})

test.run()
