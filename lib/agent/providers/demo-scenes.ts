/** Script of the demo model: its next message, given the user's intent and the tool results so far. */
import { codeBlock } from '../../base/code-block.ts'
import { asString, asArray } from '../../base/json.ts'
import type { Intent } from './demo-intents.ts'
import { AFTER_THOUGHT, HELP, longText, MARKDOWN, THOUGHTS } from './demo-texts.ts'

export type ToolUse = { name: string; args: Record<string, unknown> }

/** One message: reasoning, text and tool calls. */
export type Turn = { reasoning?: string; text?: string; uses?: ToolUse[] }

/** A tool result, parsed if it is JSON. */
export type ToolAnswer = { name: string; json: Record<string, unknown>; raw: string }

const use = (name: string, args: Record<string, unknown>): ToolUse => ({ name, args })
const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`

/** A code block with a fence longer than any in the text. */
const fenced = (body: string, max = 4_000): string => {
  const shown = body.length > max ? `${body.slice(0, max)}\n[…]` : body
  return codeBlock(shown.replace(/\n$/, ''))
}

const code = (name: string) => `\`${name.replaceAll('`', "'")}\``

/** The reply to a failed tool call; null when it succeeded. */
const failureReply = ({ json, raw }: ToolAnswer): string | null => {
  const error = asString(json.error)
  if (json.status === 'blocked') return `That did not run. ${error || 'It was blocked.'}`
  if (error !== '' && json.exit_code === undefined) return `That did not work: ${error}`
  return Object.keys(json).length === 0 ? `The tool answered:\n\n${fenced(raw)}` : null
}

/** `results`: tool results since the last user message. */
export const nextTurn = (intent: Intent, results: readonly ToolAnswer[]): Turn => {
  if (intent.kind === 'plan') return plan(intent.topic, results)
  const last = results.at(-1)
  if (!last) return start(intent)
  const failed = failureReply(last)
  return { text: failed ?? report(intent, last) }
}

const start = (intent: Exclude<Intent, { kind: 'plan' }>): Turn => {
  switch (intent.kind) {
    case 'list':
      return {
        text: 'Let me look.',
        uses: [
          use('search_files', { pattern: '*', target: 'files', path: intent.path, limit: 100 }),
        ],
      }
    case 'read':
      return { uses: [use('read_file', { path: intent.path })] }
    case 'find':
      return {
        uses: [use('search_files', { pattern: literal(intent.text), path: '.', limit: 50 })],
      }
    case 'write':
      return { uses: [use('write_file', { path: intent.path, content: intent.content })] }
    case 'edit':
      return {
        uses: [
          use('patch', {
            mode: 'replace',
            path: intent.path,
            old_string: intent.old,
            new_string: intent.replacement,
          }),
        ],
      }
    case 'run':
      return { uses: [use('terminal', { command: intent.command })] }
    case 'ask':
      return {
        uses: [
          use('clarify', {
            question: 'Which of these would you like to see next?',
            choices: ['A table', 'A command', 'A plan', 'Nothing, thank you'],
          }),
        ],
      }
    case 'think':
      return { reasoning: THOUGHTS, text: AFTER_THOUGHT }
    case 'long':
      return { text: longText(intent.count) }
    case 'markdown':
      return { text: MARKDOWN }
    case 'help':
      return { text: HELP }
  }
}

const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const report = (intent: Exclude<Intent, { kind: 'plan' }>, { json, raw }: ToolAnswer): string => {
  switch (intent.kind) {
    case 'list':
      return reportFiles(intent.path, json)
    case 'read':
      return `${code(intent.path)} has ${plural(Number(json.total_lines), 'line')} and ${plural(Number(json.file_size), 'byte')}${json.truncated ? '; these are the first of them' : ''}:\n\n${fenced(asString(json.content).replace(/^ *\d+\|/gm, ''))}`
    case 'find':
      return reportMatches(intent.text, json)
    case 'write':
      return `I wrote ${plural(Number(json.bytes_written), 'byte')} to ${code(intent.path)}.${json.dirs_created ? ' Its directory is new.' : ''}`
    case 'edit':
      return `${code(intent.path)} is changed:\n\n\`\`\`diff\n${asString(json.diff).trimEnd()}\n\`\`\``
    case 'run':
      return reportCommand(json)
    case 'ask':
      return `You answered: “${asString(json.user_response)}”. A real model would now act on that; I only repeat it, because I am a script.`
    default:
      return `The tool answered:\n\n${fenced(raw)}`
  }
}

const reportFiles = (path: string, json: Record<string, unknown>): string => {
  const files = asArray(json.files).map(asString)
  const where = path === '.' ? 'The workspace' : code(path)
  if (files.length === 0) return `${where} holds no files that a search would show.`
  const more = json.truncated ? `\n\nThese are ${files.length} of ${json.total_count}.` : ''
  return `${where} holds ${plural(Number(json.total_count), 'file')}, the newest first:\n\n${files.map(name => `- ${code(name)}`).join('\n')}${more}`
}

const reportMatches = (wanted: string, json: Record<string, unknown>): string => {
  const matches = asArray(json.matches) as { path: string; line: number; content: string }[]
  if (matches.length === 0) return `I found ${code(wanted)} in no file.`
  const rows = matches.map(({ path, line, content }) => `${path}:${line}: ${content.trim()}`)
  return `I found ${code(wanted)} in ${plural(Number(json.total_count), 'line')}:\n\n${fenced(rows.join('\n'))}`
}

const reportCommand = (json: Record<string, unknown>): string => {
  const output = asString(json.output).trim()
  const printed = output === '' ? 'It printed nothing.' : `It printed:\n\n${fenced(output)}`
  const error = asString(json.error)
  if (error !== '') return `The command did not finish by itself. ${error}\n\n${printed}`
  if (json.exit_code === null) return `The command still runs in the background. ${printed}`
  return json.exit_code === 0
    ? `The command ended well (exit code 0). ${printed}`
    : `The command failed with exit code ${json.exit_code}. ${printed}`
}

const STEPS = ['Look at the workspace', 'Choose what to do', 'Report']

/** A plan with three real steps: to-do list, search, to-do list, summary. */
const plan = (topic: string, results: readonly ToolAnswer[]): Turn => {
  const todos = (done: number) =>
    STEPS.map((content, at) => ({
      id: String(at + 1),
      content,
      status: at < done ? 'completed' : at === done ? 'in_progress' : 'pending',
    }))
  const last = results.at(-1)
  const failed = last && failureReply(last)
  if (failed) return { text: failed }
  const about =
    topic === ''
      ? ''
      : ` I cannot plan “${topic}”, because I am a script; this plan is always the same.`
  if (results.length === 0)
    return {
      text: `I will keep a list of three steps.${about}`,
      uses: [use('todo', { todos: todos(0) })],
    }
  if (results.length === 1)
    return { uses: [use('search_files', { pattern: '*', target: 'files', path: '.', limit: 20 })] }
  if (results.length === 2) return { uses: [use('todo', { todos: todos(3), merge: true })] }
  const files = Number(results[1]?.json.total_count ?? 0)
  const done = Number((last?.json.summary as { completed?: unknown } | undefined)?.completed ?? 0)
  return {
    text: `The plan is done: ${done} of ${STEPS.length} steps. The workspace holds ${plural(files, 'file')} that a search would show.`,
  }
}
