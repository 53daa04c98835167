/** Converts an agent's tool calls to calls of our tools, so that cards can render them and other models can continue from them. */
import { resolve, relative, isAbsolute } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { shortenCounting, shortenMiddle } from '../../base/shorten.ts'
import { asObject } from '../../base/json.ts'
import {
  type Block,
  type CallContent,
  type CallUpdate,
  type PlanEntry,
  PlanSteps,
} from './updates.ts'

/** The known state of a call. */
export type Call = {
  id: string
  title: string
  kind: string
  status: string
  /** The agent's name of the tool; '' if it doesn't send it. */
  name: string
  content: CallContent[]
  locations: { path: string; line?: number | null | undefined }[]
  rawInput: unknown
  rawOutput: unknown
  /** Output of a command that the agent runs itself, if it sends it; the newest part. */
  output: string
  /** How that command ended; null while it runs or if the agent doesn't send it. */
  exit: { code: number | null; signal: string | null } | null
}

const MAX_OUTPUT_CHARS = 1024 * 1024

/** Merges an update into a call: only the fields it contains are replaced. */
export const mergeCall = (call: Call | undefined, update: CallUpdate): Call => ({
  id: update.toolCallId,
  title: update.title ?? call?.title ?? '',
  // A request for permission may say less of the call than what came before: OpenCode asks for a directory as `other`.
  kind: (update.kind === 'other' ? call?.kind : update.kind) ?? call?.kind ?? 'other',
  status: update.status ?? call?.status ?? 'pending',
  name: update.name || toolNameIn(update) || call?.name || '',
  content: update.content ?? call?.content ?? [],
  locations: update.locations ?? call?.locations ?? [],
  rawInput: update.rawInput ?? call?.rawInput,
  rawOutput: update.rawOutput ?? call?.rawOutput,
  output: ((call?.output ?? '') + outputIn(update)).slice(-MAX_OUTPUT_CHARS),
  exit: exitIn(update) ?? call?.exit ?? null,
})

const toolNameIn = ({ _meta }: CallUpdate): string =>
  _meta?.claudeCode?.toolName || _meta?.toolName || ''

/** What an update says about the call in words. */
export const explanationIn = ({ content }: CallUpdate): string =>
  (content ?? [])
    .flatMap(part => (part.type === 'content' ? [blockText(part.content).trim()] : []))
    .filter(words => words !== '')
    .join('\n\n')

/** Command output that an update adds. */
export const outputIn = ({ _meta }: CallUpdate): string =>
  (_meta?.terminal_output?.data ?? '') + (_meta?.terminal_output_delta?.data ?? '')

const exitIn = ({ _meta }: CallUpdate): Call['exit'] => {
  const exit = _meta?.terminal_exit
  return exit ? { code: exit.exit_code ?? null, signal: exit.signal ?? null } : null
}

export const isFinished = ({ status }: Call): boolean =>
  status === 'completed' || status === 'failed'

/** Whether its arguments are final. */
export const isSettled = (call: Call): boolean => isFinished(call) || call.status === 'in_progress'

export const firstText = (...values: unknown[]): string => {
  for (const value of values) {
    if (typeof value === 'string' && value.trim() !== '') return value
    if (Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'string'))
      return value.join(' ')
  }
  return ''
}

/** Titles that name the tool instead of the command. */
const TOOL_TITLES =
  /^(?:bash|zsh|sh|shell|terminal|console|powershell|exec|execute|run|command|(?:run|execute)[ _](?:a )?(?:shell[ _])?command|run_?terminal_?cmd|exec_command|shell_command|execute_command)$/i

