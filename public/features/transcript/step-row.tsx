/** A step of an activity: reasoning, or a tool call with its card. */
import { asString } from '../../../lib/base/json.ts'
import { toolInfo } from '../../../lib/base/tools.ts'
import { waitedSeconds } from '../../../lib/base/waits.ts'
import { usePart } from '../../parts/use-part.ts'
import { useComputed } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { Markdown } from '../../markdown/markdown.tsx'
import { Elapsed } from '../../parts/elapsed.tsx'
import { Icon } from '../../parts/icon.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { stripAnsi } from '../tool-calls/ansi.ts'
import { describeToolCall, parseArgs } from '../tool-calls/describe-tool-call.ts'
import { t } from '../tool-calls/step-strings.ts'
import { ToolCard } from '../tool-calls/tool-card.tsx'
import { ToolPhrase } from '../tool-calls/tool-phrase.tsx'
import { LiveLine } from './activity-row.tsx'
import { messageText } from '../messages/message-text.ts'
import { isNote, type ReasoningStep, type Step, type ToolStep } from './rows.ts'
import { goalsOf } from './say-steps.ts'
import { usePerFrame, useTranscript } from '../messages/transcript-context.ts'

const FAILED = { _failed: true } as const
const ENDED = {}

const CallBody = lazy(async () => (await import('./call-body.tsx')).CallBody, true)

const ToolImages = lazy(
  async () => (await import('../tool-calls/tool-images.tsx')).ToolImages,
  true,
)

const EditDiagnostics = lazy(
  async () => (await import('../tool-calls/edit-diagnostics.tsx')).EditDiagnostics,
  true,
)
const HookNotes = lazy(async () => (await import('../tool-calls/hook-notes.tsx')).HookNotes, true)

const StepFiles = lazy(async () => (await import('../time-travel/step-files.tsx')).StepFiles, true)

const Lanes = lazy(async () => (await import('./subagents.tsx')).Lanes, true)

const TAIL_LINES = 6

/** A call that runs, or is written. */
export function RunningStep({
  step,
  onOpen,
}: {
  step: ToolStep
  onOpen: (() => void) | undefined
}) {
  const { clock } = useTranscript()
  const args = step.short ?? parseArgs(step.argsText)
  const { does, object, code } = describeToolCall(step.name, args)
  const waited = waitedSeconds(step.decisions)
  const isDelegation = step.name === 'delegate_task'
  return (
    <>
      <LiveLine isOpen={false} onOpen={onOpen}>
        {isDelegation ? (
          t('said.subagents.now', { count: Math.max(1, goalsOf(step).length) })
        ) : (
          <ToolPhrase phrase={does} object={object} code={code} />
        )}
        {isWritten(step) && <LineCount />}
        {step.startedAt !== null && (
          <span class="act-part">
            <Elapsed since={step.startedAt + waited} clock={clock} />
          </span>
        )}
      </LiveLine>
      <Tail step={step} />
    </>
  )
}

const isWritten = ({ tid }: ToolStep): boolean => tid === ''

/** Of the text that is being written. */
function LineCount() {
  const { live } = useTranscript()
  const source = useComputed(() => live.value?.writing?.lines ?? 1)
  return <span class="act-part">{t('tool.lines', { count: usePerFrame(source, 1) })}</span>
}

const textInArgs = ({ name, argsText }: ToolStep): string => {
  const args = parseArgs(argsText)
  return (toolInfo(name)?.texts ?? []).map(key => asString(args[key])).find(Boolean) ?? ''
}

/**
 * What a running call does: its subagents, or the end of its output or of the text that it writes, which the opened step has for
 * screen readers.
 */
function Tail({ step }: { step: ToolStep }) {
  const { live } = useTranscript()
  const inArgs = useMemo(() => textInArgs(step), [step.name, step.argsText])
  const source = useComputed(() =>
    isWritten(step)
      ? (live.value?.writing?.text ?? '')
      : live.value?.tools.find(tool => tool.tid === step.tid)?.output || inArgs,
  )
  const output = stripAnsi(usePerFrame(source, '')).trimEnd()
  if (step.name === 'delegate_task') return <Lanes step={step} />
  return output ? (
    <pre class="now-tail" aria-hidden="true">
      {output.split('\n').slice(-TAIL_LINES).join('\n')}
    </pre>
  ) : null
}

