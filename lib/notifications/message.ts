/** What a notification says: one title, one short text, and the answers it offers. */
import { createHash } from 'node:crypto'
import { visibleWords } from '../base/visible.ts'
import type { NotificationKind, NotificationSettings } from '../schema/notification.ts'
import type { Approval, Question } from '../schema/question.ts'
import type { Fact } from './outbox.ts'

/** Longer texts are cut by systems anyway, and a command that is longer can't be judged in a notification. */
const MAX_TEXT = 240
const MAX_TITLE = 80
const MAX_CHOICES = 3
/** A button shows no more of a choice, and what is not shown must not be chosen. */
const MAX_CHOICE = 40

/** An answer that can be given in the notification. `answer` null: a text that the person writes. */
export type Offer = {
  action: 'allow' | 'deny' | 'choice' | 'reply'
  title: string
  answer: string | null
}

export type Message = {
  kind: NotificationKind
  title: string
  body: string
  tag: string
  /** Relative to the base address of the page. */
  url: string
  /** It waits for an answer. */
  isWaiting: boolean
  offers: Offer[]
}

export type MessageOptions = {
  settings: NotificationSettings
  /** Title of the chat; undefined when it is gone. */
  chat: string | undefined
  /** The open question; undefined for other facts. */
  question: Question | undefined
  redact: (text: string) => string
  /** Allowing it may do damage. */
  isRisky: (approval: Approval) => boolean
}

const BARE: Readonly<Record<NotificationKind, string>> = {
  approval: 'Agent needs you',
  question: 'Agent needs you',
  budget: 'Agent needs you',
  finished: 'Agent is done',
  failed: 'A turn failed',
  task_failed: 'A task failed',
  task_done: 'A task is done',
}

const LEAD: Readonly<Record<NotificationKind, string>> = {
  approval: 'Needs approval: ',
  question: 'Asks: ',
  budget: '',
  finished: '',
  failed: 'Failed: ',
  task_failed: 'Task failed: ',
  task_done: 'Task done: ',
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

const cut = (text: string, max: number): string => {
  const points = [...text]
  return points.length <= max ? text : `${points.slice(0, max - 1).join('')}…`
}

/** A code span, or the marks around emphasized words; those inside a word (`file_name`, `2*3`) belong to it. */
const MARKS =
  /(`+)(.+?)\1|(?<![\p{L}\p{N}_])[*_~]{1,3}(?=[\p{L}\p{N}"'(`*_~[])|(?<=[\p{L}\p{N}.,:;!?…%"')`*_~\]])[*_~]{1,3}(?![\p{L}\p{N}_])/gu

/** The first words of an answer without its Markdown. */
export const plainText = (markdown: string): string =>
  oneLine(
    markdown
      .slice(0, 4_000)
      .replace(/```[\s\S]*?(?:```|$)/g, ' ')
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/^\s{0,3}(?:#{1,6}|>|[-*+]|\d+[.)])\s+/gm, '')
      .replace(MARKS, (_, _ticks: unknown, code: string | undefined) => code ?? ''),
  )

/** The notification shows the text as it is: nothing is masked, and no character in it is invisible. */
const isShownAsIs = (text: string, redact: (text: string) => string): boolean =>
  redact(text) === text && visibleWords(text) === text

/** Everything that decides about the approval is in the text of the notification, unmasked. */
const isWhole = (approval: Approval, redact: (text: string) => string): boolean =>
  approval.diff === undefined &&
  [...approval.command].length + LEAD.approval.length <= MAX_TEXT &&
  !/[\r\n]/.test(approval.command) &&
  isShownAsIs(approval.command, redact)

const approvalOffers = (
  approval: Approval,
  { settings, redact, isRisky }: MessageOptions,
): Offer[] => {
  const allowed = approval.choices?.includes('once') ?? true
  const mayAllow =
    allowed &&
    settings.content &&
    isWhole(approval, redact) &&
    (settings.allow_risky || !isRisky(approval))
  return [
    ...(mayAllow ? [{ action: 'allow' as const, title: 'Allow once', answer: 'once' }] : []),
    { action: 'deny', title: 'Deny', answer: 'deny' },
  ]
}

const offersOf = (options: MessageOptions): Offer[] => {
  const { question, settings, redact } = options
  if (question?.kind === 'approval') return approvalOffers(question, options)
  // A plan has to be read first, and a hidden question can't be answered.
  if (!question || question.plan || !settings.content) return []
  const { choices_offered: choices } = question
  const isShown = (choice: string): boolean =>
    choice.length <= MAX_CHOICE && isShownAsIs(choice, redact)
  if (choices.length > 0 && choices.length <= MAX_CHOICES && choices.every(isShown))
    return choices.map(choice => ({ action: 'choice', title: choice, answer: choice }))
  return [{ action: 'reply', title: 'Reply', answer: null }]
}

const textOf = ({ kind, text }: Fact, { question, redact }: MessageOptions): string => {
  if (question?.kind === 'clarify' && question.plan) return 'Has a plan for you to review.'
  const cleaned = oneLine(visibleWords(redact(text)))
  if (question?.kind === 'approval' && kind === 'budget') return cut(cleaned, MAX_TEXT)
  return cut(`${LEAD[kind]}${cleaned}`, MAX_TEXT)
}

export const toMessage = (fact: Fact, options: MessageOptions): Message => {
  const { settings, redact, question, chat } = options
  const title = cut(oneLine(visibleWords(redact(fact.title ?? chat ?? ''))), MAX_TITLE)
  return {
    kind: fact.kind,
    title: settings.content && title ? title : BARE[fact.kind],
    body: settings.content ? textOf(fact, options) || BARE[fact.kind] : '',
    // Of a chat the newest one replaces the others; questions each have their own.
    tag: createHash('sha256')
      .update(fact.question_id ?? fact.session_id ?? fact.key)
      .digest('base64url')
      .slice(0, 32),
    url:
      fact.url ??
      (fact.session_id === null ? '' : `session/${encodeURIComponent(fact.session_id)}`),
    isWaiting: question !== undefined,
    offers: offersOf(options),
  }
}