/** The command line of the call; Gemini CLI sends it as the title only. '' if the agent doesn't say what it runs. */
export const commandOf = ({ rawInput, kind, title, name }: Omit<Call, 'id'>): string => {
  const raw = asObject(rawInput)
  const command = firstText(raw.command, raw.cmd, raw.script)
  if (Array.isArray(raw.args) && typeof raw.command === 'string')
    return [command, ...raw.args.map(String)].join(' ')
  if (command !== '' || kind !== 'execute') return command
  const titled = title.trim().replace(/^`([^`]+)`$/, '$1')
  return TOOL_TITLES.test(titled) || titled === name ? '' : titled
}

/** Absolute paths of its files. */
export const pathsOf = (call: Call, workspace: string): string[] => {
  const raw = asObject(call.rawInput)
  const paths = [
    ...call.content.flatMap(part => (part.type === 'diff' ? [part.path] : [])),
    ...call.locations.map(({ path }) => path),
    firstText(raw.path, raw.file_path, raw.filePath, raw.filepath, raw.abs_path, raw.absolute_path),
  ]
  return [...new Set(paths.filter(path => path !== '').map(path => resolve(workspace, path)))]
}

/** The path to show: relative inside the workspace. */
export const shownPath = (path: string, workspace: string): string => {
  const way = relative(workspace, path)
  return way === '' || way.startsWith('..') || isAbsolute(way) ? path : way
}

/** Gemini CLI begins the id of a call with its tool: `write_file__…`, `replace-1764…`. */
const NAMING_ID = /^([a-z][a-z0-9]*(?:_[a-z0-9]+)*)(?:__|-\d{6,})/i
const PLAIN_IDS = new Set(['call', 'tool', 'toolu', 'func', 'function', 'exec', 'item', 'msg'])

const nameInId = (id: string): string => {
  const [, name = ''] = NAMING_ID.exec(id) ?? []
  return PLAIN_IDS.has(name.toLowerCase()) ? '' : name
}

/** A title in words says what the call is about, not which tool it is. */
const IDENTIFIER = /^[a-z][\w.:-]*$/i

const plainName = ({ id, name, title, kind, rawInput }: Call): string => {
  const ownName = name || firstText(asObject(rawInput).tool) || nameInId(id)
  const answer = ownName || (IDENTIFIER.test(title) ? title : '') || (kind === 'other' ? '' : kind)
  return (
    answer
      .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, 48) || 'tool'
  )
}

const MAX_PREVIEW = 200

/** The corresponding tool of ours, and its arguments. */
export const describe = (
  call: Call,
  workspace: string,
): { name: string; args: Record<string, unknown>; preview: string } => {
  const raw = asObject(call.rawInput)
  const [path = ''] = pathsOf(call, workspace).map(one => shownPath(one, workspace))
  const title = call.title || call.name || call.kind
  const as = (name: string, args: Record<string, unknown>, preview = title) => ({
    name,
    args: Object.fromEntries(Object.entries(args).filter(([, value]) => value !== '')),
    preview: shortenCounting(preview, MAX_PREVIEW),
  })
  const steps = stepsOf(call)
  if (steps) return { name: 'todo', ...planCall(steps) }
  switch (call.kind) {
    case 'execute': {
      const command = commandOf(call) || title
      return as('terminal', { command, workdir: firstText(raw.cwd, raw.workdir) }, command)
    }
    case 'read':
      return path === '' ? as(plainName(call), raw) : as('read_file', { path }, path)
    case 'edit':
      return path === ''
        ? as(plainName(call), raw)
        : as(firstText(raw.content) === '' ? 'patch' : 'write_file', { path }, path)
    case 'search':
      return as(
        'search_files',
        {
          pattern: firstText(raw.pattern, raw.query, raw.regex, raw.glob) || title,
          path: firstText(raw.path),
        },
        firstText(raw.pattern, raw.query, raw.regex, raw.glob) || title,
      )
    case 'fetch': {
      const address = firstText(raw.url, raw.uri)
      return address === ''
        ? as('web_search', { query: firstText(raw.query) || title })
        : as('web_extract', { urls: [address] }, address)
    }
    default: {
      // The name is shown beside it.
      const preview = [call.kind, call.name].includes(call.title) ? '' : call.title
      return as(plainName(call), Object.keys(raw).length > 0 ? raw : { title: preview }, preview)
    }
  }
}

const MAX_CHARS = 100_000

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

const rawText = (rawOutput: unknown): string => {
  if (typeof rawOutput === 'string') return rawOutput
  const raw = asObject(rawOutput)
  const answer = firstText(raw.output, raw.stdout, raw.content, raw.text, raw.result, raw.error)
  return answer || (Object.keys(raw).length > 0 ? JSON.stringify(rawOutput) : '')
}

const exitCodeOf = (rawOutput: unknown): number | null => {
  const raw = asObject(rawOutput)
  const code = [raw.exit_code, raw.exitCode, raw.exit, asObject(raw.metadata).exit].find(
    Number.isInteger,
  )
  return typeof code === 'number' ? code : null
}

/** Some agents send the exit code only as text. */
const EXIT_IN_WORDS = /^Exit code:? (\d{1,3})\n?/i

type Result = { content: string; isError: boolean }

const commandResult = (call: Call, answer: string, terminal: TerminalOutput | null): Result => {
  const words = answer.replace(FENCE, '$1')
  const inWords = EXIT_IN_WORDS.exec(words)
  const code =
    terminal?.exitCode ??
    call.exit?.code ??
    exitCodeOf(call.rawOutput) ??
    (inWords ? Number(inWords[1]) : null)
  const signal = call.exit?.signal ?? null
  const isFailed = call.status === 'failed'
  // An unknown exit code is not made up.
  const error =
    code === null && signal !== null
      ? `It was ended by ${signal}.`
      : code === null && isFailed
        ? 'It failed; the agent did not say how it ended.'
        : null
  const output = shortenMiddle(
    terminal?.output ||
      stripVTControlCharacters(call.output) ||
      words.slice(inWords?.[0].length ?? 0),
    MAX_CHARS,
  )
  return {
    isError: isFailed || (code !== null && code !== 0) || signal !== null,
    content: JSON.stringify({ output, exit_code: code, error }),
  }
}

export type TerminalOutput = { output: string; exitCode: number | null }

/**
 * The result for our transcript. `diff` is the change, if known; `terminal` is the output of the call's terminals, if
 * they are ours.
 */
export const resultOf = (call: Call, diff: string, terminal: TerminalOutput | null): Result => {
  const isError = call.status === 'failed'
  const answer = call.content
    .flatMap(part => (part.type === 'content' ? [blockText(part.content)] : []))
    .join('\n')
  const words = shortenMiddle(answer || rawText(call.rawOutput), MAX_CHARS)
  const failed = isError ? { error: words || 'It failed; the agent did not say why.' } : {}
  const steps = isError ? null : stepsOf(call)
  if (steps) return { isError, content: planCall(steps).content }
  if (diff !== '' && call.kind !== 'execute')
    return { isError, content: JSON.stringify({ success: !isError, diff, ...failed }) }
  if (call.kind === 'execute' || terminal)
    return commandResult(call, answer || rawText(call.rawOutput), terminal)
  return { isError, content: JSON.stringify(isError ? failed : { content: words }) }
}

/** Agents often wrap command output in a code fence. */
const FENCE = /^```[a-z]*\n([\s\S]*?)\n?```\s*$/

/** The steps of a call that writes a list of them; null for any other call. */
const stepsOf = ({ name, title, rawInput }: Call): PlanEntry[] | null => {
  if (!/to_?dos?|update_plan/i.test(`${name} ${title}`)) return null
  const { todos, plan } = asObject(rawInput)
  const steps = PlanSteps.parse(todos ?? plan)
  return steps.length > 0 ? steps : null
}

/** A plan as a call of our `todo` tool, with its result. */
export const planCall = (entries: readonly PlanEntry[]) => {
  const todos = entries.map(({ content, status }, at) => ({ id: String(at + 1), content, status }))
  const count = (status: PlanEntry['status']) => todos.filter(todo => todo.status === status).length
  const summary = {
    total: todos.length,
    pending: count('pending'),
    in_progress: count('in_progress'),
    completed: count('completed'),
    cancelled: count('cancelled'),
  }
  return {
    args: { todos },
    preview: `${summary.completed} of ${summary.total} done`,
    content: JSON.stringify({ todos, summary }),
  }
}
