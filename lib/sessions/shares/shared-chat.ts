/** What a link shows of a chat: an explicit choice from the transcript. Everything that is not named here stays private. */
import { asObject, asObjects, fieldsOf } from '../../base/json.ts'
import { ownToolName, toolInfo } from '../../base/tools.ts'
import type { Decision } from '../../schema/decision.ts'
import { type DecisionSentence, decisionSentence } from '../../schema/decision-words.ts'
import type { Message, ToolCall } from '../../schema/message.ts'
import type { ShareOptions } from '../../schema/share.ts'

export type SharedStep = {
  words: string
  /** With "Include tool output": the command, query or address, and what it printed. */
  input: string
  output: string
}

export type SharedPart =
  | { kind: 'request'; at: number | null; text: string; files: string[]; pictures: string[] }
  | { kind: 'text'; at: number | null; text: string }
  | { kind: 'step'; at: number | null; step: SharedStep }
  | { kind: 'decision'; at: number | null; sentence: DecisionSentence }
  | { kind: 'failed'; at: number | null }

const plainText = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : Array.isArray(value)
      ? value.map(plainText).filter(Boolean).join('\n')
      : ''

/** Of a result only what was printed or found: no reasons, approvals or paths in other fields. */
const outputOf = (name: string, content: string): string => {
  const fields = fieldsOf(content)
  if (name === 'terminal' || name === 'execute_code') return plainText(fields.output)
  return asObjects(fields.results ?? asObject(fields.data).web)
    .map(({ title, url, description, content: text }) =>
      [title, url, description, text].map(plainText).filter(Boolean).join('\n'),
    )
    .join('\n\n')
}

/** Of a call that was refused, or failed without output, the words would claim what was not done. */
const isDone = ({ _refused_by }: Message, result: string): boolean => {
  const { status, error, output } = fieldsOf(result)
  const isRefused = _refused_by !== undefined || status === 'blocked'
  return !isRefused && (!plainText(error) || plainText(output) !== '')
}

const stepOf = (call: ToolCall, result: string, withOutput: boolean): SharedStep => {
  const name = ownToolName(call.function.name)
  const { shared: words = 'Used a tool', sharedInput: field } = toolInfo(name) ?? {}
  if (!withOutput || field === undefined) return { words, input: '', output: '' }
  return {
    words,
    input: plainText(fieldsOf(call.function.arguments)[field]),
    output: outputOf(name, result),
  }
}

const APPROVAL = 'a step that needed approval'

/** What the agent asked and what was answered; a command only when its input may be included. Names stay private. */
const sharedDecision = (
  { by: _, rule: __, ...decision }: Decision,
  { withInput, clean }: { withInput: boolean; clean: (text: string) => string },
): DecisionSentence | null => {
  if (decision.kind !== 'approval') {
    const { what, end, ...words } = decisionSentence(decision)
    return { ...words, what: clean(what), end: clean(end) }
  }
  // No one was asked.
  if (decision.auto && decision.answered_at === decision.asked_at) return null
  // It was stopped, or what asked is gone: nobody decided.
  if (decision.reason && decision.reason !== 'timeout') return null
  const { what, isCode, ...words } = decisionSentence(decision)
  return withInput
    ? { ...words, what: clean(what), isCode }
    : { ...words, what: APPROVAL, isCode: false }
}

const timeOf = ({ timestamp, _ts }: Message): number | null => timestamp ?? _ts ?? null

const fileName = (path: string): string => path.split(/[\\/]/).at(-1) ?? ''

/**
 * `messages` are redacted already. `clean` removes what else must not be shown, such as paths of the home. `picturesOf` returns
 * `data:` URLs of the pictures that were sent with a message.
 */
export const toSharedParts = (
  messages: readonly Message[],
  options: ShareOptions,
  {
    contentText,
    clean,
    picturesOf,
  }: {
    contentText: (content: Message['content']) => string
    clean: (text: string) => string
    picturesOf: (message: Message) => string[]
  },
): SharedPart[] => {
  const results = new Map<string, string>()
  for (const message of messages) {
    if (message.role !== 'tool' || message.tool_call_id === undefined) continue
    const text = contentText(message.content)
    if (isDone(message, text)) results.set(message.tool_call_id, text)
  }

  const called = new Map<string, string>()
  /** Those of the newest message that made any: what is asked after it is about one of them. */
  let calls: readonly ToolCall[] = []
  const decisionsOf = (message: Message): SharedPart[] =>
    (message._decisions ?? []).flatMap((decision): SharedPart[] => {
      const name = called.get(decision.call_id ?? (calls.length === 1 ? calls[0]!.id : ''))
      const withInput =
        options.tool_output &&
        name !== undefined &&
        toolInfo(ownToolName(name))?.sharedInput !== undefined
      const sentence = sharedDecision(decision, { withInput, clean })
      return sentence ? [{ kind: 'decision', at: decision.answered_at, sentence }] : []
    })

  return messages.flatMap((message): SharedPart[] => {
    const at = timeOf(message)
    calls = message.role === 'tool' ? calls : (message.tool_calls ?? [])
    for (const { id, function: fn } of calls) called.set(id, fn.name)
    const decisions = decisionsOf(message)
    const text = clean(contentText(message.content)).trim()
    if (message.role === 'user') {
      // A hook wrote it, not the person.
      if (message._hooks) return []
      const pictures = options.pictures ? picturesOf(message) : []
      const files = (message.attachments ?? []).map(path => clean(fileName(path)))
      return [{ kind: 'request', at, text, files, pictures }, ...decisions]
    }
    if (message.role !== 'assistant') return decisions
    // Texts of errors name providers, addresses and settings.
    if (message._error) return [{ kind: 'failed', at }]
    const isAsked = message._decisions?.some(({ kind }) => kind === 'clarify')
    const steps = (message.tool_calls ?? []).flatMap((call): SharedPart[] => {
      const result = results.get(call.id)
      // Without a result it waits for an approval, or was interrupted.
      if (result === undefined) return []
      // The question itself is shown.
      if (isAsked && ownToolName(call.function.name) === 'clarify') return []
      const step = stepOf(call, result, options.tool_output)
      const { words, input, output } = step
      return [{ kind: 'step', at, step: { words, input: clean(input), output: clean(output) } }]
    })
    const parts = [...decisions, ...steps]
    return text === '' ? parts : [{ kind: 'text', at, text }, ...parts]
  })
}

/** Replaces paths of directories by `~`. Shorter than two characters, a path would match everywhere. */
export const hidePaths = (directories: readonly string[]): ((text: string) => string) => {
  const paths = [...new Set(directories)]
    .filter(path => path.length > 2)
    .toSorted((a, b) => b.length - a.length)
    .map(path => path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  if (paths.length === 0) return text => text
  const pattern = new RegExp(`(?:${paths.join('|')})(?![\\w-])`, 'g')
  return text => text.replace(pattern, '~')
}
