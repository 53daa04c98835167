/**
 * The questions that are open now, and how those of this process were settled: written to the session's journal before they
 * are shown, answered by the first answer that is appended. Compare and set happen in one tick.
 */
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import { redact } from '../base/redact/redact.ts'
import type { AutoApproval } from '../schema/decision.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import type { Question, Rule, Unanswered } from '../schema/question.ts'
import type { SessionRow } from '../schema/session.ts'
import type { NewEntry } from '../sessions/entries.ts'
import { isPlanApproval } from '../base/plan-answers.ts'

type QuestionEntry =
  | Extract<NewEntry, { t: 'asked' | 'answered' }>
  | { t: 'meta'; patch: { mode: 'normal' } }

export type QuestionsOptions = {
  append: (sessionId: string, entries: QuestionEntry[]) => unknown
  /** The message that a question was asked after, with its decisions; undefined before the first message. */
  askedAfter: (sessionId: string, id: string) => Message | undefined
  setLive: (sessionId: string, patch: Partial<Pick<SessionRow, 'waiting'>>) => void
  /** Appends to the log of the session's running turn, if there is one. */
  emit: (sessionId: string, event: TurnEvent) => void
  /** Sends to every open page. */
  publish: (
    event:
      | { type: 'asked'; data: Question }
      | {
          type: 'settled'
          data: { id: string; session_id: string; answer: string; reason?: Unanswered }
        },
  ) => void
  /** Whether a page is open that shows the question to a person who may answer it: it waits for them, whatever the time limit. */
  isShown: (question: Question) => boolean
  clock: Pick<Clock, 'now' | 'timer'>
  log: (message: string, extra?: Record<string, unknown>) => void
}

export type Resolution = { answer: string | null; rule?: Rule | undefined; reason?: Unanswered }

