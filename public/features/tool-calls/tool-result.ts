/** Parses a tool result: JSON, or what can be recovered from truncated JSON. */
import { parseDiff } from '../../parts/diff.ts'
import type { FileDiff } from '../../parts/diff.ts'

export type Todo = {
  content: string
  status: 'pending' | 'in_progress' | 'completed' | 'cancelled'
}
export type Match = { path: string; line: number | null; text: string }

export type ToolResult = {
  failed: boolean
  /** The command was started in, or moved to, the background. */
  isInBackground: boolean
  exitCode: number | null
  body:
    | { kind: 'output'; text: string }
    | { kind: 'diff'; files: FileDiff[] }
    | { kind: 'todo'; todos: Todo[] }
    | { kind: 'matches'; matches: Match[]; total: number }
    | { kind: 'json'; text: string }
    | { kind: 'text'; text: string }
    | { kind: 'nothing' }
  error: string
}

type Fields = Readonly<Record<string, unknown>>

/** `colored`: the output with color sequences, which replaces the plain one. */
export const parseResult = (content: string, colored: string | null = null): ToolResult => {
  const result = parsePlain(content)
  const { body } = result
  return colored !== null && body.kind === 'output'
    ? { ...result, body: { kind: 'output', text: colored } }
    : result
}

const parsePlain = (content: string): ToolResult => {
  const trimmed = content.trim()
  if (!trimmed.startsWith('{')) return plain(trimmed)
  let fields: Fields
  try {
    fields = JSON.parse(trimmed) as Fields
  } catch {
    // Truncated, as long outputs are: recover the main fields one by one.
    fields = parseTruncatedJson(trimmed)
    if (Object.keys(fields).length === 0) return plain(trimmed)
  }
  const exitCode = typeof fields.exit_code === 'number' ? fields.exit_code : null
  const error = typeof fields.error === 'string' ? fields.error.trim() : ''
  const failed = (exitCode !== null && exitCode !== 0) || fields.success === false || error !== ''
  const isInBackground = typeof fields.session_id === 'string' && typeof fields.pid === 'number'
  return { failed, isInBackground, exitCode, error, body: bodyOf(fields, error) }
}

const plain = (text: string): ToolResult => ({
  failed: /^(error|failed|traceback)\b/i.test(text),
  isInBackground: false,
  exitCode: null,
  error: '',
  body: text ? { kind: 'text', text } : { kind: 'nothing' },
})

const bodyOf = (fields: Fields, error: string): ToolResult['body'] => {
  if (typeof fields.diff === 'string' && fields.diff) {
    return { kind: 'diff', files: parseDiff(fields.diff) }
  }
  if (Array.isArray(fields.todos)) return { kind: 'todo', todos: fields.todos.flatMap(toTodo) }
  if (typeof fields.output === 'string') return { kind: 'output', text: fields.output }
  if (Array.isArray(fields.matches) || Array.isArray(fields.files)) {
    const matches = [fields.matches ?? fields.files].flat().flatMap(toMatch)
    const total = typeof fields.total_count === 'number' ? fields.total_count : matches.length
    return { kind: 'matches', matches, total }
  }
  if (typeof fields.content === 'string') return { kind: 'text', text: fields.content }
  const { error: _, success: __, ...rest } = fields
  if (Object.keys(rest).length === 0) return { kind: 'nothing' }
  return error && Object.keys(rest).length < 2
    ? { kind: 'nothing' }
    : { kind: 'json', text: JSON.stringify(rest, null, 2) }
}

const states = new Set(['pending', 'in_progress', 'completed', 'cancelled'])

export const toTodo = (value: unknown): Todo[] => {
  const { content, status } = (value ?? {}) as Fields
  if (typeof content !== 'string') return []
  return [{ content, status: (states.has(`${status}`) ? status : 'pending') as Todo['status'] }]
}

const toMatch = (value: unknown): Match[] => {
  if (typeof value === 'string') return [{ path: value, line: null, text: '' }]
  const { path, line, content } = (value ?? {}) as Fields
  if (typeof path !== 'string') return []
  return [{ path, line: typeof line === 'number' ? line : null, text: `${content ?? ''}`.trim() }]
}

/** Recovers string fields of truncated JSON; the last one may be incomplete. */
const parseTruncatedJson = (text: string): Record<string, unknown> => {
  const found: Record<string, unknown> = {}
  for (const key of ['output', 'diff', 'content', 'error']) {
    const start = new RegExp(`"${key}"\\s*:\\s*"`).exec(text)
    if (!start) continue
    const body = /^(?:[^"\\]|\\(?:u[0-9a-f]{4}|[^u]))*/i.exec(
      text.slice(start.index + start[0].length),
    )
    try {
      found[key] = JSON.parse(`"${body?.[0].replaceAll('\n', '\\n') ?? ''}"`)
    } catch {
      // Contains raw control characters, so it is not JSON; the caller shows the text.
    }
  }
  const code = /"exit_code"\s*:\s*(-?\d+)/.exec(text)
  if (code) found.exit_code = Number(code[1])
  return found
}

/** Whether a result looks like a failure, without parsing it; used to count failures. */
export const looksFailed = (content: string): boolean => {
  const head = content.slice(0, 80)
  const tail = content.slice(-400)
  return (
    /"exit_code"\s*:\s*-?[1-9]/.test(tail) ||
    /^\s*\{\s*"(?:success"\s*:\s*false|error"\s*:\s*"[^"])/.test(head) ||
    /^(error|failed|traceback)\b/i.test(head)
  )
}
