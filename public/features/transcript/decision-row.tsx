/** A settled question of the agent: what was asked, what was answered, and by whom. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

import { isPlanApproval, KEEP_PLANNING } from '../../../lib/base/plan-answers.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import type { Decision } from '../../../lib/schema/decision.ts'
import { useSettings } from '../../contexts.ts'
import { formatSeconds } from '../../parts/elapsed.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { t } from './decision-strings.ts'
import { DECIDED_CHARS, type DecisionRow } from './rows.ts'
import { useTranscript } from '../messages/transcript-context.ts'

/** Longer questions are cut as well. */
const TEXT_CHARS = 600

const PLACE = '{object}'

/** A message with this part in the place of its object. */
const withPart = (message: string, part: ComponentChildren) => {
  const [before = '', after = ''] = message.split(PLACE)
  return (
    <>
      {before}
      {part}
      {after}
    </>
  )
}

const short = (text: string, chars: number): string =>
  text.length > chars ? `${text.slice(0, chars).trimEnd()}…` : text

/** `45 s`, `5 min`: a wait is not counted in seconds. */
const formatWait = (seconds: number): string =>
  seconds < 60 || seconds >= 3_600
    ? formatSeconds(seconds)
    : t('said.minutes', { count: Math.round(seconds / 60) })

/** Who answered: the reader, another person, or (of one of several) not known. */
type Answerer = { kind: 'you' } | { kind: 'name'; name: string } | { kind: 'unknown' }

/** `own`: the reader's name; null where one person uses the service. */
const answererOf = ({ by }: Pick<Decision, 'by'>, own: string | null): Answerer => {
  if (own === null || by === own) return { kind: 'you' }
  return by === undefined ? { kind: 'unknown' } : { kind: 'name', name: by }
}

const verdict = (decision: Decision, own: string | null): string => {
  const { answer, reason, auto, asked_at, answered_at } = decision
  const object = PLACE
  if (reason === 'timeout') {
    const time = formatWait(answered_at - asked_at)
    return own === null
      ? t('said.missed.you', { time, object })
      : t('said.missed', { time, object })
  }
  if (reason) return t('said.ended', { object })
  if (auto === 'yolo') return t('said.auto', { object })
  const who = answererOf(decision, own)
  const isDenied = answer === 'deny'
  if (who.kind === 'you') return t(isDenied ? 'said.denied.you' : 'said.allowed.you', { object })
  if (who.kind === 'unknown') return t(isDenied ? 'said.denied' : 'said.allowed', { object })
  return t(isDenied ? 'said.denied.by' : 'said.allowed.by', { name: who.name, object })
}

const reachOf = ({ answer, scope }: Decision): string => {
  if (answer !== 'session' && answer !== 'always') return ''
  return t(`said.reach.${scope ?? (answer === 'session' ? 'session' : 'always')}`)
}

const Approved = ({ decision, own }: { decision: Decision; own: string | null }) => {
  const reach = reachOf(decision)
  return (
    <>
      {withPart(
        verdict(decision, own),
        <code dir="ltr">{visibleText(short(decision.what, DECIDED_CHARS))}</code>,
      )}
      {reach && ` ${reach}`}
      {reach && decision.rule && (
        <>
          {' '}
          <code dir="ltr">{visibleText(decision.rule)}</code>
        </>
      )}
    </>
  )
}

const replyOf = ({ kind, answer, reason, asked_at, answered_at }: Decision): string => {
  if (reason === 'timeout')
    return t('said.asked.missed', { time: formatWait(answered_at - asked_at) })
  if (reason) return t('said.asked.ended')
  if (kind === 'plan' && isPlanApproval(answer)) return t('said.plan.approved')
  return kind === 'plan' && answer === KEEP_PLANNING ? t('said.plan.kept') : answer
}

const Answered = ({ decision, own }: { decision: Decision; own: string | null }) => {
  const { kind, reason, what } = decision
  const who = answererOf(decision, own)
  const text = <bdi>{visibleText(short(what, TEXT_CHARS))}</bdi>
  const reply = <bdi>{visibleText(replyOf(decision))}</bdi>
  return (
    <>
      {withPart(t(kind === 'plan' ? 'said.plan' : 'said.asked', { object: PLACE }), text)}
      {' — '}
      {reason ? reply : <strong>{reply}</strong>}
      {who.kind === 'name' && !reason && <span class="said-by">{` (${who.name})`}</span>}
    </>
  )
}

const ICONS: Readonly<Record<'answered' | 'allowed' | 'denied' | 'missed' | 'ended', IconName>> = {
  answered: 'chat',
  allowed: 'check',
  denied: 'close',
  missed: 'clock',
  ended: 'stop',
}

const lookOf = ({ kind, answer, reason }: Decision): keyof typeof ICONS => {
  if (reason) return reason === 'timeout' ? 'missed' : 'ended'
  if (kind !== 'approval') return 'answered'
  return answer === 'deny' ? 'denied' : 'allowed'
}

/** The agent is asked to run the command again, and asks again: a person who is here now can answer. */
const RunNow = ({ command }: { command: string }) => {
  const { actions } = useTranscript()
  const isSent = useSignal(false)
  if (!actions.send || !may('POST /api/chat/start')) return null
  return (
    <button
      type="button"
      class="said-again"
      title={t('said.again.hint')}
      disabled={isSent.value}
      onClick={() => {
        isSent.value = true
        actions.send?.(`${t('said.again.message')}\n\n${command}`)
      }}
    >
      {t('said.again')}
    </button>
  )
}

/** `own` as in `answererOf`. */
export const DecisionWords = ({ decision, own }: { decision: Decision; own: string | null }) =>
  decision.kind === 'approval' ? (
    <Approved decision={decision} own={own} />
  ) : (
    <Answered decision={decision} own={own} />
  )

export function DecisionRowView({ row: { decision, last } }: { row: DecisionRow }) {
  const own = useSettings().person.value?.name ?? null
  const look = lookOf(decision)
  return (
    <div class={`tx-mark said said-${look}`}>
      <Icon name={ICONS[look]} size={14} />
      <span class="said-text" dir="auto">
        <DecisionWords decision={decision} own={own} />
      </span>
      {last && decision.kind === 'approval' && look === 'missed' && (
        <RunNow command={decision.what} />
      )}
    </div>
  )
}
