/** What an opened tool card shows of a result: sentences, and a body by its kind. No result is shown as raw JSON. */
import { parseDiff } from '../../parts/diff.ts'
import type { FileDiff } from '../../parts/diff.ts'
import { toolInfo } from '../../../lib/base/tools.ts'
import { t } from './strings.ts'
import { errorIn, type Fields, parseFields } from './outcome.ts'
import { type Todo, toTodo } from './todo.ts'
import { inWords, list, object, outputBody, text, toMatch } from './tool-words.ts'

export type Match = { path: string; line: number | null; text: string }
/** One entry of a list: a page of the web, a chat, a skill, a task. */
export type Item = {
  title: string
  /** An address, opened in a new tab. */
  url: string
  /** Dim, behind the title. */
  note: string
  text: string
}
/** A field without words of its own. */
export type Field = { label: string; value: unknown }

export type Body =
  | { kind: 'output'; text: string }
  /** Lines of a file with their numbers; null for a line that says what is left out. */
  | { kind: 'code'; lines: { number: number | null; text: string }[] }
  | { kind: 'diff'; files: FileDiff[] }
  | { kind: 'todo'; todos: Todo[] }
  | { kind: 'matches'; matches: Match[] }
  | { kind: 'items'; items: Item[] }
  | { kind: 'fields'; fields: Field[] }
  | { kind: 'text'; text: string }
  | { kind: 'nothing' }

export type ParsedResult = {
  /** Where the service stored what is left out; null: nothing is. */
  storedAt: string | null
  error: string
  /** Sentences about the result. */
  notes: string[]
  body: Body
}

/** `colored`: the output with color sequences, which replaces the plain one. */
export const parseResult = (
  name: string,
  content: string,
  colored: string | null = null,
): ParsedResult => {
  const result = parseContent(name, content.trim())
  return colored !== null && result.body.kind === 'output'
    ? { ...result, body: { kind: 'output', text: colored } }
    : result
}

/** Written by `truncateResult` and `CommandOutput` of the engine. */
const STORED = /^\[This result has \d+ characters\. All of it is in (\/.+?): read it[^\]]*\]\n/
const STORED_OUTPUT = /\[… \d+ characters left out; all of it is in (\/.+?) …\]/

const parseContent = (name: string, whole: string): ParsedResult => {
  const content = whole.replace(STORED, '')
  const storedAt = STORED.exec(whole)?.[1] ?? STORED_OUTPUT.exec(content)?.[1] ?? null
  const fields = parseFields(content)
  if (!fields) return { storedAt, error: '', notes: [], body: plainBody(content) }
  const error = errorIn(fields)
  const words = toolInfo(name) && inWords(fields)
  // A failed call lacks the fields of a successful one, which does not mean that it found nothing.
  const body: Body =
    error && words && !hasContent(words.body)
      ? { kind: 'nothing' }
      : (words?.body ?? bodyByShape(fields))
  const general = [
    text(fields.warning),
    text(fields.note),
    ...list(fields.warnings).map(text),
    text(fields.warnings),
    fields._instructions === undefined ? '' : t('note.instructions'),
  ]
  const notes = [...(words?.notes ?? []), ...(words || body.kind !== 'fields' ? general : [])]
  return { storedAt, error, notes: [...new Set(notes.filter(Boolean))], body }
}

const hasContent = (body: Body): boolean =>
  body.kind === 'output' ||
  (body.kind === 'items' && body.items.length > 0) ||
  (body.kind === 'matches' && body.matches.length > 0)

/** A JSON list, as some MCP servers return, or text. */
const plainBody = (content: string): Body => {
  if (!content) return { kind: 'nothing' }
  if (content.startsWith('[')) {
    try {
      const value: unknown = JSON.parse(content)
      if (Array.isArray(value)) return { kind: 'fields', fields: entriesOf(value) }
    } catch {
      // Text that begins like a list, such as a label of an image.
    }
  }
  return { kind: 'text', text: content }
}

/** For tools of MCP servers, of external agents, and of other programs. */
const bodyByShape = (fields: Fields): Body => {
  if (typeof fields.diff === 'string' && fields.diff)
    return { kind: 'diff', files: parseDiff(fields.diff) }
  if (Array.isArray(fields.todos)) return { kind: 'todo', todos: fields.todos.flatMap(toTodo) }
  if (typeof fields.output === 'string') return outputBody(fields)
  if (Array.isArray(fields.matches)) {
    const matches = fields.matches.flatMap(toMatch)
    if (matches.length === fields.matches.length) return { kind: 'matches', matches }
  }
  const own = entriesOf(fields).filter(({ label }) => !IMPLIED.has(label))
  const [only] = own
  if (!only) return { kind: 'nothing' }
  return own.length === 1 && typeof only.value === 'string'
    ? { kind: 'text', text: only.value }
    : { kind: 'fields', fields: own.map(({ label, value }) => ({ label: toWords(label), value })) }
}

/** Said by the line of the call, above the body, or below the card. */
const IMPLIED = new Set([
  'error',
  'success',
  'status',
  '_hooks',
  '_instructions',
  'diagnostics',
  'diagnostics_note',
])

const entriesOf = (value: unknown): Field[] =>
  Array.isArray(value)
    ? value.map((one, at) => ({ label: `${at + 1}`, value: one }))
    : Object.entries(object(value)).map(([label, one]) => ({ label, value: one }))

/** `dirs_created` and `dirsCreated` become “Dirs created”. */
const toWords = (key: string): string => {
  const plain = key
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim()
    .toLowerCase()
  return plain ? plain[0]!.toUpperCase() + plain.slice(1) : key
}
