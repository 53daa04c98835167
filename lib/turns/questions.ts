/**
 * The durable queue of approvals and clarifying questions that wait for the user.
 *
 * The first answer wins. A later answer gets the winning one back; no answer in time counts as no, and is recorded as such.
 */
import { shownReason } from '../agent/reasons.ts'
import { randomBytes } from 'node:crypto'
import { toSeconds } from '../base/clock.ts'
import type { AutoApproval } from '../schema/decision.ts'
import type {
  Approval,
  ApprovalChoice,
  Clarify,
  Question,
  Rule,
  Unanswered,
} from '../schema/question.ts'
import { Unapproved } from '../base/unapproved.ts'
import { visibleText, visibleWords } from '../base/visible.ts'
import { createOpenQuestions, idOf, type QuestionsOptions } from './open-questions.ts'

/** The result of `respond`: whether this answer won, and which one did. `reason`: it is too late, and no one had answered. */
export type AnswerResult = { accepted: boolean; answer: string | null; reason?: Unanswered }

export type AskOptions = {
  /** Called before an approval resolves that the user answered with a rule. */
  onRule?: (rule: Rule) => void
  /** Withdraws the question: what asked is gone. */
  signal?: AbortSignal | undefined
}

type Asked<Q extends Question> = Omit<Q, 'kind' | 'requested_at' | 'approval_id' | 'clarify_id'>

/** Shows what will run: every invisible character is made visible. */
const shownApproval = ({ diff, cwd, ...ask }: Asked<Approval>): Asked<Approval> => ({
  ...ask,
  command: visibleText(ask.command),
  pattern_key: visibleText(ask.pattern_key),
  pattern_keys: ask.pattern_keys.map(visibleText),
  description: visibleText(ask.description),
  ...(ask.reasons && { reasons: ask.reasons.map(each => shownReason(each, visibleText)) }),
  ...(cwd !== undefined && { cwd: visibleText(cwd) }),
  ...(diff !== undefined && { diff: visibleText(diff) }),
})

const shownClarify = (ask: Asked<Clarify>): Asked<Clarify> => ({
  ...ask,
  question: visibleWords(ask.question),
  choices_offered: ask.choices_offered.map(visibleWords),
})

export type Questions = ReturnType<typeof createQuestions>

export const createQuestions = (deps: QuestionsOptions) => {
  const open = createOpenQuestions(deps)
  const { pending, answered, reopen, restore, suspend, denyAll, close } = open

  return {
    pending,
    answered,
    reopen,
    restore,
    suspend,
    denyAll,
    close,
    /** The open questions of all sessions, for a page that opens. */
    all: (): Question[] => open.all().map(({ question }) => question),
    find: (id: string): Question | undefined => open.get(id)?.question,

    /**
     * Waits for the user. Throws `Unapproved` when there is no answer in `timeoutMs` (0: no timeout), or the request was
     * withdrawn; `deny` at the end of the turn.
     */
    async approve(
      ask: Asked<Approval>,
      timeoutMs: number,
      { onRule, signal }: AskOptions = {},
    ): Promise<ApprovalChoice> {
      const approval_id = randomBytes(16).toString('hex')
      const { answer, rule, reason } = await open.ask(
        {
          kind: 'approval',
          approval_id,
          requested_at: toSeconds(deps.clock.now()),
          ...shownApproval(ask),
        },
        timeoutMs,
        signal,
      )
      if (reason === 'timeout' || reason === 'withdrawn') throw new Unapproved(reason)
      if (rule) onRule?.(rule)
      return (answer ?? 'deny') as ApprovalChoice
    },

    /** Records what was allowed without a question. */
    noteAllowed(ask: Asked<Approval>, auto: AutoApproval): void {
      const approval_id = randomBytes(16).toString('hex')
      const requested_at = toSeconds(deps.clock.now())
      open.note({ kind: 'approval', approval_id, requested_at, ...shownApproval(ask) }, { auto })
    },

    /** Waits for the user; null when there is no answer in `timeoutMs` (0: no timeout), or the question was withdrawn. */
    async clarify(
      given: Asked<Clarify>,
      timeoutMs: number,
      { signal }: AskOptions = {},
    ): Promise<string | null> {
      const ask = shownClarify(given)
      const same = open
        .all()
        .find(
          ({ question }) =>
            question.kind === 'clarify' &&
            question.session_id === ask.session_id &&
            question.question === ask.question,
        )
      if (same) return (await same.answered).answer
      const clarify_id = randomBytes(16).toString('hex')
      const question = {
        kind: 'clarify' as const,
        clarify_id,
        requested_at: toSeconds(deps.clock.now()),
        ...ask,
      }
      return (await open.ask(question, timeoutMs, signal)).answer
    },

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
      ruleFor?: (asked: Question) => Rule | undefined,
    ): AnswerResult {
      const wanted = id || pending(sessionId, kind).map(idOf)[0]
      if (!wanted) return { accepted: false, answer: null }
      const question = open.get(wanted)?.question
      if (question?.session_id !== sessionId || question.kind !== kind) {
        const { by: _, ...known } = answered(wanted) ?? { answer: null, by: '' }
        return { accepted: false, ...known }
      }
      open.settle(wanted, answer, by, ruleFor?.(question))
      return { accepted: true, answer }
    },
  }
}
