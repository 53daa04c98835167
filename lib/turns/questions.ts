/**
 * The durable queue of approvals and clarifying questions that wait for the user: each is in the session's journal before it is shown, and
 * answered by the first answer that is appended. Compare and set happen in one tick. A later answer gets the winning one back; no answer in
 * time counts as no, and is recorded as such.
 */
import { randomBytes } from 'node:crypto'
import { shownReason } from '../agent/reasons.ts'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { isPlanApproval } from '../base/plan-answers.ts'
import { redact } from '../base/redact/redact.ts'
import { Unapproved } from '../base/unapproved.ts'
import { visibleText, visibleWords } from '../base/visible.ts'
import { messageOf } from '../errors.ts'
import type { Hub } from '../http/hub.ts'
import type { AutoApproval } from '../schema/decision.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import {
  type Approval,
  type ApprovalChoice,
  type Clarify,
  idOf,
  outlivesTurn,
  type Question,
  type Rule,
  type Unanswered,
} from '../schema/question.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Log } from './context/services.ts'

/** The result of `respond`: whether this answer won, and which one did. `reason`: it is too late, and no one had answered. */
export type AnswerResult = { accepted: boolean; answer: string | null; reason?: Unanswered }

/** `by`: an address, the name of a device, or the event that answered it: `timeout`, `cancel`, `end of turn` … */
export type AnswerRecord = { answer: string; by: string; reason?: Unanswered }

type AskOptions = {
  /** Called before an approval resolves that the user answered with a rule. */
  onRule?: (rule: Rule) => void
  /** Withdraws the question: what asked is gone. */
  signal?: AbortSignal | undefined
}

type NewQuestion<Q extends Question> = Omit<
  Q,
  'kind' | 'requested_at' | 'approval_id' | 'clarify_id'
>

/** What a turn asks with: the page, or a program that answers itself. */
export type Asker = Pick<Questions, 'approve' | 'clarify' | 'noteAllowed'>

type Resolution = { answer: string | null; rule?: Rule | undefined; reason?: Unanswered }

type OpenQuestion = {
  question: Question
  answered: Promise<Resolution>
  settle: (answered: Resolution) => void
  /** Without a time limit, nothing. */
  stopTimer: () => void
}

/** The same question of the same call. */
const isSame = (one: Question, other: Question): boolean =>
  one.session_id === other.session_id &&
  one.call_id === other.call_id &&
  (one.kind === 'approval'
    ? other.kind === 'approval' && one.command === other.command
    : other.kind === 'clarify' && one.question === other.question)

/** How the end of a turn is recorded in `answered` entries, among the addresses of those who answered. */
const unansweredBy = (by: string): Unanswered =>
  by === 'timeout' || by === 'withdrawn' ? by : 'ended'

const MAX_SETTLED = 1_000

const newId = (): string => randomBytes(16).toString('hex')

const noTimer = (): void => undefined

/** Shows what will run: every invisible character is made visible. */
const shownApproval = ({ diff, cwd, ...ask }: NewQuestion<Approval>): NewQuestion<Approval> => ({
  ...ask,
  command: visibleText(ask.command),
  pattern_key: visibleText(ask.pattern_key),
  pattern_keys: ask.pattern_keys.map(visibleText),
  description: visibleText(ask.description),
  ...(ask.reasons && { reasons: ask.reasons.map(each => shownReason(each, visibleText)) }),
  ...(cwd !== undefined && { cwd: visibleText(cwd) }),
  ...(diff !== undefined && { diff: visibleText(diff) }),
})

export class Questions {
  readonly #sessions: Sessions
  readonly #hub: Hub
  readonly #clock: Clock
  readonly #log: Log['error']
  /** The log of the session's running turn, if there is one. */
  readonly #turnLog: (sessionId: string) => { append: (event: TurnEvent) => void } | undefined
  readonly #open = new Map<string, OpenQuestion>()
  /** Questions of turns that continue after a restart, until the call that asked asks again. */
  readonly #restored = new Set<OpenQuestion>()
  /** Answers given in this process, newest last, to report the winner to late ones. */
  readonly #settled = new Map<string, AnswerRecord>()

  constructor(
    {
      sessions,
      hub,
      clock,
      log,
    }: { sessions: Sessions; hub: Hub; clock: Clock; log: Log['error'] },
    turnLog: (sessionId: string) => { append: (event: TurnEvent) => void } | undefined,
  ) {
    this.#sessions = sessions
    this.#hub = hub
    this.#clock = clock
    this.#log = log
    this.#turnLog = turnLog
  }

  /** The open questions of a session. */
  pending(sessionId: string, kind?: Question['kind']): Question[] {
    return this.all().filter(
      q => q.session_id === sessionId && (kind === undefined || q.kind === kind),
    )
  }

