/** Folds journal lines into the state of a session. Pure. */
import type { JournalLine } from '../store/journal.ts'
import type { Message } from '../schema/message.ts'
import type { Question } from '../schema/question.ts'
import type { Usage } from '../schema/usage.ts'
import { Answers, reasonOf, withDecisions } from './decisions.ts'
import {
  type AskedEntry,
  contentText,
  type JournalEntry,
  isPlainMessage,
  isQuestionLine,
  type Meta,
  type MetaPatch,
  numberOf,
  parseForTranscript,
  questionId,
  type Sent,
  type SummaryEntry,
  type TurnEnd,
  type TurnLimit,
} from './entries.ts'
import { type ToldApprovals, toldApprovals } from './told-approvals.ts'
import { type UsageRow, wholeUsage } from './usage.ts'

export type Turn = {
  stream_id: string
  model: string
  provider: string
  /** The user message it answers. */
  message_id: string
  at: number
  /** Null while it runs. */
  how: TurnEnd | null
  usage: Usage | null
  limit?: TurnLimit
  /** Its last question was not answered in time. */
  missed?: true
  /** It continues after a restart. */
  resumable?: true
  /** Who began it, if not a person. */
  by?: 'task' | 'program'
  /** An external agent runs it. */
  external?: true
  /** How often it was continued after a restart since the model's last message. */
  resumed?: number
}

/** A summary without its text: `from` and `to` are numbers of lines. */
export type Span = { n: number; from: number; to: number; last: string; at: number }

const toSpan = ({ n, from, to, last, at }: SummaryEntry): Span => ({
  n,
  from,
  to,
  last: last ?? '',
  at,
})

const toSent = ({ id, before, text, images }: Sent): Sent => ({
  id,
  before,
  ...(text !== undefined && { text }),
  ...(images?.length && { images }),
})

/** The active spans in order: a later one replaces those it overlaps. */
export const activeSpans = <S extends { from: number; to: number }>(spans: readonly S[]): S[] =>
  spans
    .filter(
      (span, index) =>
        !spans.slice(index + 1).some(later => later.from <= span.to && span.from <= later.to),
    )
    .toSorted((a, b) => a.from - b.from)

/** Everything of a session except its messages: stored in the catalog and updated by each append. */
export type Summary = {
  id: string
  created_at: number
  /** Changed only by messages. */
  updated_at: number
  meta: Meta
  /** Visible messages. */
  count: number
  /** The beginning of the newest visible user message. */
  preview: string
  /** Active cuts: [n, after]. */
  cuts: [number, number][]
  /** Summaries that are neither cut nor undone, including those that a later one replaces. */
  spans: Span[]
  /** The ids of user messages that are versions of each other, in the order they were written. */
  versions: string[][]
  /** Not answered yet. */
  questions: Question[]
  turn: Turn | null
  /** What the model was told last about approvals; null: never. */
  told: ToldApprovals | null
  /** Earlier names. */
  aliases: string[]
  /** Where the last `renamed` line says the file should be. */
  renamedTo: string | null
  /** The next free line number. */
  nextN: number
  gen: number
  /** Every message line was written in our own form and order, so lines may be used without parsing. */
  clean: boolean
  /** Lines that could not be read. */
  bad: number
  format: 'jsonl' | 'json'
}

/** A whole session. */
export type Folded = Summary & {
  messages: Message[]
  /** The line number of each message, to which cuts refer. */
  numbers: number[]
  summaries: SummaryEntry[]
  /** How messages were sent to the model, in the order of lines. */
  sent: Sent[]
}

export const emptySummary = (id: string): Summary => ({
  id,
  created_at: 0,
  updated_at: 0,
  meta: {},
  count: 0,
  preview: '',
  cuts: [],
  spans: [],
  versions: [],
  questions: [],
  turn: null,
  told: null,
  aliases: [],
  renamedTo: null,
  nextN: 1,
  gen: 0,
  clean: true,
  bad: 0,
  format: 'jsonl',
})

const PREVIEW_CHARS = 120
const toPreview = (message: Message): string =>
  contentText(message.content).slice(0, 2_000).replace(/\s+/g, ' ').trim().slice(0, PREVIEW_CHARS)

const applyPatch = (meta: Meta, patch: MetaPatch): Meta =>
  Object.fromEntries(
    Object.entries({ ...meta, ...patch }).filter(
      ([, value]) => value !== null && value !== undefined,
    ),
  )

/** A message that takes the place of another one becomes a version of it. */
const withVersion = (versions: readonly string[][], of: string, id: string): string[][] =>
  versions.some(group => group.includes(of))
    ? versions.map(group => (group.includes(of) ? [...group, id] : group))
    : [...versions, [of, id]]

