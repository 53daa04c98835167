/** Converts messages to transcript rows, each small enough to be virtualized. */
import type { Coded } from '../../../lib/base/sentences.ts'
import { waitedSeconds } from '../../../lib/base/waits.ts'
import type { LiveWriting } from '../../../lib/base/live-writing.ts'
import type { Decision } from '../../../lib/schema/decision.ts'
import type { Message } from '../../../lib/schema/message.ts'
import type { LiveTurn } from '../../../lib/schema/session.ts'
import type { SummaryRef } from '../../../lib/schema/summary.ts'
import type { TurnUsage } from '../../../lib/schema/usage.ts'
import type { Notice, ToolOutcome } from '../messages/chat-reducer.ts'
import { isCancelMarker, isCompaction, secondsOf, splitText } from './content.ts'
import { messageText } from '../messages/message-text.ts'

/** The part of a live turn that determines the rows; excludes the streamed text. */
export type LiveShape = {
  messageId: string | null
  hasText: boolean
  hasReasoning: boolean
  tools: readonly LiveTurn['tools'][number][]
  /** The call of a file edit that the model writes, without its text. */
  writing?: Omit<LiveWriting, 'text' | 'lines'> | undefined
}

export type ReasoningStep = { kind: 'reasoning'; key: string; text: string; live: boolean }
export type ToolStep = {
  kind: 'tool'
  key: string
  /** Empty while the model writes the call. */
  tid: string
  name: string
  /** Arguments as JSON text; empty while only the preview of the event is known. */
  argsText: string
  short: Readonly<Record<string, string>> | null
  result: Message | null
  state: 'running' | 'queued' | 'ended'
  /** Start time in seconds since 1970, while the call runs. */
  startedAt: number | null
  finished: ToolOutcome | null
  /** About what the call asked. */
  decisions: readonly Decision[]
}
export type Step = ReasoningStep | ToolStep

export type ActivityRow = {
  kind: 'activity'
  key: string
  steps: readonly Step[]
  /** Without the time that it waited for a person. */
  seconds: number | null
  /** Seconds that the turn had waited for a person until then. */
  waited: number
  live: boolean
  open: boolean
}
export type TextRow = {
  kind: 'text'
  key: string
  id: string
  text: string
  live: boolean
  /** The first text of a turn has the heading for screen readers. */
  first: boolean
  partial: boolean
  /** Why the provider stopped the answer here; null when it did not. */
  refusal: string | null
  /** The code of it, if it is a sentence of ours. */
  coded?: Coded | undefined
  /** Stored length in characters, when the text is truncated. */
  cut: number | null
}
export type DecisionRow = {
  kind: 'decision'
  key: string
  decision: Decision
  /** It belongs to the last turn, which has ended. */
  last: boolean
}
export type FootRow = {
  kind: 'foot'
  key: string
  /** The answers. */
  messages: readonly Message[]
  /** The user's message and everything that followed it. */
  turn: readonly Message[]
  /** Ids of the user messages whose turn ends here: more than one when the turn was steered. */
  userIds: readonly string[]
  usage: TurnUsage | null
  last: boolean
}
export type TranscriptRow =
  | { kind: 'user'; key: string; message: Message }
  | ActivityRow
  /** `alone`: its words are in the line of the group already. */
  | { kind: 'step'; key: string; step: Step; last: boolean; alone: boolean }
  | TextRow
  | DecisionRow
  | FootRow
  | { kind: 'error'; key: string; message: Message; last: boolean }
  | { kind: 'cancelled'; key: string }
  /** The turn ended because it had used all its steps. */
  | { kind: 'limit'; key: string; steps: number; last: boolean }
  /** A line of the server, such as a switch to another model, where it arrived. */
  | { kind: 'notice'; key: string; text: string; coded: Coded | undefined }
  /** A compaction summary: a message written by another program, or number `n` of ours. */
  | { kind: 'compaction'; key: string; message: Message | null; n: number }

export type RowsInput = {
  messages: readonly Message[]
  live: LiveShape | null
  finished: Readonly<Record<string, ToolOutcome>>
  /** Keys of expanded activity rows. */
  open: Pick<ReadonlySet<string>, 'has'>
  showThinking: boolean
  /** Each step has its line, whether or not it is the only one. */
  showSteps?: boolean
  /** Summaries, whose dividers follow the last message they cover. */
  summaries?: readonly SummaryRef[]
  turnUsage?: readonly TurnUsage[]
  notices?: readonly Notice[]
}

