/** Body of a delegation card: each subagent's task, calls and summary. */
import { ToolPhrase } from '../tool-calls/tool-phrase.tsx'
import { visibleWords } from '../../../lib/base/visible.ts'
import { useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { LiveSubagent, SubagentStep } from '../../../lib/schema/subagent.ts'
import { Markdown } from '../../markdown/markdown.tsx'
import { Elapsed, formatSeconds } from '../../parts/elapsed.tsx'
import { Icon } from '../../parts/icon.tsx'
import { TerminalText } from '../tool-calls/terminal-text.tsx'
import { describeToolCall } from '../tool-calls/describe-tool-call.ts'
import { t } from './strings.ts'
import { messageText } from '../messages/message-text.ts'
import type { ToolStep } from './rows.ts'
import { usePerFrame, useTranscript } from '../messages/transcript-context.ts'
import { asObject, asString, type JsonObject } from '../../../lib/base/json.ts'

type TraceEntry = {
  tool: string
  preview: string
  status: 'ok' | 'error' | 'unfinished'
  seconds: number
  trace: TraceEntry[]
}

type Result = {
  task_index: number
  goal: string
  status: Exclude<LiveSubagent['status'], 'running'>
  summary: string
  error: string
  seconds: number | null
  calls: number
  trace: TraceEntry[]
}

const list = (value: unknown): Readonly<JsonObject>[] =>
  Array.isArray(value) ? value.map(asObject) : []
const number = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const statuses = ['completed', 'failed', 'interrupted'] as const
const steps = ['ok', 'error', 'unfinished'] as const

const toTraced = (raw: Readonly<JsonObject>): TraceEntry => ({
  tool: asString(raw.tool),
  preview: asString(raw.preview),
  status: steps.find(one => one === raw.status) ?? 'ok',
  seconds: number(raw.duration_seconds) ?? 0,
  trace: list(raw.trace).map(toTraced),
})

const toResult = (raw: Readonly<JsonObject>, at: number): Result => ({
  task_index: number(raw.task_index) ?? at,
  goal: [raw.agent, raw.goal].map(asString).filter(Boolean).join(' · '),
  status: statuses.find(one => one === raw.status) ?? 'failed',
  summary: asString(raw.summary),
  error: asString(raw.error),
  seconds: number(raw.duration_seconds),
  calls: list(raw.tool_trace).length,
  trace: list(raw.tool_trace).map(toTraced),
})

export const resultsOf = (content: string): { results: Result[]; error: string } => {
  try {
    const raw = asObject(JSON.parse(content))
    return { results: list(raw.results).map(toResult), error: asString(raw.error) }
  } catch {
    // Not JSON: shown as plain text.
    return { results: [], error: content.slice(0, 2_000) }
  }
}

const none: readonly LiveSubagent[] = []

export function Subagents({ step }: { step: ToolStep }) {
  const { live } = useTranscript()
  const agents = useComputed(() => live.value?.subagents ?? none)
  const all = usePerFrame(agents, none)
  if (step.result) return <Ended step={step} />
  const own = all.filter(agent => agent.parent_tid === step.tid)
  if (own.length === 0) return <p class="tool-note">{t('tool.waiting')}</p>
  return <Running agents={own} all={all} />
}

/** The subagents of a running call side by side: the task of each, and what it does now. */
export function Lanes({ step }: { step: ToolStep }) {
  const { live, clock } = useTranscript()
  const agents = useComputed(() => live.value?.subagents ?? none)
  const own = usePerFrame(agents, none)
    .filter(agent => agent.parent_tid === step.tid)
    .toSorted((a, b) => a.task_index - b.task_index)
  if (own.length === 0) return null
  return (
    <ul class="lanes">
      {own.map(agent => (
        <li key={agent.task_index} class={`lane lane-${agent.status}`}>
          <span class="lane-goal">{visibleWords(agent.goal)}</span>
          <span class="lane-time">
            {agent.status === 'running' ? (
              <Elapsed since={agent.started_at} clock={clock} />
            ) : (
              <Icon name={icons[agent.status]} size={14} />
            )}
            <span class="tx-sr">{t(`sub.${agent.status}`)}</span>
          </span>
          <span class="lane-now">{agent.status === 'running' ? laneNow(agent) : ''}</span>
        </li>
      ))}
    </ul>
  )
}

const laneNow = ({ steps: done, text, reasoning }: LiveSubagent) => {
  const step = done.at(-1)
  if (step && (step.duration === null || !text)) {
    const { did, does, object, code } = describeToolCall(step.name, {}, step.preview ?? '')
    return <ToolPhrase phrase={step.duration === null ? does : did} object={object} code={code} />
  }
  return (text || reasoning).trim().split('\n').at(-1) || t('act.thinking')
}

type RunningProps = { agents: readonly LiveSubagent[]; all: readonly LiveSubagent[] }

function Running({ agents, all }: RunningProps) {
  const sorted = agents.toSorted((a, b) => a.task_index - b.task_index)
  return (
    <div class="subs">
      {sorted.map(agent => (
        <section key={agent.task_index} class="sub" aria-label={agent.goal}>
          <Head goal={agent.goal} status={agent.status} since={agent.started_at} seconds={null} />
          <ol class="sub-steps">
            {agent.steps.map(step => (
              <LiveStep key={step.tid} step={step} all={all} />
            ))}
          </ol>
          {(agent.text || agent.reasoning) && agent.status === 'running' && (
            <p class={agent.text ? 'sub-said' : 'sub-said sub-thought'}>
              {(agent.text || agent.reasoning).trim().slice(-400)}
            </p>
          )}
        </section>
      ))}
    </div>
  )
}

function LiveStep({ step, all }: { step: SubagentStep; all: readonly LiveSubagent[] }) {
  const inner = all.filter(agent => agent.parent_tid === step.tid)
  const isRunning = step.duration === null
  return (
    <li>
      <Line
        name={step.name}
        preview={step.preview ?? ''}
        status={isRunning ? 'running' : step.is_error ? 'error' : 'ok'}
        seconds={step.duration}
      />
      {isRunning && step.output && (
        <TerminalText text={step.output} label={t('tool.output.label')} live />
      )}
      {inner.length > 0 && <Running agents={inner} all={all} />}
    </li>
  )
}

/** A long result is truncated; the full result is fetched when the card is opened. */
function Ended({ step }: { step: ToolStep }) {
  const { actions } = useTranscript()
  const { result } = step
  const whole = useSignal<string | null>(null)
  const hasFailed = useSignal(false)
  const isCut = result?._content_length !== undefined && whole.value === null
  useEffect(() => {
    if (!isCut || !result) return
    actions.loadMessage(result.id).then(
      message => {
        whole.value = messageText(message)
      },
      () => {
        hasFailed.value = true
      },
    )
  }, [isCut])
  const text = whole.value ?? (isCut || !result ? null : messageText(result))
  if (hasFailed.value) return <p class="tool-error">{t('tool.fetch.failed')}</p>
  if (text === null) return <p class="tool-note">{t('tx.loading')}</p>
  const { results, error } = resultsOf(text)
  return (
    <div class="subs">
      {error && <p class="tool-error">{error}</p>}
      {results.map(one => (
        <One key={one.task_index} result={one} id={step.tid} />
      ))}
    </div>
  )
}

function One({ result, id }: { result: Result; id: string }) {
  const { goal, status, summary, error, seconds, calls, trace } = result
  return (
    <section class="sub" aria-label={goal}>
      <Head goal={goal} status={status} since={null} seconds={seconds} calls={calls} />
      <Trace entries={trace} />
      {error && <p class="tool-error">{error}</p>}
      {summary && (
        <div class="sub-summary">
          <Markdown text={summary} id={`${id}:${result.task_index}`} />
        </div>
      )}
    </section>
  )
}

function Trace({ entries }: { entries: readonly TraceEntry[] }) {
  if (entries.length === 0) return null
  return (
    <ol class="sub-steps">
      {entries.map((entry, at) => (
        <li key={at}>
          <Line
            name={entry.tool}
            preview={entry.preview}
            status={entry.status}
            seconds={entry.seconds}
          />
          <Trace entries={entry.trace} />
        </li>
      ))}
    </ol>
  )
}

type HeadProps = {
  goal: string
  status: LiveSubagent['status']
  since: number | null
  seconds: number | null
  calls?: number
}

function Head({ goal, status, since, seconds, calls }: HeadProps) {
  const { clock } = useTranscript()
  const isRunning = status === 'running'
  return (
    <h4 class="sub-head">
      <Icon name="branch" size={14} />
      <span class="sub-goal">{visibleWords(goal)}</span>
      <span class="tool-outcome">
        {calls !== undefined && calls > 0 && <span>{t('sub.calls', { count: calls })}</span>}
        {isRunning && since !== null && <Elapsed since={since} clock={clock} />}
        {seconds !== null && seconds >= 0.1 && <span>{formatSeconds(seconds)}</span>}
        <span class="tx-sr">{t(`sub.${status}`)}</span>
        <Icon name={icons[status]} size={14} />
      </span>
    </h4>
  )
}

const icons = {
  running: 'spinner',
  completed: 'check',
  failed: 'close',
  interrupted: 'stop',
} as const

const stepIcons = {
  running: 'spinner',
  ok: 'check',
  error: 'close',
  unfinished: 'stop',
} as const

type LineProps = {
  name: string
  preview: string
  status: keyof typeof stepIcons
  seconds: number | null
}

function Line({ name, preview, status, seconds }: LineProps) {
  const { icon, did, does, object } = describeToolCall(name, {}, preview)
  return (
    <p class={`sub-step sub-${status}`}>
      <Icon name={icon} size={14} />
      <span class="tool-words">
        <ToolPhrase phrase={status === 'running' ? does : did} object={object} code />
      </span>
      <span class="tool-outcome">
        {seconds !== null && seconds >= 0.1 && <span>{formatSeconds(seconds)}</span>}
        <span class="tx-sr">{t(`step.${status}`)}</span>
        <Icon name={stepIcons[status]} size={14} />
      </span>
    </p>
  )
}
