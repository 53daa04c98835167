/** The context of a tool call, for tests: nothing is allowed, and nothing is remembered. */
import type { ToolContext, TurnServices } from '../lib/agent/types.ts'
import { createTestClock } from './_clock.ts'

export const callContext = (
  turn: Partial<TurnServices> = {},
  own: Partial<ToolContext> = {},
): ToolContext => {
  const { signal } = new AbortController()
  return {
    turn: { workspace: '/', env: {}, forbidden: [], signal, clock: createTestClock(), ...turn },
    callId: 'c1',
    signal: turn.signal ?? signal,
    output: () => undefined,
    approve: async () => 'deny',
    clarify: async () => null,
    memo: new Map(),
    ...own,
  }
}