/** What was asked while the calls of a message ran is recorded after the message, or after the result of an earlier call. */
const decisionsOf = (message: Message, results: ReadonlyMap<string, Message>): Decision[] =>
  [message, ...(message.tool_calls ?? []).map(({ id }) => results.get(id))].flatMap(
    each => each?._decisions ?? [],
  )

/** Nobody was asked, so that it is a note at its step. */
export const isNote = ({ auto, asked_at, answered_at }: Decision): boolean =>
  auto !== undefined && asked_at === answered_at

/** Longer commands are cut in the line of the decision. */
export const DECIDED_CHARS = 200

/** No one allowed it, which the line of the decision says. */
export const wasNotAllowed = (step: Step): boolean =>
  step.kind === 'tool' &&
  (step.result?._refused_by === 'user' || step.result?._refused_by === 'timeout') &&
  step.decisions.some(decision => !isNote(decision))

/** There is nothing more to see of it. */
const isSaid = (step: Step): boolean =>
  step.kind === 'tool' &&
  wasNotAllowed(step) &&
  !step.result?._hooks &&
  step.decisions.every(({ what }) => what.length <= DECIDED_CHARS)

export const toRows = (input: RowsInput): TranscriptRow[] => {
  const results = new Map<string, Message>()
  for (const message of input.messages) {
    if (message.role === 'tool' && message.tool_call_id) results.set(message.tool_call_id, message)
  }
  const rows: TranscriptRow[] = []
  const turns = toTurns(input.messages)
  let userIds: string[] = []
  for (const [index, turn] of turns.entries()) {
    const last = index === turns.length - 1
    const usage = usageOf(turn, turns[index + 1], input.turnUsage)
    if (turn.user) userIds.push(turn.user.id)
    const continues = last ? input.live !== null : !usage && endsLater(turn, input)
    const userIdsOfTurn = continues ? [] : userIds
    if (!continues) userIds = []
    const live = last ? input.live : null
    addTurn(rows, turn, { ...input, results, live, last, usage, userIds: userIdsOfTurn })
  }
  const ids = new Set(input.messages.map(({ id }) => id))
  const others = input.notices?.filter(({ after }) => !after || !ids.has(after)) ?? []
  return [...rows, ...others.map(noticeRow)]
}

const noticeRow = ({ id, message, sentences }: Notice): TranscriptRow => ({
  ...{ kind: 'notice', key: `notice:${id}`, text: message },
  coded: sentences?.message,
})

type Turn = { user: Message | null; replies: Message[] }

const toTurns = (messages: readonly Message[]): Turn[] => {
  const turns: Turn[] = []
  for (const message of messages) {
    if (message.role === 'system') continue
    if (message.role === 'user' && !isCompaction(message)) {
      turns.push({ user: message, replies: [] })
    } else {
      if (turns.length === 0) turns.push({ user: null, replies: [] })
      turns.at(-1)!.replies.push(message)
    }
  }
  return turns
}

/** The number in a message id; 0 for ids of other programs. */
const lineOf = (message: Message | null | undefined): number => Number(message?.id.slice(1)) || 0

/** The first turn that ended after this message and before the next one. Later ones in between were deleted. */
const usageOf = (turn: Turn, next: Turn | undefined, all: readonly TurnUsage[] = []) => {
  const from = lineOf(turn.user ?? turn.replies[0])
  const to = lineOf(next?.user)
  return all.find(({ n }) => n > from && (to === 0 || n < to)) ?? null
}

/** Whether the turn that this message belongs to ends below the next user message, which steered it. */
const endsLater = (turn: Turn, { turnUsage = [], live }: RowsInput): boolean =>
  live !== null || turnUsage.some(({ n }) => n > lineOf(turn.user))

type TurnInput = RowsInput & {
  results: ReadonlyMap<string, Message>
  userIds: readonly string[]
  last: boolean
  usage: TurnUsage | null
}

