/** An agent's tool calls in the words of our own tools, so that cards draw them and another model can read on from them. */
import { createTwoFilesPatch } from 'diff'
import { resolve, relative, isAbsolute } from 'node:path'
import type { Block, CallContent, CallUpdate, PlanEntry } from './updates.ts'

/** A call as far as it is known. */
export type Call = {
  id: string
  title: string
  kind: string
  status: string
  name: string
  content: CallContent[]
  locations: { path: string; line?: number | null | undefined }[]
  rawInput: unknown
  rawOutput: unknown
}

type Bag = Record<string, unknown>
const bag = (value: unknown): Bag =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Bag) : {}

/** A later word about a call replaces what it names and leaves the rest. */
export const merge = (call: Call | undefined, update: CallUpdate): Call => ({
  id: update.toolCallId,
  title: update.title ?? call?.title ?? '',
  kind: update.kind ?? call?.kind ?? 'other',
  status: update.status ?? call?.status ?? 'pending',
  name: update.name ?? call?.name ?? '',
  content: update.content ?? call?.content ?? [],
  locations: update.locations ?? call?.locations ?? [],
  rawInput: update.rawInput ?? call?.rawInput,
  rawOutput: update.rawOutput ?? call?.rawOutput,
})

export const isOver = ({ status }: Call): boolean => status === 'completed' || status === 'failed'

/** Its arguments will not change any more. */
export const isSettled = (call: Call): boolean => isOver(call) || call.status === 'in_progress'

const text = (...values: unknown[]): string => {
  for (const value of values) {
    if (typeof value === 'string' && value.trim() !== '') return value
    if (Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'string'))
      return value.join(' ')
  }
  return ''
}

/** The command line of an execution where the agent says it; '' where it does not. */
export const commandOf = ({ rawInput }: Pick<Call, 'rawInput'>): string => {
  const raw = bag(rawInput)
  const command = text(raw.command, raw.cmd, raw.script)
  return Array.isArray(raw.args) && typeof raw.command === 'string'
    ? [command, ...raw.args.map(String)].join(' ')
    : command
}

/** Absolute paths of the files it is about. */
export const pathsOf = (call: Call, workspace: string): string[] => {
  const raw = bag(call.rawInput)
  const named = [
    ...call.content.flatMap(part => (part.type === 'diff' ? [part.path] : [])),
    ...call.locations.map(({ path }) => path),
    text(raw.path, raw.file_path, raw.filePath, raw.abs_path),
  ]
  return [...new Set(named.filter(path => path !== '').map(path => resolve(workspace, path)))]
}

/** As a person names it: relative inside the workspace. */
export const shownPath = (path: string, workspace: string): string => {
  const way = relative(workspace, path)
  return way === '' || way.startsWith('..') || isAbsolute(way) ? path : way
}

const plainName = (call: Call): string => {
  const said = call.name || text(bag(call.rawInput).tool) || call.title || call.kind
  return (
    said
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, 48) || 'tool'
  )
}

