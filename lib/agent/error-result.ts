/** Results of calls that did not succeed. */
import { Refusal } from '../base/refusal.ts'
import { messageOf } from '../errors.ts'
import type { RefusedBy } from '../schema/refused-by.ts'
import type { ToolResult } from './types.ts'

/** `refusedBy`: someone decided that the call does not run. */
export const errorResult = (error: string, refusedBy?: RefusedBy): ToolResult => ({
  content: JSON.stringify({ error }),
  isError: true,
  ...(refusedBy && { refusedBy }),
})

/** The result of a call whose tool has thrown. */
export const failedResult = (error: unknown): ToolResult =>
  errorResult(messageOf(error), error instanceof Refusal ? error.by : undefined)

/** The shape that the host agent gives to what did not run. */
export const blockedResult = (
  refusedBy: RefusedBy,
  error: string,
  more: Readonly<Record<string, unknown>> = {},
): ToolResult => ({
  content: JSON.stringify({ status: 'blocked', ...more, error }),
  isError: true,
  refusedBy,
})

export const deniedResult = (what: string): ToolResult =>
  blockedResult('user', `The user denied ${what}.`)
