/** How many MCP tools are described to the model, and what a session keeps of them. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { describeTools } from '../../../../lib/agent/tool-schema.ts'
import type { Tool } from '../../../../lib/agent/types.ts'
import type { Span } from '../../../../lib/sessions/fold.ts'
import { listTools, type ToolOffer } from '../../../../lib/turns/context/mcp-tools.ts'
import { PromptCache } from '../../../../lib/turns/context/prompt-cache.ts'
import type { Sessions } from '../../../../lib/sessions/sessions.ts'
import type { TurnScope } from '../../../../lib/turns/context/turn-scope.ts'
import { configOf } from '../../../_config.ts'
import { createTestClock } from '../../../_clock.ts'
import { tempDir } from '../../../_temp-dir.ts'

type Context = { dir: string }
const test = suite<Context>('tools of MCP servers', { dir: '' })
test.before.each(context => {
  context.dir = tempDir('mcp-tools')
})

const toolsOf = (count: number, about = 'Does it.'): Tool[] =>
  Array.from({ length: count }, (_, n) => ({
    name: `mcp_git_tool${n}`,
    server: 'git',
    summary: about,
    input: z.looseObject({}),
    parameters: { type: 'object', properties: { repo: { type: 'string' } } },
    kind: 'read' as const,
    preview: () => '',
    run: () => ({ content: String(n) }),
  }))

const open = ({ dir }: Context) => {
  const world = { spans: [] as Span[], model: 'm', contextLength: 0 }
  const cache = new PromptCache(dir, createTestClock(), line => assert.unreachable(line))
  const sessions = { head: () => ({ spans: world.spans }) } as unknown as Sessions
  const offer = (
    given: Partial<ToolOffer>,
    config: Record<string, unknown> = {},
    sessionId = 's1',
  ) => {
    const { model, contextLength } = world
    const scope = {
      sessionId,
      turn: { endpoint: { provider: 'p', model, contextLength } },
      config: configOf(config),
      meta: {},
    } as unknown as TurnScope
    const all = { own: [], tools: [], missing: [], warnings: [], ...given }
    return listTools(scope, all, sessions, cache)
  }
  return { world, offer }
}
const sentBytes = (tools: readonly Tool[]) => JSON.stringify(describeTools(tools))
const namesOf = (tools: readonly Tool[]) => describeTools(tools).map(({ name }) => name)

test('few tools are described; with many, or long ones, there is a search; a setting decides otherwise', context => {
  const { world, offer } = open(context)
  let sessions = 0
  const sent = (tools: Tool[], setting?: unknown, contextLength = 0): string => {
    world.contextLength = contextLength
    const config = setting === undefined ? {} : { tools: { tool_search: setting } }
    const names = namesOf(offer({ tools }, config, `s${++sessions}`))
    const isSearch = names.includes('tool_search') && names.includes('call_tool')
    return isSearch ? `search and ${names.length - 2}` : `${names.length}`
  }
  assert.is(sent([]), '0')
  assert.is(sent(toolsOf(40)), '40')
  assert.is(sent(toolsOf(41)), 'search and 0')
  assert.is(sent(toolsOf(10, 'x'.repeat(4_000))), 'search and 0')
  assert.is(sent(toolsOf(10), undefined, 200_000), '10')
  assert.is(sent(toolsOf(10), undefined, 2_000), 'search and 0')
  assert.is(sent(toolsOf(10), { threshold_pct: 50 }, 2_000), '10')
  assert.is(sent(toolsOf(1), 'on'), 'search and 0')
  assert.is(sent(toolsOf(1), true), 'search and 0')
  assert.is(sent(toolsOf(300), 'off'), '300')
  assert.is(sent(toolsOf(300), { enabled: false }), '300')
})

test('a described tool keeps its bytes when its server changes or stops, until the user or a compaction changes the prompt', async context => {
  const { world, offer } = open(context)
  const first = offer({ tools: toolsOf(2) })
  const changed = offer({ tools: toolsOf(2, 'Does something else.') })
  assert.is(sentBytes(changed), sentBytes(first))
  const gone = offer({ missing: ['git'], warnings: ['The server is gone.'] })
  assert.is(sentBytes(gone), sentBytes(first))
  assert.throws(
    () => gone[0]?.run({} as never, {}),
    'This tool cannot be used now. The server is gone.',
  )
  assert.is(sentBytes(offer({})), sentBytes(first))
  assert.equal(offer({}, {}, 's2'), [])
  assert.is((await changed[1]?.run({} as never, {}))?.content, '1')
  world.spans = [{ n: 9, from: 1, to: 8, last: 'm7', at: 0 }]
  const compacted = offer({ tools: toolsOf(3, 'Does something else.') })
  assert.is(namesOf(compacted).length, 3)
  assert.match(sentBytes(compacted), 'Does something else.')
  world.model = 'other'
  assert.is(namesOf(offer({ tools: toolsOf(1) })).length, 1)
})

const own = (name: string, seldom?: string): Tool => ({
  name,
  // Long enough that it is worth a search.
  summary: `${name} ${'x'.repeat(2_000)}`,
  input: z.looseObject({}),
  kind: 'read',
  preview: () => '',
  run: () => ({ content: name }),
  ...(seldom !== undefined && { seldom }),
})

test('our own that few conversations need are found by search, and stay so for the whole session', context => {
  const { world, offer } = open(context)
  const all = [own('terminal'), own('cronjob', 'scheduled tasks'), own('skills_list', '')]
  const first = offer({ own: all })
  assert.equal(namesOf(first), ['terminal', 'tool_search', 'call_tool'])
  assert.match(first.find(({ name }) => name === 'tool_search')?.summary ?? '', 'cronjob (')
  assert.equal(
    first.filter(({ deferred }) => deferred).map(({ name }) => name),
    ['cronjob', 'skills_list'],
  )
  // A skill was written meanwhile, and a server started.
  const later = [own('terminal'), own('cronjob', 'other words'), own('skills_list')]
  const grown = offer({ own: later, tools: toolsOf(1) })
  assert.equal(namesOf(grown), ['terminal', 'tool_search', 'call_tool', 'mcp_git_tool0'])
  assert.ok(grown.some(({ name, deferred }) => name === 'skills_list' && deferred))
  // The other way round: what was described remains described.
  const described = offer({ own: [own('skills_list')], tools: toolsOf(1) }, {}, 's2')
  const now = offer({ own: [own('skills_list', '')], tools: toolsOf(1) }, {}, 's2')
  assert.is(sentBytes(now), sentBytes(described))
  world.spans = [{ n: 9, from: 1, to: 8, last: 'm7', at: 0 }]
  assert.equal(namesOf(offer({ own: later })), [
    'terminal',
    'skills_list',
    'tool_search',
    'call_tool',
  ])
  const short = [own('terminal'), { ...own('cronjob', 'scheduled tasks'), summary: 'Short.' }]
  assert.equal(namesOf(offer({ own: short }, {}, 's4')), ['terminal', 'cronjob'])
  const off = offer({ own: all }, { tools: { tool_search: 'off' } }, 's3')
  assert.equal(namesOf(off), ['terminal', 'cronjob', 'skills_list'])
})

test.run()
