/** Which events of turns, questions, and tasks are reported, and how an answer in a notification counts. */
import { Sentence } from '../base/sentences.ts'
import type { Dispatcher } from 'undici'
import { CHANGES } from '../agent/shell/labels.ts'
import { type Language, languageOf } from '../base/languages.ts'
import { may } from '../people/may.ts'
import { conflict, forbidden, invalid } from '../errors.ts'
import { allowNone, type Allow } from '../http/public-address.ts'
import type { EndedRun } from '../cron/history.ts'
import { plainText } from './message.ts'
import { Notifications } from './notifications.ts'
import type { AnswerToken, Settled } from './outbox.ts'
import { personOf } from './receivers.ts'
import type { Translate } from './texts/translate.ts'
import { redact, watchSecrets } from '../base/redact/redact.ts'
import type { Access } from '../schema/person.ts'
import { type Approval, idOf, type Question } from '../schema/question.ts'
import type { EndedTurn } from '../turns/end-turn.ts'
import type { AnswerRecord, Questions } from '../turns/questions.ts'
import type { App } from '../app/app.ts'
import type { Owned } from '../cluster/cluster.ts'

/** Replaced in tests, whose push service is on this computer. */
export type NotificationTestOptions = { allowPush?: Allow; firstDelayMs?: number }

/** For what is sent elsewhere, which the next owner must know of. Never called when the cell is lost. */
const afterCommit = (cell: Owned, work: () => void): void => {
  if (cell.isSettled()) work()
  // It ends with the process.
  else void cell.whenSettled().then(work, () => undefined)
}

const isBudget = ({ pattern_key: key }: Approval): boolean => key.startsWith('budget: ')

/**
 * Whether more than a tap on a lock screen is wanted. A command that only may change something, and more of a budget, are not risky; all
 * other reasons to ask name damage that a command may do.
 */
const isRisky = (approval: Approval): boolean =>
  approval.runs_in === 'outside' ||
  !(isBudget(approval) || approval.pattern_keys.every(key => key === CHANGES))

