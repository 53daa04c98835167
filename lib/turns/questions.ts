/**
 * One durable queue of what waits for a person: approvals and the agent's own questions.
 *
 * A question is a row of the session's journal before anybody sees it, and is answered by the first append that follows:
 * the compare and the set happen in one tick. A late answer is told who won; no answer in time is a no.
 */
import { randomBytes } from 'node:crypto'
import { messageOf } from '../errors.ts'
import { redact } from '../redact/redact.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Approval, ApprovalChoice, Clarify, Question } from '../schema/question.ts'
import type { SessionRow } from '../schema/session.ts'
import { visibleText, visibleWords } from '../base/visible.ts'
import type { Rule } from '../schema/question.ts'

type QuestionEntry =
  | { t: 'asked'; question: Question }
  | { t: 'answered'; id: string; kind: Question['kind']; answer: string; by?: string }

export type QuestionsOptions = {
  append: (sessionId: string, entries: QuestionEntry[]) => unknown
  setLive: (sessionId: string, patch: Partial<Pick<SessionRow, 'waiting'>>) => void
  /** Into the log of the session's running turn, if one runs. */
  emit: (sessionId: string, event: TurnEvent) => void
  /** To every open page. */
  publish: (
    event:
      | { type: 'asked'; data: Question }
      | { type: 'settled'; data: { id: string; session_id: string; answer: string } },
  ) => void
  now: () => number
  log: (message: string, extra?: Record<string, unknown>) => void
}

type Said = { answer: string | null; rule: Rule | undefined }

type Open = {
  question: Question
  said: Promise<Said>
  settle: (said: Said) => void
  timer: NodeJS.Timeout | undefined
}

/** What the caller of `respond` learns: whether this answer counted, and which one did. */
export type AnswerResult = { accepted: boolean; answer: string | null }

type Asked<Q extends Question> = Omit<Q, 'kind' | 'requested_at' | 'approval_id' | 'clarify_id'>

/** What is shown is what runs, whoever asks: no character of it is hidden. */
const shownApproval = ({ diff, cwd, ...ask }: Asked<Approval>): Asked<Approval> => ({
  ...ask,
  command: visibleText(ask.command),
  pattern_key: visibleText(ask.pattern_key),
  pattern_keys: ask.pattern_keys.map(visibleText),
  description: visibleText(ask.description),
  ...(cwd !== undefined && { cwd: visibleText(cwd) }),
  ...(diff !== undefined && { diff: visibleText(diff) }),
})

const shownClarify = (ask: Asked<Clarify>): Asked<Clarify> => ({
  ...ask,
  question: visibleWords(ask.question),
  choices_offered: ask.choices_offered.map(visibleWords),
})

export const idOf = (question: Question): string =>
  question.kind === 'approval' ? question.approval_id : question.clarify_id

const REMEMBERED = 1_000

export type Questions = ReturnType<typeof createQuestions>

