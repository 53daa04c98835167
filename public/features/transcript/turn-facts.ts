/** What a turn did, derived from its messages: steps, commands that failed, calls that were denied. */
import { waitedSeconds } from '../../../lib/base/waits.ts'
import type { Message } from '../../../lib/schema/message.ts'
import { isObject } from '../../../lib/base/json.ts'
import { outcomeOf } from '../tool-calls/outcome.ts'
import type { RefusedBy } from '../../../lib/schema/refused-by.ts'
import { secondsOf, textOf } from './content.ts'

export type FailedCommand = { id: string; command: string; exitCode: number }
export type DeniedCall = { id: string; name: string; written: string; by: RefusedBy }

export type TurnFacts = {
  steps: number
  /** From the user's message to the last reply, without waits for a person; null when the times are unknown. */
  seconds: number | null
  /** Commands whose last run in the turn failed. */
  failed: readonly FailedCommand[]
  denied: readonly DeniedCall[]
}

const commandOf = (written: string): string => {
  try {
    const value: unknown = JSON.parse(written)
    return isObject(value) && typeof value.command === 'string' ? value.command : ''
  } catch {
    // The model wrote something else; such a call ran no command.
    return ''
  }
}

export const factsOf = (turn: readonly Message[]): TurnFacts => {
  const results = new Map<string, Message>()
  for (const message of turn)
    if (message.role === 'tool' && message.tool_call_id) results.set(message.tool_call_id, message)
  const failed = new Map<string, FailedCommand>()
  const denied: DeniedCall[] = []
  let steps = 0
  for (const call of turn.flatMap(message => message.tool_calls ?? [])) {
    const { name, arguments: written } = call.function
    // A question to the user is no step.
    if (name === 'clarify') continue
    steps++
    const result = results.get(call.id)
    if (!result) continue
    const { by, exitCode } = outcomeOf(textOf(result), result)
    if (by) {
      denied.push({ id: call.id, name, written, by })
      continue
    }
    const command = commandOf(written)
    if (!command || exitCode === null) continue
    // Run again, it counts with its last result only.
    failed.delete(command)
    if (exitCode !== 0) failed.set(command, { id: call.id, command, exitCode })
  }
  const [first, last] = [turn[0], turn.findLast(message => secondsOf(message) !== null)]
  const [from, to] = [first && secondsOf(first), last && secondsOf(last)]
  const waited = waitedSeconds(turn.flatMap(({ _decisions: all = [] }) => all))
  const worked = from && to ? Math.round(to - from - waited) : 0
  const seconds = first?.role === 'user' && worked > 0 ? worked : null
  return { steps, seconds, failed: [...failed.values()], denied }
}
