/** Results of calls that did not succeed, and what is added to the result of any call. */
import { isObject } from '../base/json.ts'
import { Refusal } from '../base/refusal.ts'
import { messageOf, UserError } from '../errors.ts'
import type { RefusedBy } from '../schema/refused-by.ts'
import type { ToolResult } from './types.ts'

/** `refusedBy`: someone decided that the call does not run. */
export const errorResult = (error: string, refusedBy?: RefusedBy): ToolResult => ({
  content: JSON.stringify({ error }),
  isError: true,
  ...(refusedBy && { refusedBy }),
})

const refuserIn = (error: unknown): RefusedBy | undefined => {
  if (error instanceof Refusal) return error.by
  return error instanceof UserError && error.kind === 'forbidden' ? 'checks' : undefined
}

/** The result of a call whose tool has thrown. A `UserError` has more fields, such as names that there are. */
export const failedResult = (error: unknown): ToolResult => {
  const result = errorResult(messageOf(error), refuserIn(error))
  if (!(error instanceof UserError)) return result
  const { message, extra } = error
  return { ...result, content: JSON.stringify({ success: false, error: message, ...extra }) }
}

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

/** The result with another field where it is a JSON object; another one, such as plain text, with `line` below it. */
export const withField = (
  content: string,
  field: string,
  value: unknown,
  line = `\n${JSON.stringify({ [field]: value })}`,
): string => {
  try {
    const result: unknown = JSON.parse(content)
    if (isObject(result)) return JSON.stringify({ ...result, [field]: value })
  } catch {
    // Not JSON.
  }
  return `${content}${line}`
}
