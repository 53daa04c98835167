/** Replaces earlier messages with a summary. When summarizing fails, all messages stay. */
import { summaryContent } from '../schema/summary.ts'
import type { Usage } from '../schema/usage.ts'
import type { CompressionSettings, CompressionPlan } from './compress-plan.ts'
import {
  approvedPlan,
  joinSummary,
  splitSummary,
  summaryBudget,
  summaryPrompt,
  toChunks,
} from './compress-prompt.ts'
import { ProviderFailure } from './failure.ts'
import { messageText, estimateTokens, estimateAllTokens } from './tokens.ts'
import type { LoopMessage, WireMessage } from './types.ts'

/** What the engine needs for compaction. */
export type Compression = {
  settings: CompressionSettings
  /** Calls the summary model. Throws when there is none or it fails. */
  callModel: SummaryModel
  /** Context window of that model in tokens; 0 when unknown. */
  window: number
  /** Pause after a failed summary, as times in milliseconds. Stored with the session, so it outlives the turn. */
  cooldown: { until: () => number; start: (nowMs: number, untilMs: number) => void }
}

export type SummaryModel = (
  messages: readonly WireMessage[],
  options: { signal: AbortSignal; onUsage: (usage: Usage) => void },
) => Promise<string>

type SummaryTask = {
  callModel: SummaryModel
  window: number
  signal: AbortSignal
  focus?: string
  /** Open to-do items, copied verbatim. */
  todos?: readonly string[]
  onUsage?: (usage: Usage) => void
}

export type Compressed = {
  messages: LoopMessage[]
  /** Ids of the first and last replaced message; null when none of them is in the transcript. */
  first: string | null
  last: string | null
  text: string
  beforeTokens: number
  afterTokens: number
}

/** Assumed for a model with an unknown window. */
const DEFAULT_WINDOW = 32_000
/** Share of the window for messages; the rest is for instructions, notes and the response. */
const READ_SHARE = 0.5
const CHARS_PER_TOKEN = 4
const MIN_CHUNK_CHARS = 4_000
const MAX_CHUNK_CHARS = 400_000
const MAX_HALVINGS = 3

/** Throws `ProviderFailure` or the signal's reason. `messages` is not changed. */
export const compress = async (
  messages: readonly LoopMessage[],
  { head, tail }: CompressionPlan,
  task: SummaryTask,
): Promise<Compressed> => {
  const covered = messages.slice(head, tail)
  const old = covered.flatMap(({ summary }) => summary ?? [])
  const before = splitSummary(old.map(({ text }) => text).join('\n\n'))
  const newMessages = covered.filter(({ summary }) => !summary)
  const budget = summaryBudget(covered, task.window)
  const notes = await writeNotes(newMessages, { ...task, budget, notes: before.notes })
  const lastRequest = newMessages.findLast(({ role }) => role === 'user')
  // While its task is being worked on, a request must not be rephrased.
  const isOpen = !messages.slice(tail).some(({ role }) => role === 'user')
  const request = isOpen ? (lastRequest ? messageText(lastRequest) : before.request) : ''
  // A plan is carried out over many turns, so it outlives the request that it answered.
  const plan = approvedPlan(newMessages) ?? before.plan
  const text = joinSummary({ notes, plan, request }, task.todos ?? [])
  const [first, last] = [firstId(covered), lastId(covered)]
  const summaryMessage: LoopMessage = {
    role: 'user',
    content: summaryContent(text),
    summary: { from: first ?? '', to: last ?? '', text },
    position: positionOf(covered),
  }
  const [beforeTokens, summaryTokens] = [
    estimateAllTokens(messages),
    estimateTokens(summaryMessage),
  ]
  const coveredTokens = estimateAllTokens(covered)
  if (summaryTokens >= coveredTokens)
    throw new ProviderFailure('error', 'The summary is longer than the messages it replaces.')
  return {
    messages: [...messages.slice(0, head), summaryMessage, ...messages.slice(tail)],
    first,
    last,
    text,
    beforeTokens,
    afterTokens: beforeTokens - coveredTokens + summaryTokens,
  }
}

const firstId = (covered: readonly LoopMessage[]): string | null =>
  covered.map(({ summary, id }) => summary?.from || id).find(Boolean) ?? null
const lastId = (covered: readonly LoopMessage[]): string | null =>
  covered.map(({ summary, id }) => summary?.to || id).findLast(Boolean) ?? null

const positionOf = (covered: readonly LoopMessage[]): number | undefined => {
  const positions = covered.flatMap(({ position }) => position ?? [])
  return positions.length < Math.max(covered.length, 1) ? undefined : Math.max(...positions)
}

/** Summarizes chunk by chunk when the messages exceed the model's window; each call updates the notes so far. */
const writeNotes = async (
  newMessages: readonly LoopMessage[],
  {
    callModel,
    window,
    signal,
    focus = '',
    onUsage,
    budget,
    notes: first,
  }: SummaryTask & { budget: number; notes: string },
): Promise<string> => {
  const readable = (window || DEFAULT_WINDOW) * READ_SHARE * CHARS_PER_TOKEN
  let chars = Math.min(MAX_CHUNK_CHARS, Math.max(MIN_CHUNK_CHARS, readable))
  let halvings = 0
  let notes = first
  let queue = [...toChunks(newMessages, chars)]
  while (queue.length > 0) {
    const chunk = queue[0] as string
    try {
      const response = await callModel(summaryPrompt({ notes, chunk, budget, focus }), {
        signal,
        onUsage: usage => onUsage?.(usage),
      })
      if (!response.trim()) throw new ProviderFailure('no_response', 'The summary is empty.')
      notes = response.trim()
      queue = queue.slice(1)
    } catch (error) {
      const tooLong = error instanceof ProviderFailure && error.type === 'context_overflow'
      if (!tooLong || ++halvings > MAX_HALVINGS) throw error
      // Slightly more than half, so that a chunk becomes two pieces and no remainder.
      chars = Math.min(chars, chunk.length) * 0.6
      queue = queue.flatMap(each => halve(each, chars))
    }
  }
  return notes
}

/** Splits at line ends near the limit, so that messages are rarely split. */
const halve = (chunk: string, chars: number): string[] => {
  const pieces: string[] = []
  let rest = chunk
  while (rest.length > chars) {
    const line = rest.lastIndexOf('\n', chars)
    const at = line > chars / 2 ? line : Math.ceil(chars)
    pieces.push(rest.slice(0, at))
    rest = rest.slice(at)
  }
  return [...pieces, rest]
}

/** Some providers reject two user messages in a row: a summary is merged with the next user message. */
export const mergeSummaries = (messages: readonly LoopMessage[]): LoopMessage[] => {
  const merged: LoopMessage[] = []
  for (const message of messages) {
    const before = merged.at(-1)
    if (before?.role === 'user' && (before.summary || message.summary) && message.role === 'user') {
      const images = [...(before.images ?? []), ...(message.images ?? [])]
      merged[merged.length - 1] = {
        ...message,
        content: joined(before, message),
        ...(images.length > 0 && { images }),
      }
    } else merged.push(message)
  }
  return merged
}

const joined = (a: WireMessage, b: WireMessage): WireMessage['content'] =>
  typeof a.content === 'string' && typeof b.content === 'string'
    ? `${a.content}\n\n---\n\n${b.content}`
    : [...wireParts(a), ...wireParts(b)]

const wireParts = ({ content }: WireMessage) =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content
