/** What a notification says: one title, one short text, and the answers it offers. */
import { createHash } from 'node:crypto'
import { redact } from '../base/redact/redact.ts'
import { oneLine, shorten } from '../base/shorten.ts'
import { visibleWords } from '../base/visible.ts'
import type { NotificationKind, NotificationSettings } from '../schema/notification.ts'
import type { Approval, Question } from '../schema/question.ts'
import type { Fact } from './outbox.ts'
import { en, type TextKey } from './texts/en.ts'
import { type Translate, budgetText } from './texts/translate.ts'

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
  /** It replaces a question that is settled, without a sound. */
  isSettled: boolean
  offers: Offer[]
}

export type MessageOptions = {
  /** Into the language of the receiver. */
  t: Translate
  settings: NotificationSettings
  /** Title of the chat; undefined when it is gone. */
  chat: string | undefined
  /** The open question; undefined for other facts. */
  question: Question | undefined
  /** Allowing it may do damage. */
  isRisky: (approval: Approval) => boolean
}

/** What is said where there is nothing else to show. */
const BARE = {
  approval: 'title.needs',
  question: 'title.needs',
  budget: 'title.needs',
  finished: 'title.finished',
  failed: 'title.failed',
  task_failed: 'title.task_failed',
  task_done: 'title.task_done',
} as const satisfies Readonly<Record<NotificationKind, TextKey>>

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
const isShownAsIs = (text: string): boolean => redact(text) === text && visibleWords(text) === text

/** How many characters of a text are shown inside another one. */
const roomIn = (
  key: 'approval' | 'question' | 'failed' | 'task_failed' | 'task_done',
  t: Translate,
) => MAX_TEXT - [...t(key, { text: '' })].length

/** Everything that decides about the approval is in the text of the notification, unmasked. */
const isWhole = (approval: Approval, { t }: MessageOptions): boolean =>
  approval.diff === undefined &&
  approval.network === undefined &&
  [...approval.command].length <= roomIn('approval', t) &&
  !/[\r\n]/.test(approval.command) &&
  isShownAsIs(approval.command)

const approvalOffers = (approval: Approval, options: MessageOptions): Offer[] => {
  const { settings, isRisky, t } = options
  const allowed = approval.choices?.includes('once') ?? true
  const mayAllow =
    allowed &&
    settings.content &&
    isWhole(approval, options) &&
    (settings.allow_risky || !isRisky(approval))
  return [
    ...(mayAllow ? [{ action: 'allow' as const, title: t('action.allow'), answer: 'once' }] : []),
    { action: 'deny', title: t('action.deny'), answer: 'deny' },
  ]
}

const offersOf = (options: MessageOptions): Offer[] => {
  const { question, settings, t } = options
  if (question?.kind === 'approval') return approvalOffers(question, options)
  // A plan has to be read first, and a hidden question can't be answered.
  if (!question || question.plan || !settings.content) return []
  const { choices_offered: choices } = question
  const isShown = (choice: string): boolean => choice.length <= MAX_CHOICE && isShownAsIs(choice)
  if (choices.length > 0 && choices.length <= MAX_CHOICES && choices.every(isShown))
    return choices.map(choice => ({ action: 'choice', title: choice, answer: choice }))
  return [{ action: 'reply', title: t('action.reply'), answer: null }]
}

const isReason = (key: string): key is `reason.${'network'}` => Object.hasOwn(en, key)

const failedText = ({ failure }: Fact, text: string, t: Translate): string => {
  if (failure === 'interrupted') return t('interrupted')
  const reason = `reason.${failure}`
  return isReason(reason)
    ? shorten(t('reason', { reason: t(reason), text }), MAX_TEXT)
    : t('failed', { text: shorten(text, roomIn('failed', t)) })
}

const textOf = (fact: Fact, { question, t }: MessageOptions): string => {
  const { kind, settled, missed } = fact
  if (settled) return t(`settled.${settled}`)
  if (question?.kind === 'clarify' && question.plan) return t('plan')
  const text = oneLine(visibleWords(redact(fact.text)))
  if (missed !== undefined) return t('task_failed', { text: t('missed', { count: missed }) })
  if (text === '') return ''
  if (kind === 'failed') return failedText(fact, text, t)
  if (kind === 'budget') return shorten(budgetText(fact.coded, t) ?? text, MAX_TEXT)
  return kind === 'finished'
    ? shorten(text, MAX_TEXT)
    : t(kind, { text: shorten(text, roomIn(kind, t)) })
}

export const toMessage = (fact: Fact, options: MessageOptions): Message => {
  const { settings, question, chat, t } = options
  const { settled } = fact
  const title = shorten(oneLine(visibleWords(redact(fact.title ?? chat ?? ''))), MAX_TITLE)
  const bare = t(settled ? `settled.${settled}` : BARE[fact.kind])
  return {
    kind: fact.kind,
    title: settings.content && title ? title : bare,
    body: settings.content ? textOf(fact, options) || bare : '',
    // Of a chat the newest one replaces the others; questions each have their own.
    tag: createHash('sha256')
      .update(fact.question_id ?? fact.session_id ?? fact.key)
      .digest('base64url')
      .slice(0, 32),
    url:
      fact.url ??
      (fact.session_id === null ? '' : `session/${encodeURIComponent(fact.session_id)}`),
    isWaiting: question !== undefined,
    isSettled: settled !== undefined,
    offers: offersOf(options),
  }
}
