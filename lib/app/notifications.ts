/** Composition: which events of turns, questions, and tasks are reported, and how an answer in a notification counts. */
import { unrecognizedName } from '../agent/shell/labels.ts'
import { openThrottle, type Throttle } from '../auth/throttle.ts'
import { conflict, invalid } from '../errors.ts'
import { allowNone, type Allow } from '../http/public-address.ts'
import type { EndedRun } from '../cron/cron.ts'
import { plainText } from '../notifications/message.ts'
import { createNotifications, type Notifications } from '../notifications/notifications.ts'
import type { AnswerToken } from '../notifications/outbox.ts'
import { redact, watchSecrets } from '../redact/redact.ts'
import type { Approval, Question } from '../schema/question.ts'
import type { EndedTurn } from '../turns/end-turn.ts'
import { type GivenAnswer, idOf } from '../turns/questions.ts'
import type { Composition } from './data.ts'
import type { Engine } from './engine.ts'

/** Replaced in tests, whose push service is on this computer. */
export type NotificationTestOptions = { allowPush?: Allow; firstDelayMs?: number }

export type NotificationServices = {
  notifications: Notifications
  /** Wrong tokens count as wrong passwords do, but apart from them. */
  answerThrottle: Throttle
  /** Answers the question of a token; throws a conflict that says who was first. */
  answerByToken: (token: AnswerToken, text: string | undefined) => string
}

const isBudget = ({ pattern_key: key }: Approval): boolean => key.startsWith('budget: ')

/**
 * Whether more than a tap on a lock screen is wanted. A program that is only unknown, and more of a budget, are not risky; all other
 * reasons to ask name damage that a command may do.
 */
export const isRisky = (approval: Approval): boolean =>
  approval.runs_in === 'outside' ||
  !(isBudget(approval) || approval.pattern_keys.every(key => unrecognizedName(key) !== null))

const reportQuestion = ({ report }: Notifications, question: Question, profile: string): void => {
  const id = idOf(question)
  const isApproval = question.kind === 'approval'
  report({
    key: `question:${id}`,
    kind: !isApproval ? 'question' : isBudget(question) ? 'budget' : 'approval',
    session_id: question.session_id,
    profile,
    text: isApproval
      ? isBudget(question)
        ? question.description
        : question.command
      : question.question,
    question_id: id,
  })
}

const reportTurn = ({ report }: Notifications, ended: EndedTurn, profile: string): void => {
  const { failure, sessionId, streamId, text } = ended
  report({
    key: `turn:${streamId}`,
    kind: !failure ? 'finished' : failure.type === 'budget_reached' ? 'budget' : 'failed',
    session_id: sessionId,
    profile,
    // Masked first: a secret without its underscores, or with its end cut off, is not recognized.
    text: failure ? failure.message : plainText(redact(text)),
  })
}

const reportRun = ({ report }: Notifications, run: EndedRun, profile: string): void => {
  const { how, status, error, name, run_id, job_id, session_id } = run
  if (how === 'skipped') return
  report({
    key: `run:${profile}:${run_id}`,
    kind: how === 'ran' && status === 'ok' ? 'task_done' : 'task_failed',
    session_id,
    profile,
    title: name,
    text: how === 'missed' ? 'The server was not running when it was due.' : (error ?? ''),
    url: `tasks?task=${encodeURIComponent(job_id)}`,
  })
}

/** Who was first, as a sentence. */
const toSentence = (given: GivenAnswer | undefined, kind: Question['kind']): string => {
  if (given?.reason === 'timeout') return 'This was not answered in time.'
  if (!given || given.reason) return 'This no longer waits for an answer.'
  const what = kind === 'clarify' ? 'answered' : given.answer === 'deny' ? 'denied' : 'allowed'
  const [, device] = /^notification: (.*)$/.exec(given.by) ?? []
  const where = device === undefined ? `on the page (${given.by})` : `in a notification (${device})`
  return `Already ${what} ${where}.`
}

export const composeNotifications = (
  { config, data, log, now }: Composition,
  engine: () => Engine,
  tests: NotificationTestOptions = {},
) => {
  const { hub, sessions } = data
  const questions = () => engine().turns.questions
  const notifications = createNotifications({
    stateDir: config.stateDir,
    now: () => now() * 1_000,
    titleOf: id => sessions.row(id)?.title ?? null,
    openQuestion: id => questions().find(id),
    waiting: () => questions().all().length,
    isRunning: id => engine().turns.isActive(id),
    isRisky,
    redact,
    dispatcher: () => engine().dispatcher,
    allowPush: tests.allowPush ?? allowNone,
    firstDelayMs: tests.firstDelayMs,
    log,
  })
  const profileOf = (sessionId: string): string => sessions.row(sessionId)?.profile ?? ''
  const unwatch = watchSecrets(notifications.store.secrets)
  const untap = hub.tap((source, { type, data: event }) => {
    if (source !== 'inbox') return
    const question = event as Question
    if (type === 'asked') reportQuestion(notifications, question, profileOf(question.session_id))
    if (type === 'settled') notifications.settled((event as { id: string }).id)
  })

  const services: NotificationServices = {
    notifications,
    answerThrottle: openThrottle(),
    answerByToken({ session_id, question_id, question, answer, by }, text) {
      const given = answer ?? text?.trim()
      if (!given) throw invalid('Write an answer.', { code: 'missing_fields' })
      const { accepted } = questions().respond(session_id, question, question_id, given, by)
      if (!accepted) throw conflict(toSentence(questions().answered(question_id), question))
      return given
    },
  }
  return {
    services,
    /** Of scheduled tasks the run is reported, and a program that uses the client API reads the result itself. */
    onEnded(ended: EndedTurn): void {
      const row = sessions.row(ended.sessionId)
      if (ended.isAttended && row?.source_tag !== 'cron')
        reportTurn(notifications, ended, row?.profile ?? '')
    },
    onRun: (profile: string, run: EndedRun): void => reportRun(notifications, run, profile),
    async close(): Promise<void> {
      untap()
      unwatch()
      await notifications.close()
    },
  }
}
