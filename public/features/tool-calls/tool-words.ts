/** Results of each tool in words: sentences, and lists instead of fields. */
import { isObject } from '../../../lib/base/json.ts'
import { formatBytes } from '../../parts/file-kind.ts'
import type { Body, Item, Match } from './result-body.ts'
import { t } from './strings.ts'
import type { Fields } from './outcome.ts'
import { toTodo } from './todo.ts'

export const text = (value: unknown): string =>
  typeof value === 'string' ? value.trim() : typeof value === 'number' ? `${value}` : ''
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
export const object = (value: unknown): Fields => (isObject(value) ? value : {})
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const item = (title: unknown, more: Partial<Item> = {}): Item => ({
  title: text(title),
  url: '',
  note: '',
  text: '',
  ...more,
})
const join = (...parts: unknown[]): string => parts.map(text).filter(Boolean).join(' · ')

type Said = { notes?: string[]; body?: Body }

/** One entry for each tool whose result has words of its own. Other results are shown by their shape. */
export const TOOLS: Readonly<Record<string, (fields: Fields) => Said>> = {
  terminal: fields => ({
    notes: [
      fields.pid !== undefined && text(fields.session_id)
        ? t('note.background', { id: text(fields.session_id) })
        : '',
      text(fields.cwd) ? t('note.cwd', { cwd: text(fields.cwd) }) : '',
    ],
    ...(fields.pid === undefined && { body: outputBody(fields) }),
    ...(text(fields.output).startsWith('Started in the background.') && {
      body: { kind: 'nothing' },
    }),
  }),
  execute_code: fields => ({
    notes: [
      number(fields.tool_calls_made)
        ? t('note.calls', { count: number(fields.tool_calls_made)! })
        : '',
    ],
    body: outputBody(fields),
  }),
  process: fields =>
    Array.isArray(fields.processes)
      ? {
          notes: fields.processes.length === 0 ? [t('note.processes.none')] : [],
          body: {
            kind: 'items',
            items: fields.processes.map(object).map(one =>
              item(one.command, {
                note: join(one.session_id, processState(one)),
                text: text(one.output_preview),
              }),
            ),
          },
        }
      : {
          notes: [
            processState(fields),
            fields.timed_out === true ? t('note.process.wait') : '',
            number(fields.characters_written) === null
              ? ''
              : t('note.process.sent', { count: number(fields.characters_written)! }),
          ],
          body:
            'output' in fields || 'output_preview' in fields
              ? { kind: 'output', text: raw(fields.output ?? fields.output_preview) }
              : { kind: 'nothing' },
        },
  read_file: fields =>
    typeof fields.content === 'string'
      ? {
          notes: [
            number(fields.total_lines) === null
              ? ''
              : t('note.read', {
                  count: number(fields.total_lines)!,
                  size: formatBytes(number(fields.file_size) ?? 0),
                }),
            fields.unsaved_changes === true ? t('note.unsaved') : '',
          ],
          body: { kind: 'code', lines: numberedLines(fields.content) },
        }
      : {},
  write_file: fields => ({
    notes: [
      number(fields.bytes_written) === null
        ? ''
        : t('note.wrote', { size: formatBytes(number(fields.bytes_written)!) }),
      folders(fields.dirs_created),
      text(fields.kept),
    ],
    body: { kind: 'nothing' },
  }),
  patch: fields => ({
    notes: [
      names('note.created', fields.files_created),
      names('note.deleted', fields.files_deleted),
    ],
    ...(typeof fields.diff !== 'string' && { body: { kind: 'nothing' } }),
  }),
  search_files: fields => ({
    notes: [
      fields.total_is_lower_bound === true ? t('note.search.partial') : '',
      fields.truncated === true ? t('note.search.more') : '',
    ],
    body: {
      kind: 'matches',
      matches: isObject(fields.counts)
        ? Object.entries(fields.counts).map(([path, count]) => ({
            path,
            line: null,
            text: t('note.search.count', { count: number(count) ?? 0 }),
          }))
        : [...list(fields.matches), ...list(fields.files)].flatMap(toMatch),
    },
  }),
  todo: fields => ({
    notes: list(fields.todos).length === 0 ? [t('note.todo.none')] : [],
    body: { kind: 'todo', todos: list(fields.todos).flatMap(toTodo) },
  }),
  clarify: fields => ({ body: { kind: 'text', text: text(fields.user_response) } }),
  exit_plan_mode: fields => ({
    notes: [t(fields.approved === true ? 'note.plan.approved' : 'note.plan.kept')],
    body: text(fields.feedback)
      ? { kind: 'text', text: text(fields.feedback) }
      : { kind: 'nothing' },
  }),
  delegate_task: fields => ({
    body: {
      kind: 'items',
      items: list(fields.results)
        .map(object)
        .map(one => item(one.goal, { note: text(one.status), text: join(one.error, one.summary) })),
    },
  }),
  web_search: fields => ({
    body: itemsBody(list(object(fields.data).web).map(object).map(toPage)),
  }),
  web_extract: fields => ({
    body: itemsBody(
      list(fields.results)
        .map(object)
        .map(one => ({ ...toPage(one), text: text(one.error) || text(one.content) })),
    ),
  }),
  session_search: fields => ({
    body: itemsBody(
      list(fields.results)
        .map(object)
        .map(one =>
          item(text(one.title) || t('note.untitled'), {
            note: text(one.source),
            text:
              text(object(list(one.matches)[0]).text) ||
              text(one.preview) ||
              text(object(list(one.messages)[0]).text),
          }),
        ),
    ),
  }),
  memory: fields => ({
    notes: [
      text(fields.message),
      text(fields.usage) ? t('note.memory', { usage: text(fields.usage) }) : '',
    ],
    body: itemsBody(
      list(fields.entries).map(entry => item('', { text: text(entry) })),
      true,
    ),
  }),
  skills_list: fields => ({
    notes: [text(fields.message)],
    body: itemsBody(
      list(fields.skills)
        .map(object)
        .map(one => item(one.name, { note: text(one.category), text: text(one.description) })),
      true,
    ),
  }),
  skill_view: fields => ({
    notes: [text(fields.message)],
    body: text(fields.content) ? { kind: 'text', text: text(fields.content) } : { kind: 'nothing' },
  }),
  skill_manage: fields => ({
    notes: [text(fields.message)],
    body: { kind: 'nothing' },
  }),
  cronjob: fields => ({
    notes: [text(fields.message)],
    body: itemsBody(
      (fields.job ? [fields.job] : list(fields.jobs)).map(object).map(one =>
        item(text(one.name) || one.job_id, {
          note: join(text(one.schedule_in_words) || one.schedule, one.state),
          text: text(one.prompt),
        }),
      ),
      Boolean(fields.message) || list(fields.jobs).length > 0,
    ),
  }),
  vision_analyze: fields => ({ body: { kind: 'text', text: text(fields.analysis) } }),
  tool_search: fields => ({
    notes: [
      list(fields.also_matching).length > 0 ? names('note.tools.more', fields.also_matching) : '',
    ],
    body: itemsBody(
      list(fields.tools)
        .map(object)
        .map(one => item(one.name, { text: text(one.description) })),
    ),
  }),
}

