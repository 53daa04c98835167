/** What a hook that allows a call does not allow: control files, leaving the sandbox, what a rule asks about, and other requests of an MCP server. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import type { BeforeCall, Hooks } from '../../../lib/agent/hooks.ts'
import { runTools } from '../../../lib/agent/run-tools.ts'
import type { ApprovalRequest } from '../../../lib/agent/tool-services.ts'
import type { AgentRequest, Tool } from '../../../lib/agent/types.ts'
import { Approver } from '../../../lib/turns/context/approver.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite('calls that a hook allows')

const ALLOW: BeforeCall = {
  blocked: null,
  input: null,
  decision: 'allow',
  reason: '',
  context: [],
  activity: [],
}

/** As in a chat, whose user denies everything. */
const deniesAll = (): AgentRequest['approve'] => {
  const config = () => ({
    approvals: { mode: 'manual', gateway_timeout: 0 },
    command_allowlist: [],
  })
  const home = { name: 'default', config }
  const scope = { sessionId: 's', home, workspace: '/', meta: {} }
  const approver = new Approver(
    scope as never,
    { head: () => ({ meta: {} }) } as never,
    { has: () => false } as never,
    { approve: async () => 'deny', noteAllowed: () => {} } as never,
  )
  return ask => approver.approve(ask)
}

/** The answer that a tool gets to its approval request; the user denies everything. */
const answerTo = async (ask: Partial<ApprovalRequest>, server?: string): Promise<string> => {
  const tool: Tool = {
    name: 'probe',
    summary: '',
    input: z.object({}),
    kind: 'execute',
    ...(server !== undefined && { server }),
    preview: () => '',
    async run(ctx) {
      const given = { command: 'x', patternKeys: [], description: '', cwd: '/', ...ask }
      return { content: await ctx.approve(given) }
    },
  }
  const hooks: Hooks = {
    before: async () => ALLOW,
    after: async () => ({ content: null, context: [], activity: [] }),
    atEnd: async () => null,
    ended: async () => undefined,
    stopped: () => null,
    ofSubagent: () => hooks,
  }
  const request: Partial<AgentRequest> = {
    tools: [tool],
    workspace: '/',
    env: {},
    approve: deniesAll(),
    hooks,
  }
  let content = ''
  await runTools(
    [{ id: 'c1', type: 'function', function: { name: 'probe', arguments: '{}' } }],
    {
      request: request as AgentRequest,
      emit: () => undefined,
      signal: new AbortController().signal,
      memo: new Map(),
      clock: createTestClock(),
    },
    (_, result) => {
      content = result.content
    },
  )
  return content
}

test('are still asked about where the hook has no say', async () => {
  assert.is(await answerTo({ isControl: true }), 'deny')
  assert.is(await answerTo({ leavesSandbox: true }), 'deny')
  assert.is(await answerTo({ rule: 'bash(x)' }), 'deny')
  assert.is(await answerTo({ patternKeys: ['sampling: s'] }, 's'), 'deny')
})

test('are not asked about otherwise', async () => {
  assert.is(await answerTo({ patternKeys: ['recursive delete'] }), 'once')
  assert.is(await answerTo({ patternKeys: ['mcp: s/probe'] }, 's'), 'once')
})

test.run()
