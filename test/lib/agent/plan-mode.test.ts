/** Plan mode of the engine: tools of MCP servers, the user's answer about them, and calls that began before it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callContext } from '../../_call.ts'
import { z } from 'zod'
import { Rules } from '../../../lib/agent/permissions/rules.ts'
import { underPlanMode } from '../../../lib/agent/plan-mode.ts'
import { Refusal } from '../../../lib/base/refusal.ts'
import { runTools } from '../../../lib/agent/run-tools.ts'
import type { ApprovalRequest } from '../../../lib/agent/tool-services.ts'
import type { AgentRequest, Tool } from '../../../lib/agent/types.ts'
import type { ApprovalChoice } from '../../../lib/schema/question.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite('plan mode')

const tool = (name: string, kind: Tool['kind'], server?: string): Tool => ({
  name,
  kind,
  ...(server && { server }),
  summary: '',
  input: z.object({}),
  preview: () => '',
  run: () => ({ content: '' }),
})

const begin = (answer: ApprovalChoice = 'once') => {
  const state = { isOn: true, asked: [] as ApprovalRequest[], changes: 0 }
  const ctx = callContext(
    { workspace: '/w' },
    {
      async approve(ask) {
        state.asked.push(ask)
        return answer
      },
      beforeChange: async () => void state.changes++,
    },
  )
  const mode = { isOn: () => state.isOn, present: async () => null }
  return { state, ctx, run: (given: Tool) => underPlanMode(mode, given, {}, ctx) }
}

const rejects = async (work: Promise<unknown>): Promise<void> => {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  assert.is(error instanceof Refusal && error.by, 'plan')
}

test('refuses tools of MCP servers that may write, and unknown kinds of tools, without asking', async () => {
  const { state, run } = begin()
  await rejects(run(tool('mcp_notes_add', 'execute', 'notes')))
  await rejects(run(tool('new_tool', 'write')))
  await rejects(run(tool('new_tool', 'execute')))
  assert.equal(state.asked, [])
})

test('asks the user about a tool that its server calls read-only, once, and no setting can answer', async () => {
  const { state, run } = begin()
  const list = tool('mcp_notes_list', 'read', 'notes')
  await run(list)
  await run(list)
  assert.is(state.asked.length, 1)
  assert.is(state.asked[0]?.isControl, true)
  assert.match(state.asked[0]?.description ?? '', "can't be checked")
  await run(tool('mcp_notes_search', 'read', 'notes'))
  assert.is(state.asked.length, 2, 'another tool')
  await rejects(begin('deny').run(list))
})

test('does not ask about a call that a rule denies', async () => {
  const asked: string[] = []
  const request: Partial<AgentRequest> = {
    tools: [tool('mcp_notes_list', 'read', 'notes')],
    workspace: '/w',
    env: {},
    planMode: { isOn: () => true, present: async () => null },
    rules: new Rules('config.yaml', { workspace: '/w', homes: [] }, () => ({
      deny: ['mcp_notes_list'],
    })),
    approve: async ask => {
      asked.push(ask.command)
      return 'once'
    },
  }
  const contents: string[] = []
  const call = { name: 'mcp_notes_list', arguments: '{}' }
  await runTools(
    [{ id: 'c', type: 'function', function: call }],
    {
      request: request as AgentRequest,
      emit: () => undefined,
      signal: new AbortController().signal,
      memo: new Map(),
      clock: createTestClock(),
    },
    (_, { content }) => void contents.push(content),
  )
  assert.match(contents[0] ?? '', 'mcp_notes_list')
  assert.match(contents[0] ?? '', 'error')
  assert.equal(asked, [])
})

test('a call that runs outside plan mode changes nothing once it is turned on', async () => {
  const { state, run } = begin()
  state.isOn = false
  const ctx = await run(tool('write_file', 'write'))
  await ctx.beforeChange?.('workspace')
  assert.is(state.changes, 1)
  state.isOn = true
  await rejects(Promise.resolve(ctx.beforeChange?.('workspace')))
  await rejects(ctx.approve({ command: 'x', patternKeys: [], description: '', cwd: '/w' }))
  assert.is(state.changes, 1)
})

test.run()