/** Which of our tools it is like, and the arguments that one would have had. */
export const describe = (
  call: Call,
  workspace: string,
): { name: string; args: Record<string, unknown>; preview: string } => {
  const raw = bag(call.rawInput)
  const [path = ''] = pathsOf(call, workspace).map(one => shownPath(one, workspace))
  const title = call.title || call.name || call.kind
  const as = (name: string, args: Record<string, unknown>, preview = title) => ({
    name,
    args: Object.fromEntries(Object.entries(args).filter(([, value]) => value !== '')),
    preview: preview.slice(0, 200),
  })
  switch (call.kind) {
    case 'execute': {
      const command = commandOf(call) || title.replace(/^`([^`]+)`$/, '$1')
      return as('terminal', { command, workdir: text(raw.cwd, raw.workdir) }, command)
    }
    case 'read':
      return path === '' ? as(plainName(call), raw) : as('read_file', { path }, path)
    case 'edit':
      return path === ''
        ? as(plainName(call), raw)
        : as(text(raw.content) === '' ? 'patch' : 'write_file', { path }, path)
    case 'search':
      return as(
        'search_files',
        {
          pattern: text(raw.pattern, raw.query, raw.regex, raw.glob) || title,
          path: text(raw.path),
        },
        text(raw.pattern, raw.query, raw.regex, raw.glob) || title,
      )
    case 'fetch': {
      const address = text(raw.url, raw.uri)
      return address === ''
        ? as('web_search', { query: text(raw.query) || title })
        : as('web_extract', { urls: [address] }, address)
    }
    default:
      return as(plainName(call), Object.keys(raw).length > 0 ? raw : { title })
  }
}

const MAX_CHARS = 100_000
const MAX_DIFF_CHARS = 50_000
const DIFF_MS = 500

export const blockText = (block: Block): string => {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
      return `[image, ${block.mimeType}]`
    case 'audio':
      return `[audio, ${block.mimeType}]`
    case 'resource_link':
      return `[${block.name ?? block.uri}](${block.uri})`
    case 'resource':
      return block.resource.text ?? `[${block.resource.uri}]`
  }
}

const cut = (value: string, max = MAX_CHARS): string =>
  value.length > max
    ? `${value.slice(0, max * 0.4)}\n[… ${value.length - max} characters left out …]\n${value.slice(-max * 0.6)}`
    : value

const diffOf = (part: Extract<CallContent, { type: 'diff' }>, workspace: string): string => {
  const name = shownPath(resolve(workspace, part.path), workspace)
  const options = { context: 3, timeout: DIFF_MS }
  const made = createTwoFilesPatch(
    part.oldText ? name : '/dev/null',
    name,
    part.oldText ?? '',
    part.newText,
    undefined,
    undefined,
    options,
  )
  // The heading of a mail patch, which is none.
  return (
    made?.replace(/^Index: .*\n=+\n/, '') ??
    `--- ${name}\n+++ ${name}\n[too large to be compared]\n`
  )
}

const rawText = (rawOutput: unknown): string => {
  if (typeof rawOutput === 'string') return rawOutput
  const raw = bag(rawOutput)
  const said = text(raw.output, raw.stdout, raw.content, raw.text, raw.result, raw.error)
  return said || (Object.keys(raw).length > 0 ? JSON.stringify(rawOutput) : '')
}

const exitCodeOf = (rawOutput: unknown): number | null => {
  const raw = bag(rawOutput)
  const found = [raw.exit_code, raw.exitCode, raw.exit, bag(raw.metadata).exit].find(
    Number.isInteger,
  )
  return typeof found === 'number' ? found : null
}

/** What our transcript keeps as the result. `terminal` is what its terminals printed, when they are ours. */
export const resultOf = (
  call: Call,
  workspace: string,
  terminal: { output: string; exitCode: number | null } | null,
): { content: string; isError: boolean } => {
  const isError = call.status === 'failed'
  const said = call.content
    .flatMap(part => (part.type === 'content' ? [blockText(part.content)] : []))
    .join('\n')
  const diffs = call.content.flatMap(part =>
    part.type === 'diff' ? [diffOf(part, workspace)] : [],
  )
  const words = cut(said || rawText(call.rawOutput))
  const failed = isError ? { error: words || 'It failed; the agent did not say why.' } : {}
  if (diffs.length > 0)
    return {
      isError,
      content: JSON.stringify({
        success: !isError,
        diff: cut(diffs.join(''), MAX_DIFF_CHARS),
        ...failed,
      }),
    }
  if (call.kind === 'execute' || terminal) {
    const exit = terminal?.exitCode ?? exitCodeOf(call.rawOutput) ?? (isError ? 1 : 0)
    const output = terminal?.output ? cut(terminal.output) : words.replace(FENCE, '$1')
    return {
      isError: isError || exit !== 0,
      content: JSON.stringify({ output, exit_code: exit, error: null }),
    }
  }
  return { isError, content: JSON.stringify(isError ? failed : { content: words }) }
}

/** Agents like to wrap what a command printed for a page. */
const FENCE = /^```[a-z]*\n([\s\S]*?)\n?```\s*$/

/** A plan as our list of steps, and what that tool would have answered. */
export const planCall = (entries: readonly PlanEntry[]) => {
  const todos = entries.map(({ content, status }, at) => ({ id: String(at + 1), content, status }))
  const count = (status: PlanEntry['status']) => todos.filter(todo => todo.status === status).length
  const summary = {
    total: todos.length,
    pending: count('pending'),
    in_progress: count('in_progress'),
    completed: count('completed'),
    cancelled: 0,
  }
  return {
    args: { todos },
    preview: `${summary.completed} of ${summary.total} done`,
    content: JSON.stringify({ todos, summary }),
  }
}
