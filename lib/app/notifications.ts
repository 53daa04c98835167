/** Composition: which events of turns, questions, and tasks are reported, and how an answer in a notification counts. */
import { Sentence } from '../base/sentences.ts'
import { CHANGES } from '../agent/shell/labels.ts'
import { type Language, languageOf } from '../base/languages.ts'
import { openThrottle, type Throttle } from '../people/throttle.ts'
import type { People } from '../people/people.ts'
import { may } from '../people/may.ts'
import { conflict, forbidden, invalid } from '../errors.ts'
import { allowNone, type Allow } from '../http/public-address.ts'
import type { EndedRun } from '../cron/history.ts'
import { plainText } from '../notifications/message.ts'
import { createNotifications, type Notifications } from '../notifications/notifications.ts'
import type { AnswerToken, Settled } from '../notifications/outbox.ts'
import { personOf } from '../notifications/receivers.ts'
import type { Translate } from '../notifications/texts/translate.ts'
import { redact, watchSecrets } from '../base/redact/redact.ts'
import type { Approval, Question } from '../schema/question.ts'
import type { EndedTurn } from '../turns/end-turn.ts'
import { type GivenAnswer, idOf } from '../turns/open-questions.ts'
import type { Composition } from './data.ts'
import type { Engine } from './engine.ts'
import { afterCommit } from './cell.ts'

/** Replaced in tests, whose push service is on this computer. */
export type NotificationTestOptions = { allowPush?: Allow; firstDelayMs?: number }

export type NotificationServices = {
  notifications: Notifications
  /** Wrong tokens count as wrong passwords do, but apart from them. */
  answerThrottle: Throttle
  /** Answers the question of a token; throws a conflict that says who was first. */
  answerByToken: (token: AnswerToken, text: string | undefined, browser: Language) => string
}

const isBudget = ({ pattern_key: key }: Approval): boolean => key.startsWith('budget: ')

/**
 * Whether more than a tap on a lock screen is wanted. A command that only may change something, and more of a budget, are not risky; all
 * other reasons to ask name damage that a command may do.
 */
const isRisky = (approval: Approval): boolean =>
  approval.runs_in === 'outside' ||
  !(isBudget(approval) || approval.pattern_keys.every(key => key === CHANGES))

const reportQuestion = ({ report }: Notifications, question: Question, profile: string): void => {
  const id = idOf(question)
  const isApproval = question.kind === 'approval'
  report({
    key: `question:${id}`,
    kind: !isApproval ? 'question' : isBudget(question) ? 'budget' : 'approval',
    session_id: question.session_id,
    profile,
    text: isApproval
      ? isBudget(question) || question.network
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
    text: failure ? `${failure.message}` : plainText(redact(text)),
    ...(failure?.message instanceof Sentence && { coded: failure.message.coded }),
    failure: failure?.type,
  })
}

const reportRun = ({ report }: Notifications, run: EndedRun, profile: string): void => {
  const { how, status, error, name, run_id, job_id, session_id, count } = run
  if (how === 'skipped') return
  report({
    key: `run:${profile}:${run_id}`,
    kind: how === 'ran' && status === 'ok' ? 'task_done' : 'task_failed',
    session_id,
    profile,
    title: name,
    text: how === 'missed' ? '' : (error ?? ''),
    ...(how === 'missed' && { missed: count }),
    url: `tasks?task=${encodeURIComponent(job_id)}`,
  })
}

const settledAs = (given: GivenAnswer | undefined, kind: Question['kind']): Settled => {
  if (!given || given.reason) return 'ended'
  if (kind === 'clarify') return 'answered'
  return given.answer === 'deny' ? 'denied' : 'allowed'
}

/** Who was first, as a sentence. */
const lateSentence = (given: GivenAnswer | undefined, kind: Question['kind'], t: Translate) => {
  if (given?.reason === 'timeout') return t('late.timeout')
  const what = settledAs(given, kind)
  if (!given || what === 'ended') return t('late.ended')
  const [, device] = /^notification: (.*)$/.exec(given.by) ?? []
  return device === undefined
    ? t(`late.${what}.page`, { where: given.by })
    : t(`late.${what}.device`, { where: device })
}