const reportQuestion = (
  notifications: Notifications,
  question: Question,
  profile: string,
): void => {
  const id = idOf(question)
  const isApproval = question.kind === 'approval'
  notifications.report({
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

const reportTurn = (notifications: Notifications, ended: EndedTurn, profile: string): void => {
  const { failure, sessionId, streamId, text } = ended
  notifications.report({
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

const reportRun = (notifications: Notifications, run: EndedRun, profile: string): void => {
  const { how, status, error, name, run_id, job_id, session_id, count } = run
  if (how === 'skipped') return
  notifications.report({
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

const settledAs = (record: AnswerRecord | undefined, kind: Question['kind']): Settled => {
  if (!record || record.reason) return 'ended'
  if (kind === 'clarify') return 'answered'
  return record.answer === 'deny' ? 'denied' : 'allowed'
}

/** Who was first, as a sentence. */
const lateSentence = (record: AnswerRecord | undefined, kind: Question['kind'], t: Translate) => {
  if (record?.reason === 'timeout') return t('late.timeout')
  const what = settledAs(record, kind)
  if (!record || what === 'ended') return t('late.ended')
  const [, device] = /^notification: (.*)$/.exec(record.by) ?? []
  return device === undefined
    ? t(`late.${what}.page`, { where: record.by })
    : t(`late.${what}.device`, { where: device })
}

export class EventReports {
  readonly notifications: Notifications
  readonly #app: App
  /** The receiver whose answer is being recorded. */
  #answering: string | undefined
  readonly #stop: (() => void)[]

  constructor(app: App, dispatcher: Dispatcher | undefined, tests: NotificationTestOptions = {}) {
    const { config, clock, hub, log, personalSettings, sessions } = app
    this.#app = app
    this.notifications = new Notifications({
      stateDir: config.stateDir,
      clock,
      titleOf: id => sessions.row(id)?.title ?? null,
      openQuestion: id => this.#questions.find(id),
      settledAs: (id, kind) => settledAs(this.#questions.answered(id), kind),
      language(id) {
        const { language, language_from } = personalSettings.of({ id })
        return language_from === 'setting' ? (languageOf(language) ?? 'en') : undefined
      },
      waiting: person =>
        this.#questions
          .all()
          .filter(({ session_id }) => this.#may(person, 'read', this.#profileOf(session_id)))
          .length,
      isRunning: id => app.turns.isActive(id),
      isRisky,
      rights: {
        mayKnow: (person, profile) => this.#may(person, 'read', profile),
        mayAnswer: (person, profile, question) => this.#mayAnswer(person, profile, question),
      },
      dispatcher: () => dispatcher,
      allowPush: tests.allowPush ?? allowNone,
      firstDelayMs: tests.firstDelayMs,
      log,
    })
    this.#stop = [
      watchSecrets(() => this.notifications.store.secrets()),
      hub.tap('inbox', ({ type, data: event }) => {
        if (type === 'asked') afterCommit(app.cell, () => this.#reportQuestion(event as Question))
        if (type === 'settled')
          this.notifications.onSettled((event as { id: string }).id, this.#answering)
      }),
    ]
  }

  /** Call once there are turns. */
  start(): void {
    // Recorded, but perhaps not reported before the process was killed.
    for (const question of this.#questions.all()) this.#reportQuestion(question)
    this.notifications.start()
  }

  /** The run of a scheduled task is reported instead, and a program that uses the client API reads the result itself. */
  onEnded(ended: EndedTurn): void {
    const row = this.#app.sessions.row(ended.sessionId)
    if (ended.isAttended && row?.source_tag !== 'cron')
      afterCommit(this.#app.cell, () => reportTurn(this.notifications, ended, row?.profile ?? ''))
  }

  onRun(profile: string, run: EndedRun): void {
    afterCommit(this.#app.cell, () => reportRun(this.notifications, run, profile))
  }

  /** Answers the question of a token; throws a conflict that says who was first. */
  answer(token: AnswerToken, text: string | undefined, browser: Language): string {
    const { session_id, question_id, question, by, target } = token
    const t = this.notifications.translator(target, browser)
    const receiver = this.notifications.receivers.find(target)
    const open = this.#questions.find(question_id)
    const person = receiver ? personOf(receiver) : ''
    if (open && !this.#mayAnswer(person, this.#profileOf(session_id), open))
      throw forbidden(t('answer.invalid'), { code: 'role_not_allowed' })
    const answer = token.answer ?? text?.trim()
    if (!answer) throw invalid(t('answer.empty'), { code: 'missing_fields' })
    try {
      this.#answering = target
      const { accepted } = this.#questions.respond(session_id, question, question_id, answer, by)
      if (!accepted)
        throw conflict(lateSentence(this.#questions.answered(question_id), question, t))
    } finally {
      this.#answering = undefined
    }
    return answer
  }

  async close(): Promise<void> {
    for (const stop of this.#stop) stop()
    await this.notifications.close()
  }

  get #questions(): Questions {
    return this.#app.turns.questions
  }

  #profileOf(sessionId: string): string {
    return this.#app.sessions.row(sessionId)?.profile ?? ''
  }

  #reportQuestion(question: Question): void {
    reportQuestion(this.notifications, question, this.#profileOf(question.session_id))
  }

  /** A person who was removed, or a file of the people that cannot be read, means no rights. */
  #may(person: string, access: Access, profile: string): boolean {
    try {
      const caller = this.#app.people.caller(person || undefined)
      return caller !== undefined && may(caller, access, profile)
    } catch {
      return false
    }
  }

  #mayAnswer(person: string, profile: string, question: Question): boolean {
    const needsOwner = question.kind === 'approval' && question.needs_owner === true
    return this.#may(person, needsOwner ? 'own' : 'work', profile)
  }
}
