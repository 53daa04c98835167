/** Error card: a title by cause, the provider's message, and the action that helps. */
import { messageText } from '../messages/message-text.ts'
import type { Coded } from '../../../lib/base/sentences.ts'
import type { Message } from '../../../lib/schema/message.ts'
import type { ComponentChild } from 'preact'
import type { FailureType } from '../../../lib/schema/failure-type.ts'
import { LinkedText } from '../../markdown/linked-text.tsx'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { causeText, serverText } from '../../strings/server-text.ts'
import { t } from './error-strings.ts'

/** The page imports no schema code; the compiler checks that the list is complete. */
const FAILURE_TYPES: Readonly<Record<FailureType, true>> = {
  quota_exhausted: true,
  rate_limit: true,
  auth_mismatch: true,
  model_not_found: true,
  context_overflow: true,
  network: true,
  no_response: true,
  interrupted: true,
  budget_reached: true,
  content_refused: true,
  wrong_address: true,
  blocked: true,
  not_ready: true,
  model_memory: true,
  error: true,
}
type Sentences = Readonly<Record<string, Coded>>
export type Failure = {
  type: FailureType
  message: string
  hint: string
  /** Of these two. */
  sentences?: Sentences | undefined
}

const isFailureType = (type: string): type is FailureType => Object.hasOwn(FAILURE_TYPES, type)

/** Labels of stored errors, of this server and older ones. */
const labels: Readonly<Record<string, Failure['type']>> = {
  'out of credits': 'quota_exhausted',
  'rate limit reached': 'rate_limit',
  'authentication failed': 'auth_mismatch',
  'authentication error': 'auth_mismatch',
  'model not found': 'model_not_found',
  'conversation too long': 'context_overflow',
  'network error': 'network',
  'no response received': 'no_response',
  interrupted: 'interrupted',
  'budget reached': 'budget_reached',
  'refused by the provider': 'content_refused',
  'wrong address': 'wrong_address',
  'provider not usable from here': 'blocked',
  'model not ready': 'not_ready',
  'not enough memory': 'model_memory',
}

/** The stored form is `**<Label>:** <text>`, a blank line, `*<hint>*`. */
export const parseFailure = (content: string): Failure => {
  const match = /^\*\*([^*]+?):\*\*\s*([\s\S]*?)(?:\n\n\*([\s\S]+)\*)?$/.exec(content.trim())
  if (!match) return { type: 'error', message: content.trim(), hint: '' }
  const type = labels[match[1]!.trim().toLowerCase()] ?? 'error'
  return { type, message: match[2]!.trim(), hint: match[3]?.trim() ?? '' }
}

type LiveError = {
  type: string
  message: string
  hint?: string | undefined
  sentences?: Sentences | undefined
}

const toFailure = (error: LiveError): Failure => ({
  type: isFailureType(error.type) ? error.type : 'error',
  message: error.message,
  hint: error.hint ?? '',
  sentences: error.sentences,
})

/** Errors for which a retry doesn't help. */
const needsModel = new Set<Failure['type']>([
  'quota_exhausted',
  'auth_mismatch',
  'model_not_found',
  'context_overflow',
  'content_refused',
  'wrong_address',
  'blocked',
  'model_memory',
])

export type ErrorCardProps = {
  /** The error of a live event, or a stored message. */
  error: LiveError | Pick<Message, 'content' | '_sentences'>
  /** Null for an error that is followed by later messages. */
  onRetry: (() => void) | null
  onSwitchModel: () => void
  /** To the settings of models, with keys and addresses. */
  onAddKey: () => void
  onCompact: () => void
}

/** Errors whose cause may have been mended elsewhere meanwhile. */
const mayHelpLater = new Set<Failure['type']>([
  'quota_exhausted',
  'auth_mismatch',
  'model_not_found',
  'wrong_address',
])

/** Errors that another key would fix. */
const needsKey = new Set<Failure['type']>(['quota_exhausted', 'auth_mismatch'])

export function ErrorCard(props: ErrorCardProps) {
  const { error, onRetry, onSwitchModel, onAddKey, onCompact } = props
  const failure =
    'content' in error
      ? { ...parseFailure(messageText(error)), sentences: error._sentences }
      : toFailure(error)
  const { type, sentences } = failure
  const title = t(`error.${type}`)
  const long = failure.message.length > 240 || failure.message.includes('\n')
  const message = long ? failure.message : causeText(failure.message, sentences?.message)
  const hint = serverText(failure.hint, sentences?.hint)
  let step: ComponentChild = null
  if (!may('POST /api/chat/start')) step = null
  else if (onRetry && needsModel.has(type)) {
    step = (
      <div class="fail-steps">
        {needsKey.has(type) && may('POST /api/providers') && (
          <button type="button" class="ask-button" onClick={onAddKey}>
            <Icon name="key" /> {t('error.key')}
          </button>
        )}
        {type === 'wrong_address' && may('POST /api/providers') && (
          <button type="button" class="ask-button" onClick={onAddKey}>
            <Icon name="model" /> {t('error.address')}
          </button>
        )}
        {type === 'context_overflow' && (
          <button type="button" class="ask-button" onClick={onCompact}>
            <Icon name="compress" /> {t('error.compact')}
          </button>
        )}
        <button type="button" class="ask-button" onClick={onSwitchModel}>
          <Icon name="model" /> {t('error.model')}
        </button>
        {/* After the key or the address was changed. */}
        {mayHelpLater.has(type) && (
          <button type="button" class="ask-button" onClick={onRetry}>
            <Icon name="refresh" /> {t('list.retry')}
          </button>
        )}
      </div>
    )
  } else if (onRetry) {
    step = (
      <button type="button" class="ask-button" onClick={onRetry}>
        <Icon name="refresh" /> {t('list.retry')}
      </button>
    )
  }
  return (
    <article class="fail" aria-label={title}>
      <Icon name="alert" size={18} />
      <div class="fail-text">
        <p class="fail-title">{title}</p>
        {message && message !== title && !long && (
          <p class="fail-why">
            <LinkedText text={message} />
          </p>
        )}
        {hint && <p class="fail-why">{hint}</p>}
        {long && (
          <details>
            <summary>{t('error.details')}</summary>
            <pre>
              <LinkedText text={message} />
            </pre>
          </details>
        )}
      </div>
      {step}
    </article>
  )
}