/** A person who was removed, or a file of the people that cannot be read, means no rights. */
const createRights = (people: People) => {
  const callerOf = (person: string) => {
    try {
      return people.caller(person || undefined)
    } catch {
      return undefined
    }
  }
  return {
    mayKnow(person: string, profile: string): boolean {
      const caller = callerOf(person)
      return caller !== undefined && may(caller, 'read', profile)
    },
    mayAnswer(person: string, profile: string, question: Question): boolean {
      const caller = callerOf(person)
      const needsOwner = question.kind === 'approval' && question.needs_owner === true
      return caller !== undefined && may(caller, needsOwner ? 'own' : 'work', profile)
    },
  }
}

export const composeNotifications = (
  { config, data, log, clock, cell }: Composition,
  engine: () => Engine,
  tests: NotificationTestOptions = {},
) => {
  const { hub, people, personalSettings, sessions } = data
  const questions = () => engine().turns.questions
  const profileOf = (sessionId: string): string => sessions.row(sessionId)?.profile ?? ''
  const rights = createRights(people)
  const notifications = createNotifications({
    stateDir: config.stateDir,
    clock,
    titleOf: id => sessions.row(id)?.title ?? null,
    openQuestion: id => questions().find(id),
    settledAs: (id, kind) => settledAs(questions().answered(id), kind),
    language(id) {
      const { language, language_from } = personalSettings.of({ id })
      return language_from === 'setting' ? (languageOf(language) ?? 'en') : undefined
    },
    waiting: person =>
      questions()
        .all()
        .filter(({ session_id }) => rights.mayKnow(person, profileOf(session_id))).length,
    isRunning: id => engine().turns.isActive(id),
    isRisky,
    rights,
    redact,
    dispatcher: () => engine().dispatcher,
    allowPush: tests.allowPush ?? allowNone,
    firstDelayMs: tests.firstDelayMs,
    log,
  })
  /** The receiver whose answer is being recorded. */
  let answering: string | undefined
  const report = (question: Question): void =>
    reportQuestion(notifications, question, profileOf(question.session_id))
  const unwatch = watchSecrets(notifications.store.secrets)
  const untap = hub.tap('inbox', ({ type, data: event }) => {
    const question = event as Question
    if (type === 'asked') afterCommit(cell, () => report(question))
    if (type === 'settled') notifications.settled((event as { id: string }).id, answering)
  })

  const services: NotificationServices = {
    notifications,
    answerThrottle: openThrottle({ clock }),
    answerByToken({ session_id, question_id, question, answer, by, target }, text, browser) {
      const t = notifications.translator(target, browser)
      const receiver = notifications.receivers.find(target)
      const asked = questions().find(question_id)
      const person = receiver ? personOf(receiver) : ''
      if (asked && !rights.mayAnswer(person, profileOf(session_id), asked))
        throw forbidden(t('answer.invalid'), { code: 'role_not_allowed' })
      const given = answer ?? text?.trim()
      if (!given) throw invalid(t('answer.empty'), { code: 'missing_fields' })
      try {
        answering = target
        const { accepted } = questions().respond(session_id, question, question_id, given, by)
        if (!accepted) throw conflict(lateSentence(questions().answered(question_id), question, t))
      } finally {
        answering = undefined
      }
      return given
    },
  }
  return {
    services,
    /** Once there are turns. */
    start(): void {
      // Recorded, but perhaps not reported before the process was killed.
      for (const question of questions().all()) report(question)
      notifications.start()
    },
    /** Of scheduled tasks the run is reported, and a program that uses the client API reads the result itself. */
    onEnded(ended: EndedTurn): void {
      const row = sessions.row(ended.sessionId)
      if (ended.isAttended && row?.source_tag !== 'cron')
        afterCommit(cell, () => reportTurn(notifications, ended, row?.profile ?? ''))
    },
    onRun: (profile: string, run: EndedRun): void =>
      afterCommit(cell, () => reportRun(notifications, run, profile)),
    async close(): Promise<void> {
      untap()
      unwatch()
      await notifications.close()
    },
  }
}