/** `alone`: the line of the group has its words, and opened it already. */
type StepProps<S extends Step = Step> = { rowKey: string; step: S; alone: boolean }

export function StepRowView({ last, ...props }: StepProps & { last: boolean }) {
  return (
    <div class={last ? 'step step-last' : 'step'}>
      {props.step.kind === 'reasoning' ? (
        <Reasoning step={props.step} />
      ) : (
        <>
          <Tool {...props} step={props.step} />
          <FilesOfStep {...props} step={props.step} />
          <TailOfStep rowKey={props.rowKey} step={props.step} />
        </>
      )}
    </div>
  )
}

function TailOfStep({ rowKey, step }: { rowKey: string; step: ToolStep }) {
  const { expandedKeys } = useTranscript()
  const open = useComputed(() => expandedKeys.value.has(rowKey))
  return !open.value && step.state === 'running' ? <Tail step={step} /> : null
}

function FilesOfStep({ rowKey, step, alone }: StepProps<ToolStep>) {
  const { expandedKeys } = useTranscript()
  const open = useComputed(() => expandedKeys.value.has(rowKey))
  return (alone || open.value) && step.result ? <StepFiles callId={step.tid} /> : null
}

function Reasoning({ step }: { step: ReasoningStep }) {
  const { liveReasoning } = useTranscript()
  const streamed = usePerFrame(step.live ? liveReasoning : null, '')
  return (
    <div class="reason">
      <Icon name="brain" />
      <div class="reason-text">
        <h4 class="tx-sr">{t('act.reasoning')}</h4>
        <Markdown text={step.live ? streamed : step.text} open={step.live} id={step.key} />
      </div>
    </div>
  )
}

const cutOf = (result: ToolStep['result']) =>
  result?._content_length === undefined
    ? null
    : { chars: result._content_length, lines: result._content_lines ?? 1 }

const edits = /^(?:write_file|patch)$/

function Tool({ rowKey, step, alone }: StepProps<ToolStep>) {
  const { expandedKeys, toggle, actions, chat, live, clock } = useTranscript()
  const session = usePart(chat, ({ sessionId }) => sessionId)
  const open = useComputed(() => expandedKeys.value.has(rowKey))
  // Read by the opened card only, so that only its output is drawn again.
  const output = useComputed(
    () => live.value?.tools.find(tool => tool.tid === step.tid)?.output ?? '',
  )
  const { result, decisions } = step
  const duration = step.finished?.duration ?? null
  // Waiting for a person is no work.
  const waited = waitedSeconds(decisions)
  // What a hook did is below.
  const auto = decisions.find(isNote)?.auto
  return (
    <ToolCard
      name={step.name}
      argsText={step.argsText}
      short={step.short}
      content={result ? messageText(result) : null}
      colored={result?._output ?? null}
      cut={cutOf(result)}
      loadWhole={async () => {
        const message = await actions.loadMessage(result?.id ?? '')
        return { content: messageText(message), colored: message._output ?? null }
      }}
      loadStored={actions.loadStored}
      state={step.state}
      startedAt={step.startedAt && step.startedAt + waited}
      clock={clock}
      duration={duration === null ? null : Math.max(0, duration - waited)}
      recorded={result ?? (step.finished?.isError ? FAILED : ENDED)}
      ranIn={result?._ran_in}
      output={output}
      images={
        <>
          {result?._images && <ToolImages session={session} images={result._images} />}
          {result && edits.test(step.name) && messageText(result).includes('"diagnostics') && (
            <EditDiagnostics content={messageText(result)} openFile={actions.openFile} />
          )}
          {auto && auto !== 'hook' && <p class="step-note">{t(`auto.${auto}`)}</p>}
          {result?._hooks && <HookNotes notes={result._hooks} />}
        </>
      }
      {...(/^(?:delegate_task|exit_plan_mode)$/.test(step.name) && {
        body: (
          <div class="tool-body">
            <CallBody step={step} />
          </div>
        ),
      })}
      open={alone || open.value}
      isBare={alone}
      onToggle={() => toggle(rowKey)}
      openFile={actions.openFile}
    />
  )
}