export const createQuestions = (deps: QuestionsOptions) => {
  const open = new Map<string, Open>()
  /** Answers of this process, newest last, so that a late one can be told who won. */
  const settled = new Map<string, string>()

  const pending = (sessionId: string, kind?: Question['kind']): Question[] =>
    [...open.values()]
      .map(entry => entry.question)
      .filter(q => q.session_id === sessionId && (kind === undefined || q.kind === kind))

  const showWaiting = (sessionId: string): void =>
    deps.setLive(sessionId, { waiting: pending(sessionId).length })

  /** Files the answer; `null` is nobody's: a time-out or the end of the turn. */
  const settle = (id: string, answer: string | null, by: string, rule?: Rule): void => {
    const entry = open.get(id)
    if (!entry) return
    const { question } = entry
    const said = answer ?? (question.kind === 'approval' ? 'deny' : '')
    // On disk first: whoever comes later, even after a restart, finds it answered.
    deps.append(question.session_id, [{ t: 'answered', id, kind: question.kind, answer: said, by }])
    open.delete(id)
    clearTimeout(entry.timer)
    settled.set(id, said)
    if (settled.size > REMEMBERED) settled.delete(settled.keys().next().value!)
    showWaiting(question.session_id)
    deps.emit(question.session_id, {
      type: 'answered',
      data: { id, kind: question.kind, answer: redact(said) },
    })
    deps.publish({
      type: 'settled',
      data: { id, session_id: question.session_id, answer: redact(said) },
    })
    entry.settle({ answer, rule })
  }

  /** Nobody answered in time. Thrown out of a timer, a full disk would end the process: the no then stands unwritten. */
  const expire = (id: string): void => {
    try {
      settle(id, null, 'timeout')
    } catch (error) {
      deps.log('a question could not be closed', { id, error: messageOf(error) })
      const entry = open.get(id)
      open.delete(id)
      entry?.settle({ answer: null, rule: undefined })
    }
  }

  const file = (question: Question, timeoutMs: number): Promise<Said> => {
    const id = idOf(question)
    deps.append(question.session_id, [{ t: 'asked', question }])
    const { promise, resolve } = Promise.withResolvers<Said>()
    const timer = timeoutMs > 0 ? setTimeout(() => expire(id), timeoutMs) : undefined
    timer?.unref()
    open.set(id, { question, said: promise, settle: resolve, timer })
    showWaiting(question.session_id)
    deps.emit(
      question.session_id,
      question.kind === 'approval'
        ? { type: 'approval', data: question }
        : { type: 'clarify', data: question },
    )
    deps.publish({ type: 'asked', data: question })
    return promise
  }

  return {
    pending,
    /** Everything that waits, whatever the session: what a page needs when it opens. */
    all: (): Question[] => [...open.values()].map(entry => entry.question),

    /** Waits for a person; `deny` when nobody answers in `timeoutMs` (0: waits for ever). */
    async approve(
      ask: Asked<Approval>,
      timeoutMs: number,
      /** Called before it resolves when the person answered with a rule of their own. */
      onRule?: (rule: Rule) => void,
    ): Promise<ApprovalChoice> {
      const approval_id = randomBytes(16).toString('hex')
      const { answer, rule } = await file(
        { kind: 'approval', approval_id, requested_at: deps.now(), ...shownApproval(ask) },
        timeoutMs,
      )
      if (rule) onRule?.(rule)
      return (answer ?? 'deny') as ApprovalChoice
    },

    /** Waits for a person; null when nobody answers in `timeoutMs`. */
    async clarify(given: Asked<Clarify>, timeoutMs: number): Promise<string | null> {
      const ask = shownClarify(given)
      const same = [...open.values()].find(
        ({ question }) =>
          question.kind === 'clarify' &&
          question.session_id === ask.session_id &&
          question.question === ask.question,
      )
      if (same) return (await same.said).answer
      const clarify_id = randomBytes(16).toString('hex')
      const question = { kind: 'clarify' as const, clarify_id, requested_at: deps.now(), ...ask }
      return (await file(question, timeoutMs)).answer
    },

    /**
     * The first answer wins. Without an id the session's oldest question of that kind is meant; an id that is not open
     * answers nothing else in its place, because that would approve what the person never saw.
     */
    respond(
      sessionId: string,
      kind: Question['kind'],
      id: string | undefined,
      answer: string,
      by: string,
      /** Reads what came with the answer against the question; what it throws leaves the question open. */
      ruleFor?: (asked: Question) => Rule | undefined,
    ): AnswerResult {
      const wanted = id || pending(sessionId, kind).map(idOf)[0]
      if (!wanted) return { accepted: false, answer: null }
      const question = open.get(wanted)?.question
      if (question?.session_id !== sessionId || question.kind !== kind) {
        return { accepted: false, answer: settled.get(wanted) ?? null }
      }
      settle(wanted, answer, by, ruleFor?.(question))
      return { accepted: true, answer }
    },

    /** The turn is over: what it still asked is denied. */
    denyAll(sessionId: string, by: string): void {
      for (const question of pending(sessionId)) settle(idOf(question), null, by)
    },

    close(): void {
      for (const entry of open.values()) clearTimeout(entry.timer)
      open.clear()
    },
  }
}
