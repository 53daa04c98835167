/** What the line of a tool call says about its result; the opened card parses the rest (`result-body.ts`). */
import { isObject } from '../../../lib/base/json.ts'
import type { Message } from '../../../lib/schema/message.ts'
import type { RefusedBy } from '../../../lib/schema/refused-by.ts'

export type Fields = Readonly<Record<string, unknown>>

export type Outcome = {
  state: 'ok' | 'failed' | 'refused'
  /** Of a refused call. */
  by: RefusedBy | null
  /** The command was started in, or moved to, the background. */
  isInBackground: boolean
  exitCode: number | null
  /** Number of matches of a search. */
  matches: number | null
  /** Lines of an edit. */
  edit: { added: number; removed: number } | null
}

/** The fields of a JSON result; of a truncated one, what can be recovered. Null for other text. */
export const parseFields = (content: string): Fields | null => {
  const text = content.trim()
  if (!text.startsWith('{')) return null
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    const fields = recoverFields(text)
    return Object.keys(fields).length > 0 ? fields : null
  }
}

/** Recovers string fields of truncated JSON; the last one may be incomplete. */
const recoverFields = (text: string): Record<string, unknown> => {
  const fields: Record<string, unknown> = {}
  for (const key of ['output', 'diff', 'content', 'error']) {
    const start = new RegExp(`"${key}"\\s*:\\s*"`).exec(text)
    if (!start) continue
    const body = /^(?:[^"\\]|\\(?:u[0-9a-f]{4}|[^u]))*/i.exec(
      text.slice(start.index + start[0].length),
    )
    try {
      fields[key] = JSON.parse(`"${body?.[0].replaceAll('\n', '\\n') ?? ''}"`)
    } catch {
      // Contains raw control characters, so it is not JSON; the caller shows the text.
    }
  }
  const code = /"exit_code"\s*:\s*(-?\d+)/.exec(text)
  if (code) fields.exit_code = Number(code[1])
  return fields
}

export const errorIn = (fields: Fields): string =>
  typeof fields.error === 'string' ? fields.error.trim() : ''

/** What the service recorded about a call. Results of the host agent have neither, but may say `blocked`. */
export type Recorded = Pick<Message, '_failed' | '_refused_by'>

export const outcomeOf = (content: string, recorded: Recorded = {}): Outcome => {
  const fields = parseFields(content) ?? {}
  const code = fields.exit_code
  const exitCode = typeof code === 'number' ? code : null
  const by = recorded._refused_by ?? (fields.status === 'blocked' ? 'checks' : null)
  const hasFailed =
    recorded._failed === true ||
    (exitCode !== null && exitCode !== 0) ||
    fields.success === false ||
    errorIn(fields) !== ''
  const list = [fields.matches, fields.files].find(Array.isArray)
  return {
    state: by ? 'refused' : hasFailed ? 'failed' : 'ok',
    by,
    isInBackground: typeof fields.session_id === 'string' && typeof fields.pid === 'number',
    exitCode: by ? null : exitCode,
    matches: typeof fields.total_count === 'number' ? fields.total_count : (list?.length ?? null),
    edit: typeof fields.diff === 'string' && fields.diff ? countChanges(fields.diff) : null,
  }
}

/** Counts the lines of a unified diff, without those of its headers. */
const countChanges = (diff: string): { added: number; removed: number } => {
  const lines = diff.split('\n')
  const isHeader = (at: number): boolean =>
    /^--- /.test(lines[at] ?? '') && /^\+\+\+ /.test(lines[at + 1] ?? '')
  const count = (mark: string, header: (at: number) => boolean): number =>
    lines.filter((line, at) => line.startsWith(mark) && !header(at)).length
  return { added: count('+', at => isHeader(at - 1)), removed: count('-', isHeader) }
}

/** Whether a call has failed, without parsing its result: what a closed activity shows. A refused one has not. */
export const hasFailed = (content: string, { _failed, _refused_by }: Recorded): boolean =>
  _refused_by === undefined &&
  !/^\s*\{\s*"status"\s*:\s*"blocked"/.test(content.slice(0, 40)) &&
  (_failed === true ||
    /"exit_code"\s*:\s*-?[1-9]/.test(content.slice(-400)) ||
    /^\s*\{\s*"(?:success"\s*:\s*false|error"\s*:\s*"[^"])/.test(content.slice(0, 120)))