  /** The open questions of all sessions. */
  all(): Question[] {
    return [...this.#open.values()].map(({ question }) => question)
  }

  find(id: string): Question | undefined {
    return this.#open.get(id)?.question
  }

  /** How a question was answered in this process; undefined when it is open or unknown. */
  answered(id: string): AnswerRecord | undefined {
    return this.#settled.get(id)
  }

  /**
   * Waits for the user. Throws `Unapproved` when there is no answer in `timeoutMs` (0: no timeout), or the request was
   * withdrawn; `deny` at the end of the turn.
   */
  async approve(
    ask: NewQuestion<Approval>,
    timeoutMs: number,
    { onRule, signal }: AskOptions = {},
  ): Promise<ApprovalChoice> {
    const question = this.#approvalOf(ask)
    const { answer, rule, reason } = await this.#ask(question, timeoutMs, signal)
    if (reason === 'timeout' || reason === 'withdrawn') throw new Unapproved(reason)
    if (rule) onRule?.(rule)
    return (answer ?? 'deny') as ApprovalChoice
  }

  /** Records what was allowed without a question. A full disk must not keep it from running. */
  noteAllowed(ask: NewQuestion<Approval>, auto: AutoApproval): void {
    const question = this.#approvalOf(ask)
    const { approval_id: id, kind } = question
    try {
      this.#sessions.append(question.session_id, [
        { t: 'asked', question },
        { t: 'answered', id, kind, answer: 'once', auto },
      ])
      this.#emitAnswered(question, { answer: 'once' })
    } catch (error) {
      this.#log('could not record what was allowed', { id, error: messageOf(error) })
    }
  }

  /** Waits for the user; null when there is no answer in `timeoutMs` (0: no timeout), or the question was withdrawn. */
  async clarify(
    ask: NewQuestion<Clarify>,
    timeoutMs: number,
    { signal }: AskOptions = {},
  ): Promise<string | null> {
    const question: Clarify = {
      kind: 'clarify',
      clarify_id: newId(),
      requested_at: toSeconds(this.#clock.now()),
      ...ask,
      question: visibleWords(ask.question),
      choices_offered: ask.choices_offered.map(visibleWords),
    }
    const same = [...this.#open.values()].find(
      ({ question: other }) =>
        other.kind === 'clarify' &&
        other.session_id === ask.session_id &&
        other.question === question.question,
    )
    return (await (same ? same.answered : this.#ask(question, timeoutMs, signal))).answer
  }

  /**
   * The first answer wins. Without an id the session's oldest question of that kind is answered. An id that is not open
   * never answers another question, because that would approve something the user did not see.
   */
  respond(
    sessionId: string,
    kind: Question['kind'],
    id: string | undefined,
    answer: string,
    by: string,
    /** Validates the rule that came with the answer; when it throws, the question stays open. */
    ruleFor?: (question: Question) => Rule | undefined,
  ): AnswerResult {
    const target = id || this.pending(sessionId, kind).map(idOf)[0]
    if (!target) return { accepted: false, answer: null }
    const question = this.find(target)
    if (question?.session_id !== sessionId || question.kind !== kind) {
      const { by: _, ...earlier } = this.answered(target) ?? { answer: null, by: '' }
      return { accepted: false, ...earlier }
    }
    this.#settle(target, answer, by, ruleFor?.(question))
    return { accepted: true, answer }
  }

  /** Registers a question of the journal whose turn has ended. `onAnswer` is not called when it is denied. */
  reopen(question: Question, onAnswer: (answer: string) => void): void {
    this.#open.set(idOf(question), {
      question,
      answered: new Promise(() => undefined),
      settle: ({ answer }) => answer !== null && onAnswer(answer),
      stopTimer: noTimer,
    })
    this.#showWaiting(question.session_id)
  }

  /** Opens a question of a turn that continues. The call that asked it asks again, and gets its answer. */
  restore(question: Question): void {
    this.#restored.add(this.#add(question, true))
  }

  /** Forgets the open questions of a session, which stay open in its journal: the turn continues in another process. */
  suspend(sessionId: string): void {
    for (const id of this.pending(sessionId).map(idOf)) {
      this.#open.get(id)?.stopTimer()
      this.#open.delete(id)
    }
  }

  /** Denies the open questions of a session, at the end of its turn. `except`: those that stay open. */
  denyAll(sessionId: string, by: string, except?: (question: Question) => boolean): void {
    for (const question of this.pending(sessionId))
      if (!except?.(question)) this.#settle(idOf(question), null, by)
    for (const each of this.#restored)
      if (each.question.session_id === sessionId) this.#restored.delete(each)
  }

  close(): void {
    for (const entry of this.#open.values()) entry.stopTimer()
    this.#open.clear()
  }

  #approvalOf(ask: NewQuestion<Approval>): Approval {
    return {
      kind: 'approval',
      approval_id: newId(),
      requested_at: toSeconds(this.#clock.now()),
      ...shownApproval(ask),
    }
  }

  #showWaiting(sessionId: string): void {
    this.#sessions.setLive(sessionId, { waiting: this.pending(sessionId).length })
  }

  /** Asks, or finds the question that the same call asked before a restart. */
  async #ask(
    draft: Question,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Resolution> {
    if (signal?.aborted) return { answer: null, reason: 'withdrawn' }
    const before = [...this.#restored].find(each => isSame(each.question, draft))
    if (before) {
      this.#restored.delete(before)
      return this.#untilAnswered(before, signal)
    }
    const question: Question =
      timeoutMs > 0 ? { ...draft, expires_at: draft.requested_at + toSeconds(timeoutMs) } : draft
    const { session_id } = question
    this.#sessions.append(session_id, [{ t: 'asked', question }])
    const entry = this.#add(question)
    this.#turnLog(session_id)?.append(
      question.kind === 'approval'
        ? { type: 'approval', data: question }
        : { type: 'clarify', data: question },
    )
    this.#hub.publish('inbox', { type: 'asked', data: question })
    return this.#untilAnswered(entry, signal)
  }

  #untilAnswered(
    { question, answered }: OpenQuestion,
    signal: AbortSignal | undefined,
  ): Promise<Resolution> {
    const withdraw = () => this.#expire(idOf(question), 'withdrawn')
    signal?.addEventListener('abort', withdraw, { once: true })
    return answered.finally(() => signal?.removeEventListener('abort', withdraw))
  }

  /**
   * Opens a question of the journal. It waits for a page that shows it to a person who may answer, whatever the time limit. `isRestored`:
   * pages connect again only after the start, so it is open for its whole time limit once more.
   */
  #add(question: Question, isRestored = false): OpenQuestion {
    const id = idOf(question)
    const { promise, resolve } = Promise.withResolvers<Resolution>()
    const { expires_at: end, requested_at: start } = question
    let stopTimer = noTimer
    if (end !== undefined) {
      const limitMs = fromSeconds(end - start)
      const waitFor = (milliseconds: number): void => {
        stopTimer = this.#clock.timer(milliseconds, () =>
          this.#hub.isShown(question) ? waitFor(limitMs) : this.#expire(id, 'timeout'),
        )
      }
      waitFor(isRestored ? limitMs : fromSeconds(end) - this.#clock.now())
    }
    const entry = { question, answered: promise, settle: resolve, stopTimer: () => stopTimer() }
    this.#open.set(id, entry)
    this.#showWaiting(question.session_id)
    return entry
  }

  /** Records the answer; `null` is none: a timeout or the end of the turn. An approved plan ends plan mode in the same write. */
  #settle(id: string, reply: string | null, by: string, rule?: Rule): void {
    const entry = this.#open.get(id)
    if (!entry) return
    const { question } = entry
    const { kind, session_id } = question
    const answer = reply ?? (kind === 'approval' ? 'deny' : '')
    const reason = reply === null ? { reason: unansweredBy(by) } : {}
    const isPlan = outlivesTurn(question) && isPlanApproval(answer)
    // On disk first, so that it stays answered after a restart.
    this.#sessions.append(session_id, [
      { t: 'answered', id, kind, answer, by, ...(rule && { rule }), ...reason },
      ...(isPlan ? [{ t: 'meta' as const, patch: { mode: 'normal' as const } }] : []),
    ])
    this.#open.delete(id)
    entry.stopTimer()
    this.#settled.set(id, { answer, by, ...reason })
    if (this.#settled.size > MAX_SETTLED) this.#settled.delete(this.#settled.keys().next().value!)
    this.#showWaiting(session_id)
    this.#emitAnswered(question, { answer, ...reason })
    const data = { id, session_id, answer: redact(answer), ...reason }
    this.#hub.publish('inbox', { type: 'settled', data })
    entry.settle({ answer: reply, rule, ...reason })
  }

  /** Settles a question that got no answer. An error thrown from a timer or a signal would end the process, so on a full disk it is not written. */
  #expire(id: string, by: 'timeout' | 'withdrawn'): void {
    try {
      this.#settle(id, null, by)
    } catch (error) {
      this.#log('could not record the answer of a question', { id, error: messageOf(error) })
      const entry = this.#open.get(id)
      this.#open.delete(id)
      entry?.settle({ answer: null, reason: by })
    }
  }

  /** Says so to the readers of the turn, or of a plan whose turn has ended, with the decisions of the message that it belongs to. */
  #emitAnswered(
    question: Question,
    { answer, ...reason }: { answer: string; reason?: Unanswered },
  ): void {
    const { kind, session_id } = question
    const id = idOf(question)
    const message = this.#askedAfter(session_id, id)
    const event: TurnEvent = {
      type: 'answered',
      data: {
        ...{ id, kind, answer: redact(answer), ...reason },
        ...(message?._decisions && { message_id: message.id, decisions: message._decisions }),
      },
    }
    const log = this.#turnLog(session_id)
    if (log) log.append(event)
    else this.#hub.publish(`session:${session_id}`, event)
  }

  /** One of the last messages, except for a plan that waited through later turns; undefined before the first message. */
  #askedAfter(sessionId: string, id: string): Message | undefined {
    const isIn = ({ _decisions: all }: Message) => all?.some(each => each.id === id)
    for (const limit of [8, Number.MAX_SAFE_INTEGER]) {
      const message = this.#sessions.tail(sessionId, { limit }).messages.findLast(isIn)
      if (message) return message
    }
    return undefined
  }
}