type Open = {
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

/** `by`: an address, the name of a device, or the event that answered it: `timeout`, `cancel`, `end of turn` … */
export type GivenAnswer = { answer: string; by: string; reason?: Unanswered }

export const idOf = (question: Question): string =>
  question.kind === 'approval' ? question.approval_id : question.clarify_id

/** It stays open when the service stops, so that a plan is not lost. */
export const outlivesTurn = (question: Question): boolean =>
  question.kind === 'clarify' && question.plan === true

/** An approved plan ends plan mode in the same write. */
const planEntries = (question: Question, answer: string): QuestionEntry[] =>
  outlivesTurn(question) && isPlanApproval(answer) ? [{ t: 'meta', patch: { mode: 'normal' } }] : []

const MAX_SETTLED = 1_000

const noTimer = (): void => undefined

/** Appends the answer to the log of the turn, with the decisions of the message that it belongs to. */
const emitAnswered = (
  { askedAfter, emit }: Pick<QuestionsOptions, 'askedAfter' | 'emit'>,
  question: Question,
  { answer, ...reason }: { answer: string; reason?: Unanswered },
): void => {
  const id = idOf(question)
  const message = askedAfter(question.session_id, id)
  emit(question.session_id, {
    type: 'answered',
    data: {
      ...{ id, kind: question.kind, answer: redact(answer), ...reason },
      ...(message?._decisions && { message_id: message.id, decisions: message._decisions }),
    },
  })
}

export const createOpenQuestions = (deps: QuestionsOptions) => {
  const open = new Map<string, Open>()
  /** Questions of turns that continue after a restart, until the call that asked asks again. */
  const restored = new Set<Open>()
  /** Answers given in this process, newest last, to report the winner to late ones. */
  const settled = new Map<string, GivenAnswer>()

  const pending = (sessionId: string, kind?: Question['kind']): Question[] =>
    [...open.values()]
      .map(entry => entry.question)
      .filter(q => q.session_id === sessionId && (kind === undefined || q.kind === kind))

  const showWaiting = (sessionId: string): void =>
    deps.setLive(sessionId, { waiting: pending(sessionId).length })

  /** Records the answer; `null` is none: a timeout or the end of the turn. */
  const settle = (id: string, answer: string | null, by: string, rule?: Rule): void => {
    const entry = open.get(id)
    if (!entry) return
    const { question } = entry
    const answered = answer ?? (question.kind === 'approval' ? 'deny' : '')
    const reason = answer === null ? { reason: unansweredBy(by) } : {}
    // On disk first, so that it stays answered after a restart.
    deps.append(question.session_id, [
      {
        t: 'answered',
        id,
        kind: question.kind,
        answer: answered,
        by,
        ...(rule && { rule }),
        ...reason,
      },
      ...planEntries(question, answered),
    ])
    open.delete(id)
    entry.stopTimer()
    settled.set(id, { answer: answered, by, ...reason })
    if (settled.size > MAX_SETTLED) settled.delete(settled.keys().next().value!)
    showWaiting(question.session_id)
    emitAnswered(deps, question, { answer: answered, ...reason })
    deps.publish({
      type: 'settled',
      data: { id, session_id: question.session_id, answer: redact(answered), ...reason },
    })
    entry.settle({ answer, rule, ...reason })
  }

  /** Settles a question that got no answer. An error thrown from a timer or a signal would end the process, so on a full disk it is not written. */
  const expire = (id: string, by: 'timeout' | 'withdrawn'): void => {
    try {
      settle(id, null, by)
    } catch (error) {
      deps.log('could not record the answer of a question', { id, error: messageOf(error) })
      const entry = open.get(id)
      open.delete(id)
      entry?.settle({ answer: null, reason: by })
    }
  }

  /**
   * Opens a question of the journal. `isRestored`: pages connect again only after the start, so it is open for its whole time
   * limit once more.
   */
  const add = (question: Question, isRestored = false): Open => {
    const id = idOf(question)
    const { promise, resolve } = Promise.withResolvers<Resolution>()
    const { expires_at: end, requested_at: start } = question
    let stopTimer = noTimer
    if (end !== undefined) {
      const limitMs = fromSeconds(end - start)
      const waitFor = (milliseconds: number): void => {
        stopTimer = deps.clock.timer(milliseconds, () =>
          deps.isShown(question) ? waitFor(limitMs) : expire(id, 'timeout'),
        )
      }
      waitFor(isRestored ? limitMs : fromSeconds(end) - deps.clock.now())
    }
    const entry = { question, answered: promise, settle: resolve, stopTimer: () => stopTimer() }
    open.set(id, entry)
    showWaiting(question.session_id)
    return entry
  }

  const untilAnswered = (
    { question, answered }: Open,
    signal: AbortSignal | undefined,
  ): Promise<Resolution> => {
    const withdraw = () => expire(idOf(question), 'withdrawn')
    signal?.addEventListener('abort', withdraw, { once: true })
    return answered.finally(() => signal?.removeEventListener('abort', withdraw))
  }

  /** Asks, or finds the question that the same call asked before a restart. */
  const ask = async (
    asked: Question,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Resolution> => {
    if (signal?.aborted) return { answer: null, reason: 'withdrawn' }
    const before = [...restored].find(each => isSame(each.question, asked))
    if (before) {
      restored.delete(before)
      return untilAnswered(before, signal)
    }
    const question: Question =
      timeoutMs > 0 ? { ...asked, expires_at: asked.requested_at + toSeconds(timeoutMs) } : asked
    deps.append(question.session_id, [{ t: 'asked', question }])
    const entry = add(question)
    deps.emit(
      question.session_id,
      question.kind === 'approval'
        ? { type: 'approval', data: question }
        : { type: 'clarify', data: question },
    )
    deps.publish({ type: 'asked', data: question })
    return untilAnswered(entry, signal)
  }

  return {
    pending,
    settle,
    ask,
    get: (id: string): Open | undefined => open.get(id),
    /** The open questions of all sessions. */
    all: (): Open[] => [...open.values()],
    /** How a question was answered in this process; undefined when it is open or unknown. */
    answered: (id: string): GivenAnswer | undefined => settled.get(id),

    /** Records what was allowed without a question. A full disk must not keep it from running. */
    note(question: Question, by: { auto: AutoApproval }): void {
      const id = idOf(question)
      try {
        deps.append(question.session_id, [
          { t: 'asked', question },
          { t: 'answered', id, kind: question.kind, answer: 'once', ...by },
        ])
        emitAnswered(deps, question, { answer: 'once' })
      } catch (error) {
        deps.log('could not record what was allowed', { id, error: messageOf(error) })
      }
    },

    /** Registers a question of the journal whose turn has ended. `onAnswer` is not called when it is denied. */
    reopen(question: Question, onAnswer: (answer: string) => void): void {
      open.set(idOf(question), {
        question,
        answered: new Promise(() => undefined),
        settle: ({ answer }) => answer !== null && onAnswer(answer),
        stopTimer: noTimer,
      })
      showWaiting(question.session_id)
    },

    /** Opens a question of a turn that continues. The call that asked it asks again, and gets its answer. */
    restore(question: Question): void {
      restored.add(add(question, true))
    },

    /** Forgets the open questions of a session, which stay open in its journal: the turn continues in another process. */
    suspend(sessionId: string): void {
      for (const question of pending(sessionId)) {
        open.get(idOf(question))?.stopTimer()
        open.delete(idOf(question))
      }
    },

    /** Denies the open questions of a session, at the end of its turn. `except`: those that stay open. */
    denyAll(sessionId: string, by: string, except?: (question: Question) => boolean): void {
      for (const question of pending(sessionId))
        if (!except?.(question)) settle(idOf(question), null, by)
      for (const each of restored) if (each.question.session_id === sessionId) restored.delete(each)
    },

    close(): void {
      for (const entry of open.values()) entry.stopTimer()
      open.clear()
    },
  }
}