const addTurn = (rows: TranscriptRow[], { user, replies }: Turn, input: TurnInput) => {
  const { live, last } = input
  if (user) rows.push({ kind: 'user', key: user.id, message: user })
  const name = (user ?? replies[0]!).id
  const spoken: Message[] = []
  let steps: Step[] = []
  /** Seconds that this turn, and the activity that comes next, waited for a person. */
  let waited = 0
  let waitedNow = 0
  let began = user ? secondsOf(user) : null
  let now = began
  let first = true
  let activities = 0

  const flush = (isLive: boolean) => {
    if (steps.length === 0 && !isLive) return
    const key = `${name}:a${activities++}`
    if (!isLive && steps.every(isSaid)) {
      steps = []
      return
    }
    const passed = began !== null && now !== null ? now - began : 0
    const worked = Math.round(passed - waitedNow)
    const seconds = worked > 0 ? worked : null
    const open = input.open.has(key)
    rows.push({ kind: 'activity', key, steps, seconds, waited, live: isLive, open })
    if (open) {
      const alone = steps.length === 1 && !isLive && !input.showSteps
      for (const [at, step] of steps.entries()) {
        const place = { key: `${key}/${step.key}`, last: at === steps.length - 1, alone }
        rows.push({ kind: 'step', step, ...place })
      }
    }
    steps = []
    waitedNow = 0
    began = now
  }

  /** The steps that waited for them come next. */
  const decide = (all: readonly Decision[]) => {
    const decisions = all.filter(decision => !isNote(decision))
    if (decisions.length === 0) return
    flush(false)
    for (const decision of decisions) {
      const key = `${name}:d${decision.id}`
      rows.push({ kind: 'decision', key, decision, last: last && !live })
    }
    const seconds = waitedSeconds(decisions)
    waited += seconds
    waitedNow += seconds
  }
  if (user) decide(decisionsOf(user, input.results))

  const note = (id: string | undefined) => {
    for (const notice of input.notices ?? []) {
      if (notice.after !== id) continue
      flush(false)
      rows.push(noticeRow(notice))
    }
  }
  /** Adds dividers after the last message of a summary. */
  const divide = (id: string | undefined) => {
    for (const { n, last: end } of input.summaries ?? []) {
      if (end !== id) continue
      flush(false)
      rows.push({ kind: 'compaction', key: `summary:${n}`, message: null, n })
    }
  }

  let above = user?.id
  for (const message of replies) {
    divide(above)
    note(above)
    above = message.id
    now = secondsOf(message) ?? now
    if (message.role === 'tool') continue
    if (isCompaction(message)) {
      flush(false)
      rows.push({ kind: 'compaction', key: message.id, message, n: 0 })
      continue
    }
    if (isCancelMarker(message) || message._error) {
      flush(false)
      // The partial text above is already marked as stopped.
      if (isCancelMarker(message) && spoken.at(-1)?._partial) continue
      rows.push(
        isCancelMarker(message)
          ? { kind: 'cancelled', key: message.id }
          : { kind: 'error', key: message.id, message, last: last && message === replies.at(-1) },
      )
      continue
    }
    if (input.showThinking && message.reasoning?.trim()) {
      const key = `${message.id}:r`
      steps.push({ kind: 'reasoning', key, text: message.reasoning, live: false })
    }
    // Of these steps only the summary of another program is left.
    for (const { tid, name, args, snippet } of message._tool_summaries ?? []) {
      const step = toolStep(tid, name, '', input)
      if (step)
        steps.push({ ...step, short: args, result: { id: tid, role: 'tool', content: snippet } })
    }
    const text = messageText(message)
    if (text.trim()) {
      flush(false)
      addText(rows, message, text, first)
      first = false
      spoken.push(message)
    }
    const decisions = decisionsOf(message, input.results)
    decide(decisions)
    const calls = message.tool_calls ?? []
    for (const call of calls) {
      const isOwn = ({ call_id: id }: Decision) => (id ?? (calls[1] ? '' : call.id)) === call.id
      const { name: called, arguments: argsText } = call.function
      const step = toolStep(call.id, called, argsText, input, decisions.filter(isOwn))
      if (step) {
        steps.push(step)
        now = (step.result && secondsOf(step.result)) ?? now
      }
    }
  }

  if (live) {
    divide(above)
    note(above)
    addLive(rows, live, { steps, flush, first, input })
  } else {
    flush(false)
    note(above)
  }
  const limit = replies.find(message => message._step_limit)?._step_limit
  if (!live && limit) rows.push({ kind: 'limit', key: `${name}:limit`, steps: limit, last })
  // While the turn runs nothing is below what is written, so nothing is pushed down.
  if (!live && (spoken.length > 0 || replies.some(({ tool_calls }) => tool_calls?.length))) {
    rows.push({
      kind: 'foot',
      key: `${name}:foot`,
      messages: spoken,
      turn: user ? [user, ...replies] : replies,
      userIds: input.userIds,
      usage: input.usage,
      last,
    })
  }
  if (!live) divide(above)
}