const raw = (value: unknown): string => (typeof value === 'string' ? value : '')

export const outputBody = (fields: Fields): Body =>
  typeof fields.output === 'string'
    ? // What refused the command is said above.
      fields.status === 'blocked'
      ? { kind: 'nothing' }
      : { kind: 'output', text: fields.output }
    : { kind: 'nothing' }

const itemsBody = (items: Item[], isOptional = false): Body =>
  items.length > 0
    ? { kind: 'items', items }
    : isOptional
      ? { kind: 'nothing' }
      : { kind: 'text', text: t('note.nothing') }

const toPage = (one: Fields): Item => {
  const url = text(one.url ?? one.link)
  return item(text(one.title) || url, {
    url,
    note: URL.parse(url)?.host.replace(/^www\./, '') ?? '',
    text: text(one.description ?? one.snippet),
  })
}

const processState = (fields: Fields): string =>
  text(fields.status) === 'running'
    ? t('note.process.running')
    : number(fields.exit_code) === null
      ? text(fields.status) && t('note.process.ended')
      : t('note.process.exited', { code: `${number(fields.exit_code)}` })

const folders = (value: unknown): string =>
  Array.isArray(value) ? names('note.folders', value) : value === true ? t('note.folder') : ''

type ListKey = 'note.folders' | 'note.created' | 'note.deleted' | 'note.tools.more'
const names = (key: ListKey, value: unknown): string => {
  const all = list(value).map(text).filter(Boolean)
  return all.length > 0 ? t(key, { names: all }) : ''
}

/** Lines of `read_file`, `  12|text`; other lines, such as a note about what is left out, have no number. */
const numberedLines = (content: string): { number: number | null; text: string }[] =>
  content.split('\n').map(line => {
    const [, at, rest = ''] = /^ *(\d+)\|(.*)$/s.exec(line) ?? []
    return at === undefined ? { number: null, text: line } : { number: Number(at), text: rest }
  })

export const toMatch = (value: unknown): Match[] => {
  if (typeof value === 'string') return [{ path: value, line: null, text: '' }]
  const { path, line, content } = object(value)
  if (typeof path !== 'string') return []
  return [{ path, line: number(line), text: text(content) }]
}