/** As `applyEntry`, without the preview: of all messages of a file, only the last has one. */
const advance = (summary: Summary, entry: JournalEntry): void => {
  if (entry.n < summary.nextN) summary.clean = false
  else summary.nextN = entry.n + 1
  switch (entry.t) {
    case 'session': {
      const { created_at, updated_at, ...meta } = entry.meta
      summary.meta = applyPatch({}, meta)
      summary.created_at = typeof created_at === 'number' ? created_at : entry.at
      summary.updated_at = typeof updated_at === 'number' ? updated_at : entry.at
      summary.gen = entry.gen ?? 0
      return
    }
    case 'meta':
      summary.meta = applyPatch(summary.meta, entry.patch)
      return
    case 'message':
      summary.updated_at = Math.max(summary.updated_at, entry.at)
      summary.count += 1
      // Its time is not in its line.
      if (entry.message.timestamp === undefined) summary.clean = false
      if (summary.turn?.resumed && entry.message.role === 'assistant')
        summary.turn = { ...summary.turn, resumed: 0 }
      return
    case 'cut':
      summary.cuts = [
        ...summary.cuts.filter(([, after]) => after < entry.after),
        [entry.n, entry.after],
      ]
      summary.spans = summary.spans.filter(({ to }) => to <= entry.after)
      return
    case 'uncut':
    case 'show':
      // Cuts inside the undone one may have been dropped above: only a complete fold knows what is visible.
      return
    case 'asked':
      summary.questions = [...summary.questions, entry.question]
      return
    case 'answered':
      summary.questions = summary.questions.filter(question => questionId(question) !== entry.id)
      if (summary.turn && !entry.auto) {
        const { missed: _, ...turn } = summary.turn
        summary.turn = { ...turn, ...(reasonOf(entry) === 'timeout' && { missed: true }) }
      }
      return
    case 'turn_started': {
      const { stream_id, model, provider, message_id, at, resumable, by, external } = entry
      const { replaces } = entry
      if (replaces) summary.versions = withVersion(summary.versions, replaces, message_id)
      summary.turn = {
        ...{ stream_id, model, provider, message_id, at, how: null, usage: null },
        ...(resumable && { resumable }),
        ...(by && { by }),
        ...(external && { external }),
      }
      return
    }
    case 'turn_parked':
      // It did not end the process, however often that has stopped.
      if (summary.turn?.stream_id === entry.stream_id && summary.turn.resumed)
        summary.turn = { ...summary.turn, resumed: 0 }
      return
    case 'turn_resumed':
      if (summary.turn?.stream_id === entry.stream_id)
        summary.turn = { ...summary.turn, resumed: (summary.turn.resumed ?? 0) + 1 }
      return
    case 'turn_ended':
      if (summary.turn?.stream_id === entry.stream_id) {
        const { how, usage = null, limit } = entry
        summary.turn = { ...summary.turn, how, usage, ...(limit && { limit }) }
      }
      return
    case 'renamed':
      summary.aliases = [...new Set([...summary.aliases, entry.from])]
      summary.renamedTo = entry.to
      return
    case 'sent':
      summary.told = toldApprovals(entry.n, entry.id, entry.before) ?? summary.told
      return
    case 'provider_state':
      return
    case 'summary':
      summary.spans = [...summary.spans, toSpan(entry)]
      return
    case 'unsummary':
      summary.spans = summary.spans.filter(({ n }) => n !== entry.summary)
      return
  }
}

/**
 * Updates `summary` with the next line, in place. After a cut, an uncut or a show, the caller must set `count` and `preview`,
 * which depend on the messages.
 */
export const applyEntry = (summary: Summary, entry: JournalEntry): void => {
  advance(summary, entry)
  if (entry.t === 'message' && entry.message.role === 'user')
    summary.preview = toPreview(entry.message)
}

/** Hidden by an active cut. Only for clean journals, whose numbers rise. */
export const isHidden = (cuts: readonly [number, number][], n: number): boolean =>
  cuts.some(([at, after]) => after < n && n < at)

type FoldedLine = Message | SummaryEntry | AskedEntry

const isMessage = (item: FoldedLine): item is Message => 'role' in item
const isSummary = (item: FoldedLine): item is SummaryEntry =>
  !isMessage(item) && item.t === 'summary'

/** The messages among these, each with the decisions about what was asked after it. */
const withAnswers = (items: readonly FoldedLine[], answers: Answers): Message[] => {
  const messages: Message[] = []
  for (const item of items) {
    if (isMessage(item)) messages.push(item)
    else if (item.t === 'asked' && messages.length > 0) {
      const last = messages.length - 1
      messages[last] = withDecisions(messages[last]!, answers.decisionOf(item))
    }
  }
  return messages
}

type Cut = { n: number; after: number; above: number; undone: boolean }
/** The last `show`. */
type LastShow = { cuts: readonly [number, number][]; above: number }

