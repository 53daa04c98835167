/** Results of our tools in words: sentences, and lists instead of fields. */
import { isObject } from '../../../lib/base/json.ts'
import { parseDiff } from '../../parts/diff.ts'
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

/** Lists of our tools, by the name of the field. */
const LISTS: Readonly<Record<string, (one: Fields) => Item>> = {
  processes: one =>
    item(one.command, {
      note: join(one.session_id, processState(one)),
      text: text(one.output_preview),
    }),
  results: one => {
    if ('goal' in one)
      return item(one.goal, { note: text(one.status), text: join(one.error, one.summary) })
    if ('url' in one) return { ...toPage(one), text: text(one.error) || text(one.content) }
    return item(text(one.title) || t('note.untitled'), {
      note: text(one.source),
      text:
        text(object(list(one.matches)[0]).text) ||
        text(one.preview) ||
        text(object(list(one.messages)[0]).text),
    })
  },
  web: one => toPage(one),
  entries: one => item('', { text: text(one.text) }),
  skills: one => item(one.name, { note: text(one.category), text: text(one.description) }),
  jobs: one =>
    item(text(one.name) || one.job_id, {
      note: join(text(one.schedule_in_words) || one.schedule, one.state),
      text: text(one.prompt),
    }),
  tools: one => item(one.name, { text: text(one.description) }),
}

/** The items of the list that a result has; undefined when it has none. */
const itemsIn = (fields: Fields): Item[] | undefined => {
  const all: Fields = {
    ...fields,
    ...object(fields.data),
    ...(isObject(fields.job) && { jobs: [fields.job] }),
  }
  const name = Object.keys(LISTS).find(each => Array.isArray(all[each]))
  const toItem = LISTS[name ?? '']
  return toItem && list(all[name ?? '']).map(one => toItem(isObject(one) ? one : { text: one }))
}

const bodyOf = (fields: Fields): Body => {
  const items = itemsIn(fields)
  if (items?.length) return { kind: 'items', items }
  if (items) return isSaid(fields) ? { kind: 'nothing' } : { kind: 'text', text: t('note.nothing') }
  if (typeof fields.output === 'string') return outputBody(fields)
  if (typeof fields.output_preview === 'string')
    return { kind: 'output', text: fields.output_preview }
  if (Array.isArray(fields.todos)) return { kind: 'todo', todos: fields.todos.flatMap(toTodo) }
  if (isObject(fields.counts) || Array.isArray(fields.matches) || Array.isArray(fields.files))
    return { kind: 'matches', matches: matchesIn(fields) }
  if (typeof fields.diff === 'string' && fields.diff)
    return { kind: 'diff', files: parseDiff(fields.diff) }
  const content = text(fields.content)
  if (/^ *\d+\|/.test(raw(fields.content)))
    return { kind: 'code', lines: numberedLines(raw(fields.content)) }
  const body =
    content || text(fields.user_response) || text(fields.analysis) || text(fields.feedback)
  return body ? { kind: 'text', text: body } : { kind: 'nothing' }
}

/** The sentence of the result says that there is nothing. */
const isSaid = ({ message, processes }: Fields): boolean =>
  text(message) !== '' || processes !== undefined

const matchesIn = ({ counts, matches, files }: Fields): Match[] =>
  isObject(counts)
    ? Object.entries(counts).map(([path, count]) => ({
        path,
        line: null,
        text: t('note.search.count', { count: number(count) ?? 0 }),
      }))
    : [...list(matches), ...list(files)].flatMap(toMatch)

/** Sentences for the fields that our tools have. */
const notesOf = (fields: Fields): string[] => {
  const { approved, processes, session_id: id } = fields
  const count = (key: string): number | null => number(fields[key])
  const isSearch = count('total_count') !== null
  return [
    fields.pid !== undefined && text(id) ? t('note.background', { id: text(id) }) : '',
    text(fields.cwd) && !text(id) ? t('note.cwd', { cwd: text(fields.cwd) }) : '',
    count('tool_calls_made') ? t('note.calls', { count: count('tool_calls_made')! }) : '',
    list(processes).length === 0 && processes !== undefined ? t('note.processes.none') : '',
    fields.pid === undefined && text(fields.status) && text(id) ? processState(fields) : '',
    fields.timed_out === true ? t('note.process.wait') : '',
    count('characters_written') === null
      ? ''
      : t('note.process.sent', { count: count('characters_written')! }),
    count('total_lines') === null || text(id)
      ? ''
      : t('note.read', {
          count: count('total_lines')!,
          size: formatBytes(count('file_size') ?? 0),
        }),
    fields.unsaved_changes === true ? t('note.unsaved') : '',
    count('bytes_written') === null
      ? ''
      : t('note.wrote', { size: formatBytes(count('bytes_written')!) }),
    folders(fields.dirs_created),
    text(fields.kept),
    names('note.created', fields.files_created),
    names('note.deleted', fields.files_deleted),
    fields.total_is_lower_bound === true ? t('note.search.partial') : '',
    isSearch && fields.truncated === true ? t('note.search.more') : '',
    Array.isArray(fields.todos) && fields.todos.length === 0 ? t('note.todo.none') : '',
    approved === undefined ? text(fields.message) : '',
    approved === undefined ? '' : t(approved === true ? 'note.plan.approved' : 'note.plan.kept'),
    text(fields.usage) ? t('note.memory', { usage: text(fields.usage) }) : '',
    names('note.tools.more', fields.also_matching),
  ]
}

/** The result of one of our tools. */
export const inWords = (fields: Fields): { notes: string[]; body: Body } => ({
  notes: notesOf(fields),
  body: bodyOf(fields),
})

const raw = (value: unknown): string => (typeof value === 'string' ? value : '')

export const outputBody = (fields: Fields): Body =>
  typeof fields.output === 'string'
    ? // What refused the command, or where it runs, is said above.
      fields.status === 'blocked' || fields.output.startsWith('Started in the background.')
      ? { kind: 'nothing' }
      : { kind: 'output', text: fields.output }
    : { kind: 'nothing' }

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
