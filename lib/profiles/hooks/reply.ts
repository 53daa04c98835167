/** What a hook answers: its exit code, and JSON on stdout in the host agent's form or in that of other agents. */
import { shortenCounting } from '../../base/shorten.ts'
import { asObject, isObject, type JsonObject } from '../../base/json.ts'
import { type EventSpelling, blocksByExitCode } from './events.ts'
import type { HookRun } from './run-command.ts'

export type HookReply = {
  /** Why the action must not happen; at the end of a turn, why the agent must continue. */
  block?: string
  /** New arguments: all of them, or only those that change. */
  input?: { values: JsonObject; isWhole: boolean }
  /** `ask`: the user must approve the call. `allow`: it needs no approval. */
  decision?: 'ask' | 'allow'
  reason?: string
  /** Text for the model. */
  context?: string
  /** Replaces the result of the tool. */
  result?: string
  /** Why the whole turn must end. */
  stop?: string
  /** Text for the user. */
  message?: string
}

export type Answer = {
  reply: HookReply
  /** Why the hook failed; null when it did not. */
  failure: string | null
}

const MAX_TEXT_CHARS = 10_000
const SHOWN_STDERR_CHARS = 300
const NO_REASON = 'no reason given'

/** A text of a reply; undefined when there is none. */
const textOf = (...values: unknown[]): string | undefined => {
  const text = values.find(value => typeof value === 'string' && value.trim() !== '')
  return typeof text === 'string' ? shortenCounting(text.trim(), MAX_TEXT_CHARS) : undefined
}

/** What each word means. In the host agent, `approve` is an action that asks the user; elsewhere, a decision that allows. */
const VERBS: Readonly<
  Record<string, Readonly<Record<string, 'block' | 'ask' | 'allow' | 'none'>>>
> = {
  decision: {
    block: 'block',
    deny: 'block',
    approve: 'allow',
    allow: 'allow',
    ask: 'ask',
    modify: 'none',
  },
  action: { block: 'block', continue: 'none', approve: 'ask', allow: 'none', modify: 'none' },
  permissionDecision: { deny: 'block', ask: 'ask', allow: 'allow', defer: 'none' },
}

const UNKNOWN = Symbol('a word without a meaning')

const meaningOf = (key: string, value: unknown) => {
  if (value === undefined || value === null || value === '') return 'none'
  const words = VERBS[key] ?? {}
  const word = String(value).toLowerCase()
  return Object.hasOwn(words, word) ? (words[word] ?? 'none') : UNKNOWN
}

const inputOf = (data: JsonObject, special: JsonObject): HookReply['input'] => {
  if (isObject(special.updatedInput)) return { values: special.updatedInput, isWhole: true }
  const isModify = data.action === 'modify' || data.decision === 'modify'
  const values = [data.args, data.tool_input].find(isObject)
  return isModify && values ? { values, isWhole: false } : undefined
}

const resultOf = ({ updatedToolOutput, updatedMCPToolOutput }: JsonObject): string | undefined => {
  const value = updatedToolOutput ?? updatedMCPToolOutput
  if (value === undefined || value === null) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** An object without undefined values. */
const compact = (reply: { [K in keyof HookReply]: HookReply[K] | undefined }): HookReply =>
  Object.fromEntries(Object.entries(reply).filter(([, value]) => value !== undefined))

const fromJson = (data: JsonObject, { event }: EventSpelling): Answer => {
  const special = asObject(data.hookSpecificOutput)
  const meanings = [
    meaningOf('permissionDecision', special.permissionDecision),
    meaningOf('action', data.action),
    meaningOf('decision', data.decision),
  ]
  const reason = textOf(special.permissionDecisionReason, data.reason, data.message)
  // Only a call can be allowed or asked about.
  const isCall = event === 'before tool'
  const decision = !isCall
    ? undefined
    : meanings.includes('ask')
      ? 'ask'
      : meanings.includes('allow')
        ? 'allow'
        : undefined
  // The host agent's word for "do not end yet".
  const isContinued = event === 'turn end' && data.action === 'continue' && reason !== undefined
  const reply = compact({
    block: meanings.includes('block') || isContinued ? (reason ?? NO_REASON) : undefined,
    input: isCall ? inputOf(data, special) : undefined,
    decision,
    reason,
    context: textOf(special.additionalContext, data.additionalContext, data.context),
    result: event === 'after tool' ? resultOf(special) : undefined,
    stop: data.continue === false ? (textOf(data.stopReason, data.reason) ?? NO_REASON) : undefined,
    message: textOf(data.systemMessage),
  })
  const isUnclear = meanings.includes(UNKNOWN) || (isCall && isUnclearInput(data, special))
  return { reply, failure: isUnclear ? 'its answer has an unknown decision' : null }
}

/** It asks for other arguments and does not give them as an object. */
const isUnclearInput = (data: JsonObject, special: JsonObject): boolean =>
  special.updatedInput !== undefined
    ? !isObject(special.updatedInput)
    : (data.action === 'modify' || data.decision === 'modify') && !inputOf(data, special)

const parseObject = (text: string): JsonObject | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    // Plain text. The caller decides whether it may be.
    return undefined
  }
}

const withStderr = (sentence: string, stderr: string): string => {
  const line = stderr.split('\n')[0] ?? ''
  return line === '' ? sentence : `${sentence}: ${line.slice(0, SHOWN_STDERR_CHARS)}`
}

/** Reads what a hook printed and its exit code. */
export const parseReply = (
  spelling: EventSpelling & { failClosed: boolean },
  { code, stdout, stderr, failure }: HookRun,
): Answer => {
  if (failure !== null) return { reply: {}, failure: withStderr(failure, stderr) }
  const text = stdout.trim()
  const data = parseObject(text)
  const answer = data && fromJson(data, spelling)
  if (code === 2 && blocksByExitCode(spelling)) {
    const block = answer?.reply.block ?? textOf(stderr) ?? NO_REASON
    return { reply: { ...answer?.reply, block }, failure: null }
  }
  if (code !== 0) {
    // A failed program cannot allow or change anything, but it can block.
    const { block } = answer?.reply ?? {}
    return {
      reply: block === undefined ? {} : { block },
      failure: withStderr(`it ended with exit code ${code}`, stderr),
    }
  }
  if (answer) return answer
  if (text === '') return { reply: {}, failure: null }
  const { event, dialect, failClosed } = spelling
  const isText = dialect === 'common' && !text.startsWith('{')
  const isContext = isText && (event === 'prompt' || event === 'session start')
  const context = isContext ? textOf(text) : undefined
  if (context !== undefined) return { reply: { context }, failure: null }
  return { reply: {}, failure: isText && !failClosed ? null : 'its output is no JSON object' }
}
