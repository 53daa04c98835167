/** Tool card: a one-line description that opens to the arguments and the result of the call. */
import type { ReadonlySignal } from '@preact/signals'
import type { RunsIn } from '../../../lib/schema/command-place.ts'
import { ToolPhrase } from './tool-phrase.tsx'
import { useMemo } from 'preact/hooks'
import type { ComponentChild } from 'preact'
import { DiffCounts } from '../../parts/diff-counts.tsx'
import { Elapsed, formatSeconds } from '../../parts/elapsed.tsx'
import type { ServerClock } from '../../parts/server-clock.ts'
import { Icon } from '../../parts/icon.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { t } from './step-strings.ts'
import { describeToolCall, parseArgs } from './describe-tool-call.ts'
import type { Args } from './describe-tool-call.ts'
import { outcomeOf } from './outcome.ts'
import type { Outcome, Recorded } from './outcome.ts'

const CardBody = lazy(async () => (await import('./card-body.tsx')).CardBody, true)
const RunningOutput = lazy(async () => (await import('./card-body.tsx')).RunningOutput, true)

export type Whole = { content: string; colored: string | null }

export type ToolCardProps = {
  name: string
  /** Arguments as JSON text. */
  argsText: string
  short: Args | null
  /** Text of the result; null while there is none. */
  content: string | null
  /** Output with color sequences, if it had any. */
  colored: string | null
  /** Stored size when `content` is truncated. */
  cut: { chars: number; lines: number } | null
  loadWhole: () => Promise<Whole>
  loadStored: (path: string) => Promise<string>
  state: 'running' | 'queued' | 'ended'
  startedAt: number | null
  clock: ServerClock
  duration: number | null
  recorded: Recorded
  /** Where the command ran, if that is not the same for all. */
  ranIn?: RunsIn | undefined
  /** Live output of a running call. */
  output: ReadonlySignal<string>
  /** Images of the result, shown whether the card is open or not. */
  images?: ComponentChild
  /** Replaces arguments and output. */
  body?: ComponentChild
  open: boolean
  /** Another line has its words, says how it ended, and opens it. */
  isBare: boolean
  onToggle: () => void
  openFile: ((path: string, line?: number) => void) | undefined
}

export function ToolCard(props: ToolCardProps) {
  const { name, argsText, content, recorded, open } = props
  const args = useMemo(() => props.short ?? parseArgs(argsText), [argsText, props.short])
  const outcome = useMemo(
    () => (content === null ? null : outcomeOf(content, recorded)),
    [content, recorded],
  )
  const description = describeToolCall(name, args)
  const busy = props.state !== 'ended'
  const state = outcome?.state ?? (recorded._failed ? 'failed' : 'ok')
  return (
    <div class={`tool tool-${busy ? props.state : state}`}>
      {!props.isBare && (
        <button type="button" class="tool-head" aria-expanded={open} onClick={props.onToggle}>
          <Icon name={description.icon} />
          <span class="tool-words">
            <ToolPhrase
              phrase={busy ? description.does : description.did}
              object={description.object}
              code={description.code}
            />
          </span>
          {outcome?.edit && state === 'ok' && <DiffCounts {...outcome.edit} />}
          <OutcomeMark {...props} outcome={outcome} outcomeState={state} />
        </button>
      )}
      {props.images}
      {open && props.body}
      {open && !props.body && (
        <CardBody
          name={name}
          args={args}
          content={content}
          colored={props.colored}
          cut={props.cut}
          loadWhole={props.loadWhole}
          loadStored={props.loadStored}
          exitCode={busy ? null : (outcome?.exitCode ?? null)}
          ranIn={props.ranIn}
          isErrorShown={outcome?.by !== 'user'}
          running={busy && <RunningOutput output={props.output} />}
          path={description.path}
          openFile={props.openFile}
        />
      )}
    </div>
  )
}

type MarkProps = Pick<ToolCardProps, 'state' | 'startedAt' | 'clock' | 'duration' | 'ranIn'> & {
  outcome: Outcome | null
  outcomeState: Outcome['state']
}

/** Status for screen readers, icon, and duration if known. */
function OutcomeMark({
  state,
  startedAt,
  clock,
  duration,
  ranIn,
  outcome,
  outcomeState,
}: MarkProps) {
  if (state !== 'ended') {
    return (
      <span class="tool-outcome">
        {startedAt !== null && <Elapsed since={startedAt} clock={clock} />}
        <span class="tx-sr">{t('tool.running')}</span>
        <Icon name={state === 'queued' ? 'clock' : 'spinner'} size={14} />
      </span>
    )
  }
  const hasFailed = outcomeState === 'failed'
  const exit = outcome?.exitCode ?? 0
  const isInBackground = outcomeState === 'ok' && outcome?.isInBackground === true
  const isRefused = outcomeState === 'refused'
  return (
    <span class="tool-outcome">
      {ranIn && <span class={`tool-in tool-in-${ranIn}`}>{t(`tool.in.${ranIn}`)}</span>}
      {outcome?.matches != null && <span>{t('tool.matches', { count: outcome.matches })}</span>}
      {hasFailed && exit !== 0 && <span>{t('tool.exit', { code: `${exit}` })}</span>}
      {isInBackground && <span>{t('tool.background')}</span>}
      {isRefused && <span>{t(`tool.refused.${outcome?.by ?? 'checks'}`)}</span>}
      {duration !== null && duration >= 0.1 && !isRefused && <span>{formatSeconds(duration)}</span>}
      {!isInBackground && !isRefused && (
        <span class="tx-sr">
          {hasFailed ? t('tool.failed') : outcome ? t('tool.ok') : t('tool.waiting')}
        </span>
      )}
      {(hasFailed || outcome) && (
        <Icon
          name={hasFailed ? 'alert' : isRefused ? 'close' : isInBackground ? 'clock' : 'check'}
          size={14}
        />
      )}
    </span>
  )
}
