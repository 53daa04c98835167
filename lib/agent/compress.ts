/** Puts a summary in the place of earlier messages. Nothing is lost on the way: without a summary all of them stay. */
import { summaryContent } from '../schema/summary.ts'
import type { Usage } from '../schema/usage.ts'
import type { CompressionSettings, CompressionPlan } from './compress-plan.ts'
import {
  joinSummary,
  splitSummary,
  summaryBudget,
  summaryPrompt,
  toChunks,
} from './compress-prompt.ts'
import { ProviderFailure } from './failure.ts'
import { textOf, estimateTokens, estimateAllTokens } from './tokens.ts'
import type { LoopMessage, WireMessage } from './types.ts'

/** What the engine needs to keep a conversation within a window. */
export type Compression = {
  settings: CompressionSettings
  /** Asks the model that summarises. Throws when there is none, or when it fails. */
  callModel: SummaryModel
  /** Tokens that model can read; 0 when unknown. */
  window: number
  /** Until when a summary that failed is not tried again, in milliseconds; kept with the session, beyond the turn. */
  cooldown: { until: () => number; start: (nowMs: number, untilMs: number) => void }
}

export type SummaryModel = (
  messages: readonly WireMessage[],
  options: { signal: AbortSignal; onUsage: (usage: Usage) => void },
) => Promise<string>

export type CompressOptions = Pick<Compression, 'callModel' | 'window'> & {
  signal: AbortSignal
  focus?: string
  /** Open steps of the agent's list, put down word for word. */
  todos?: readonly string[]
  onUsage?: (usage: Usage) => void
}

export type Compressed = {
  messages: LoopMessage[]
  /** Of the messages the summary stands for; null when none of them is in a transcript. */
  first: string | null
  last: string | null
  text: string
  beforeTokens: number
  afterTokens: number
}

/** What a model of unknown window is asked to read at once. */
const USUAL_WINDOW = 32_000
/** Of its window; the rest is for instructions, notes and the answer. */
const READ_SHARE = 0.5
const CHARS_A_TOKEN = 4
const MIN_PORTION_CHARS = 4_000
const MAX_PORTION_CHARS = 400_000
const MAX_HALVINGS = 3

/** Throws `ProviderFailure` or the signal's reason; `messages` is as it was then. */
export const compress = async (
  messages: readonly LoopMessage[],
  { head, tail }: CompressionPlan,
  options: CompressOptions,
): Promise<Compressed> => {
  const covered = messages.slice(head, tail)
  const old = covered.flatMap(({ summary }) => summary ?? [])
  const before = splitSummary(old.map(({ text }) => text).join('\n\n'))
  const fresh = covered.filter(({ summary }) => !summary)
  const budget = summaryBudget(covered, options.window)
  const notes = await writeNotes(fresh, { ...options, budget, notes: before.notes })
  const asked = fresh.findLast(({ role }) => role === 'user')
  // The task itself must not be told in other words while the work on it goes on.
  const isOpen = !messages.slice(tail).some(({ role }) => role === 'user')
  const request = isOpen ? (asked ? textOf(asked) : before.request) : ''
  const text = joinSummary(notes, request, options.todos ?? [])
  const [first, last] = [firstId(covered), lastId(covered)]
  const standIn: LoopMessage = {
    role: 'user',
    content: summaryContent(text),
    summary: { from: first ?? '', to: last ?? '', text },
    position: placeOf(covered),
  }
  const [beforeTokens, summaryTokens] = [estimateAllTokens(messages), estimateTokens(standIn)]
  const coveredTokens = estimateAllTokens(covered)
  if (summaryTokens >= coveredTokens)
    throw new ProviderFailure('error', 'The summary is longer than what it should stand for.')
  return {
    messages: [...messages.slice(0, head), standIn, ...messages.slice(tail)],
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

const placeOf = (covered: readonly LoopMessage[]): number | undefined => {
  const places = covered.map(({ position: place }) => place)
  const known = places.filter(place => place !== undefined)
  return known.length < places.length || known.length === 0 ? undefined : Math.max(...known)
}

type Writing = CompressOptions & { budget: number; notes: string }

/** Portion by portion where all of it is more than can be read at once: each updates the notes of those before. */
const writeNotes = async (
  fresh: readonly LoopMessage[],
  { callModel, window, signal, focus = '', onUsage, budget, notes: first }: Writing,
): Promise<string> => {
  const readable = (window || USUAL_WINDOW) * READ_SHARE * CHARS_A_TOKEN
  let chars = Math.min(MAX_PORTION_CHARS, Math.max(MIN_PORTION_CHARS, readable))
  let halvings = 0
  let notes = first
  let left = [...toChunks(fresh, chars)]
  while (left.length > 0) {
    const portion = left[0] as string
    try {
      const said = await callModel(summaryPrompt({ notes, chunk: portion, budget, focus }), {
        signal,
        onUsage: usage => onUsage?.(usage),
      })
      if (!said.trim()) throw new ProviderFailure('no_response', 'The summary is empty.')
      notes = said.trim()
      left = left.slice(1)
    } catch (error) {
      const tooLong = error instanceof ProviderFailure && error.type === 'context_overflow'
      if (!tooLong || ++halvings > MAX_HALVINGS) throw error
      // A little more than half: two pieces, not two and a rest.
      chars = Math.min(chars, portion.length) * 0.6
      left = left.flatMap(each => halve(each, chars))
    }
  }
  return notes
}

/** At a line's end near the limit, so that a message is rarely torn. */
const halve = (portion: string, chars: number): string[] => {
  const pieces: string[] = []
  let rest = portion
  while (rest.length > chars) {
    const line = rest.lastIndexOf('\n', chars)
    const at = line > chars / 2 ? line : Math.ceil(chars)
    pieces.push(rest.slice(0, at))
    rest = rest.slice(at)
  }
  return [...pieces, rest]
}

/** Two neighbours of one role are refused by some providers: a summary is put in front of what the person said next. */
export const mergeSummaries = (messages: readonly LoopMessage[]): LoopMessage[] => {
  const merged: LoopMessage[] = []
  for (const message of messages) {
    const before = merged.at(-1)
    if (before?.role === 'user' && (before.summary || message.summary) && message.role === 'user') {
      merged[merged.length - 1] = { ...message, content: joined(before, message) }
    } else merged.push(message)
  }
  return merged
}

const joined = (a: WireMessage, b: WireMessage): WireMessage['content'] =>
  typeof a.content === 'string' && typeof b.content === 'string'
    ? `${a.content}\n\n---\n\n${b.content}`
    : [...partsOf(a), ...partsOf(b)]

const partsOf = ({ content }: WireMessage) =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content