/** For each of `ns` (in the order of lines), whether it is visible. `above` counts how many stood above the cut. */
const visible = (ns: readonly number[], cuts: readonly Cut[], last: LastShow): boolean[] => {
  const flags = new Array<boolean>(ns.length).fill(true)
  const inForce = cuts.filter(cut => !cut.undone)
  let lowestCut = Number.POSITIVE_INFINITY
  for (let index = ns.length - 1; index >= 0; index -= 1) {
    while (inForce.length > 0 && inForce.at(-1)!.above > index) {
      lowestCut = Math.min(lowestCut, inForce.pop()!.after)
    }
    const n = ns[index] as number
    flags[index] = n <= lowestCut && !(index < last.above && isHidden(last.cuts, n))
  }
  return flags
}

export type Fold = { summary: Summary; folded: Folded; usage: UsageRow[] }

/** Reads all lines, first to last, each as a step. */
export function* foldSteps(id: string, lines: Iterable<JournalLine>): Generator<void, Fold> {
  const summary = emptySummary(id)
  const turns: JournalEntry[] = []
  let begunAt: unknown
  const items: FoldedLine[] = []
  /** What a cut compares: the line number of a message or a question, the last line number a summary covers. */
  const ns: number[] = []
  const undone = new Set<FoldedLine>()
  /** Of messages among `items`. */
  let unstamped: number[] = []
  const answers = new Answers()
  const sent: Sent[] = []
  let cuts: Cut[] = []
  let shownLast: LastShow = { cuts: [], above: 0 }
  for (const { bytes } of lines) {
    yield
    if (bytes.length === 0) continue
    const text = bytes.toString()
    const entry = parseForTranscript(text)
    if (entry === 'unknown') {
      summary.nextN = Math.max(summary.nextN, numberOf(text) + 1)
      continue
    }
    if (entry === null) {
      summary.bad += 1
      summary.clean = false
      continue
    }
    advance(summary, entry)
    if (entry.t === 'turn_ended') {
      // Messages without a time, as imported ones may be, get that of the next turn that ends.
      const timestamp = Math.floor(entry.at)
      for (const index of unstamped) items[index] = { ...(items[index] as Message), timestamp }
      unstamped = []
    }
    if (entry.t === 'turn_started' || entry.t === 'turn_ended') turns.push(entry)
    else if (entry.t === 'session') begunAt = entry.meta.updated_at
    else if (entry.t === 'message' || entry.t === 'summary' || entry.t === 'asked') {
      if (entry.t === 'message' && !isPlainMessage(bytes, entry, text)) summary.clean = false
      if (entry.t === 'message' && entry.message.timestamp === undefined)
        unstamped.push(items.length)
      if (entry.t === 'asked') {
        if (!isQuestionLine(bytes)) summary.clean = false
        answers.ask(entry)
      }
      ns.push(entry.t === 'summary' ? entry.to : entry.n)
      items.push(entry.t === 'message' ? entry.message : entry)
    } else if (entry.t === 'answered') {
      if (!isQuestionLine(bytes)) summary.clean = false
      answers.answer(entry)
    } else if (entry.t === 'sent') sent.push(toSent(entry))
    else if (entry.t === 'unsummary') {
      for (const item of items) if (isSummary(item) && item.n === entry.summary) undone.add(item)
    } else if (entry.t === 'cut') {
      cuts.push({ n: entry.n, after: entry.after, above: ns.length, undone: false })
    } else if (entry.t === 'show') {
      cuts = [{ n: entry.n, after: entry.after, above: ns.length, undone: false }]
      shownLast = { cuts: entry.cuts, above: ns.length }
    } else if (entry.t === 'uncut') {
      for (const cut of cuts) if (cut.n === entry.cut) cut.undone = true
    }
  }
  const flags = visible(ns, cuts, shownLast)
  const seen = items.filter((item, index) => flags[index] && !undone.has(item))
  const messages = withAnswers(seen, answers)
  const last = messages.findLast(message => message.role === 'user')
  summary.count = messages.length
  summary.preview = last ? toPreview(last) : ''
  const own = cuts.filter(cut => !cut.undone).map(({ n, after }): [number, number] => [n, after])
  summary.cuts = [...shownLast.cuts, ...own]
  const summaries = seen.filter(isSummary)
  summary.spans = summaries.map(toSpan)
  return {
    summary,
    usage: wholeUsage(summary.meta, turns, begunAt),
    folded: {
      ...summary,
      messages,
      numbers: ns.filter((_, index) => flags[index] && isMessage(items[index]!)),
      summaries,
      sent,
    },
  }
}

/** All steps at once. */
export const foldForward = (id: string, lines: Iterable<JournalLine>): Fold => {
  const steps = foldSteps(id, lines)
  let step = steps.next()
  while (!step.done) step = steps.next()
  return step.value
}
