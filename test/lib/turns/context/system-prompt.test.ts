/** When the system prompt of a session is rebuilt and when it is not, in cases a service test cannot reach. */
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../../lib/base/clock.ts'
import { todo } from '../../../../lib/agent/tools/todo.ts'
import type { ModelEndpoint, Tool } from '../../../../lib/agent/types.ts'
import { Homes } from '../../../../lib/profiles/homes.ts'
import type { Span } from '../../../../lib/sessions/fold.ts'
import type { Services } from '../../../../lib/turns/context/services.ts'
import type { TurnScope } from '../../../../lib/turns/context/turn-scope.ts'
import { PromptCache } from '../../../../lib/turns/context/prompt-cache.ts'
import { promptOf } from '../../../../lib/turns/context/system-prompt.ts'
import { configOf } from '../../../_config.ts'
import { createTestClock } from '../../../_clock.ts'
import { tempDir } from '../../../_temp-dir.ts'

type Context = { dir: string }
const test = suite<Context>('prompting', { dir: '' })
test.before.each(context => {
  context.dir = tempDir('prompting')
})

const NOON = Date.parse('2026-04-08T12:00:00Z') / 1_000
const DAY = 24 * 3_600
const endpoint: ModelEndpoint = {
  provider: 'custom',
  model: 'm',
  apiMode: 'chat_completions',
  baseUrl: '',
  apiKey: null,
  contextLength: 0,
}
const tool = (name: string) => ({ ...todo, name }) as Tool

/** The prompt as of now; omitted inputs are unchanged. */
const open = ({ dir }: Context) => {
  const home = new Homes({ baseHome: dir, agentHome: dir, configPath: null, env: {} }, systemClock)
    .base
  const logged: string[] = []
  const shelf = new PromptCache(
    join(dir, 'prompts'),
    createTestClock(NOON * 1_000),
    line => void logged.push(line),
  )
  mkdirSync(join(dir, 'memories'))
  const world = {
    spans: [] as Span[],
    gathered: 0,
    set notes(text: string) {
      writeFileSync(join(dir, 'memories', 'MEMORY.md'), text)
    },
  }
  world.notes = 'Note one.'
  const services = {
    config: { outsideSandbox: 'changes' },
    sessions: { head: () => ({ created_at: NOON, spans: world.spans }) },
    promptCache: shelf,
    skills: {
      index() {
        world.gathered++
        return []
      },
      subagents: () => [],
    },
    runners: { runnerFor: () => undefined },
  } as unknown as Services
  const tell = async (
    more: {
      at?: number
      tools?: string[]
      timezone?: string
      unattended?: boolean
      client?: boolean
    } = {},
  ): Promise<string> => {
    const unattended = more.unattended
      ? { preamble: 'Nobody watches.', ask: () => 'deny' as const }
      : null
    const place = {
      turn: {
        startedAt: (more.at ?? NOON) * 1_000,
        endpoint,
        client: more.client ? { tools: [], instructions: '', approvals: 'ask' } : null,
      },
      sessionId: 's1',
      home,
      workspace: dir,
      meta: {},
      config: configOf({ timezone: more.timezone ?? 'UTC' }),
      unattended,
    } as unknown as TurnScope
    return (await promptOf(place, services, (more.tools ?? ['todo']).map(tool), [])).text
  }
  return { world, shelf, logged, tell }
}

test('is rebuilt after a compaction and after its undo', async context => {
  const { world, tell } = open(context)
  await tell()
  world.notes = 'Note two.'
  assert.match(await tell(), 'Note one.')
  world.spans = [{ n: 9, from: 1, to: 8, last: 'm7', at: 0 }]
  assert.match(await tell(), 'Note two.')
  world.notes = 'Note three.'
  assert.match(await tell(), 'Note two.')
  world.spans = []
  assert.match(await tell(), 'Note three.')
})

test('MCP tools do not change the prompt; our toolsets do', async context => {
  const { world, tell } = open(context)
  const first = await tell()
  assert.is(await tell({ tools: ['mcp_files_read', 'todo'] }), first)
  assert.is(world.gathered, 1)
  assert.match(await tell({ tools: ['todo', 'session_search'] }), 'session_search before')
  assert.is(world.gathered, 2)
})

test('an unattended turn gets no notes', async context => {
  const { tell } = open(context)
  const alone = await tell({ unattended: true })
  assert.not.match(alone, 'Note one.')
  assert.ok(alone.endsWith('Nobody watches.'))
  assert.match(await tell(), 'Note one.')
})

test('the prompt of a session in use is not swept', async context => {
  const { shelf, tell, world } = open(context)
  const first = await tell()
  const path = join(context.dir, 'prompts', 's1.json')
  utimesSync(path, NOON - 15 * DAY, NOON - 15 * DAY)
  assert.is(await tell(), first)
  shelf.sweep()
  assert.ok(existsSync(path))
  assert.is(world.gathered, 1)
})

test('sweeps entries that were unused for two weeks', async context => {
  const { shelf, tell } = open(context)
  shelf.sweep()
  await tell()
  const dir = join(context.dir, 'prompts')
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'old.json'), '{}')
  utimesSync(join(dir, 's1.json'), NOON - DAY, NOON - DAY)
  utimesSync(join(dir, 'old.json'), NOON - 15 * DAY, NOON - 15 * DAY)
  shelf.sweep()
  assert.ok(existsSync(join(dir, 's1.json')))
  assert.not.ok(existsSync(join(dir, 'old.json')))
})

test.run()
