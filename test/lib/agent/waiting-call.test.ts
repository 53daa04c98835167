/** Which questions a call asks again after a restart: those before it has done anything. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { toolOf } from './_run.ts'
import { runTools } from '../../../lib/agent/run-tools.ts'
import type { AgentRequest, ToolContext } from '../../../lib/agent/types.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite('calls that wait for an answer')

const ASK = { command: 'x', patternKeys: [], description: '', cwd: '/' }

/** For an approval and a question, whether the call is made again: asked after `act`, which the call does first. */
const isWaitingAfter = async (act: (ctx: ToolContext) => unknown): Promise<boolean[]> => {
  const seen: boolean[] = []
  const asks = async (ctx: ToolContext) => {
    await ctx.approve(ASK)
    await ctx.clarify('?', [])
    return { content: '' }
  }
  const tools = [
    toolOf('probe', async ctx => {
      await act(ctx)
      return asks(ctx)
    }),
    toolOf('inner', asks),
  ]
  const request: Partial<AgentRequest> = {
    tools,
    workspace: '/',
    env: {},
    async approve({ waitingCall }) {
      seen.push(waitingCall === 'c1')
      return 'once'
    },
    async clarify(_question, _choices, _callId, _signal, isWaiting) {
      seen.push(isWaiting === true)
      return ''
    },
  }
  await runTools(
    [{ id: 'c1', type: 'function', function: { name: 'probe', arguments: '{}' } }],
    {
      request: request as AgentRequest,
      emit: () => undefined,
      signal: new AbortController().signal,
      memo: new Map(),
      clock: createTestClock(),
    },
    () => undefined,
  )
  return seen
}

test('before it has done anything', async () => {
  assert.equal(await isWaitingAfter(() => undefined), [true, true])
})

test('not after it has begun, whatever it did', async () => {
  const acts: ((ctx: ToolContext) => unknown)[] = [
    ctx => ctx.onBegin?.(),
    ctx => ctx.output('text'),
    ctx => ctx.beforeChange?.('workspace'),
    ctx => ctx.onCommand?.('sandbox'),
  ]
  for (const act of acts) assert.equal(await isWaitingAfter(act), [false, false], String(act))
})

test('not what a running script asks through another tool', async () => {
  const seen = await isWaitingAfter(ctx => ctx.call?.('inner', {}))
  assert.equal(seen, [false, false, false, false])
})

test.run()