type Rest = { steps: Step[]; flush: (live: boolean) => void; first: boolean; input: TurnInput }

/** Adds the rows of the running turn after the stored ones. */
const addLive = (rows: TranscriptRow[], live: LiveShape, { steps, flush, first, input }: Rest) => {
  const keys = new Set(steps.map(step => step.key))
  for (const { tid, name, args } of live.tools) {
    if (keys.has(tid) || input.results.has(tid)) continue
    const step = toolStep(tid, name, '', input)
    if (step) steps.push({ ...step, short: args })
  }
  if (live.messageId && live.hasReasoning) {
    steps.push({ kind: 'reasoning', key: `${live.messageId}:r`, text: '', live: true })
  }
  const draft = live.writing && writtenStep(live.writing, input)
  if (!live.messageId || !live.hasText) {
    if (draft) steps.push(draft)
    flush(true)
    return
  }
  flush(false)
  const id = live.messageId
  rows.push({
    kind: 'text',
    key: `${id}:0`,
    id,
    text: '',
    live: true,
    first,
    partial: false,
    refusal: null,
    cut: null,
  })
  if (!draft) return
  steps.push(draft)
  flush(true)
}

const addText = (rows: TranscriptRow[], message: Message, text: string, first: boolean) => {
  const pieces = splitText(text)
  for (const [index, piece] of pieces.entries()) {
    const isLast = index === pieces.length - 1
    rows.push({
      kind: 'text',
      key: `${message.id}:${index}`,
      id: message.id,
      text: piece,
      live: false,
      first: first && index === 0,
      partial: isLast && message._partial === true,
      // A refusal that is the whole answer is its text.
      refusal: isLast && message.refusal !== text ? (message.refusal ?? null) : null,
      ...(message._sentences?.refusal && { coded: message._sentences.refusal }),
      cut: isLast ? (message._content_length ?? null) : null,
    })
  }
}

const writtenStep = (
  { message_id: id, index, name, path = '' }: NonNullable<LiveShape['writing']>,
  input: TurnInput,
): ToolStep => ({
  ...toolStep('', name, '', input)!,
  key: `${id}:w${index}`,
  state: 'running',
  short: { path },
})

/** Questions have rows of their own and are not listed as steps. */
const toolStep = (
  tid: string,
  name: string,
  argsText: string,
  input: TurnInput,
  decisions: readonly Decision[] = [],
): ToolStep | null => {
  if (name === 'clarify') return null
  const result = input.results.get(tid) ?? null
  const finished = input.finished[tid] ?? null
  const running = input.live?.tools.find(tool => tool.tid === tid)
  const state = result || finished || !input.live ? 'ended' : running ? 'running' : 'queued'
  return {
    kind: 'tool',
    key: tid,
    tid,
    name,
    argsText,
    short: running && !argsText ? running.args : null,
    result,
    state,
    startedAt: running?.started_at ?? null,
    finished,
    decisions,
  }
}

/** Reuses unchanged row objects, so that they are not rendered again. */
export const reuseRows = (
  before: ReadonlyMap<string, TranscriptRow>,
  rows: TranscriptRow[],
): TranscriptRow[] =>
  rows.map(row => {
    const old = before.get(row.key)
    return old && sameFields(old, row) ? old : row
  })

const sameFields = (left: object, right: object): boolean => {
  const keys = Object.keys(right)
  return (
    Object.keys(left).length === keys.length &&
    keys.every(key => same(left[key as keyof typeof left], right[key as keyof typeof right]))
  )
}

const same = (left: unknown, right: unknown): boolean => {
  if (left === right) return true
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, at) => same(item, right[at]))
  }
  const both = [left, right] as ({ kind?: unknown } | null)[]
  return both.every(each => each?.kind) && sameFields(both[0]!, both[1]!)
}
