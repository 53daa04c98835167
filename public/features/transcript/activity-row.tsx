/** Activity line of a turn. */
import { usePart } from '../../parts/use-part.ts'
import { lazy } from '../../parts/lazy.tsx'
import { loadLazyCss } from '../../parts/lazy-css.ts'
import { t } from '../../strings/transcript-strings.ts'
import { ActivityLine } from './activity.tsx'
import type { ActivityRow, Step, ToolStep } from './rows.ts'
import { isRefused, stepFailed } from './spine.ts'
import { useTranscript } from '../messages/transcript-context.ts'

/** Steps are shown when an activity is opened, so the first view does without them. */
const loadSteps = () => import('./step-row.tsx')
export const preloadSteps = (): void =>
  void Promise.all([loadSteps(), loadLazyCss()]).catch(() => undefined)

export const StepRowView = lazy(async () => (await loadSteps()).StepRowView, true)

const RunningCall = lazy(
  async () => (await loadSteps()).RunningCall,
  () => <>{t('act.thinking')}</>,
)

const isTool = (step: Step): step is ToolStep => step.kind === 'tool'

export function ActivityRowView({ row }: { row: ActivityRow }) {
  const { toggle, live, chat, clock } = useTranscript()
  const isAsked = usePart(chat, ({ questions }) => questions.length > 0)
  const isRetrying = usePart(live, turn => Boolean(turn?.retry))
  const waitsFor = isAsked ? t('act.waiting') : isRetrying ? t('act.waiting.retry') : null
  const tools = row.steps.filter(isTool)
  const turn = live.peek()
  return (
    <ActivityLine
      now={row.live ? happening(row.steps, waitsFor) : null}
      // As if it had not waited for a person.
      since={row.live && turn ? turn.started_at + row.waited : null}
      clock={clock}
      seconds={row.seconds}
      thought={row.steps.some(step => step.kind === 'reasoning')}
      steps={tools.length}
      failed={tools.filter(stepFailed).length}
      nothingRan={tools.length > 0 && tools.every(isRefused)}
      open={row.open}
      empty={row.steps.length === 0}
      onToggle={() => toggle(row.key)}
    />
  )
}

/** The current activity: waiting for input or for a retry, the running call, or thinking. */
const happening = (steps: readonly Step[], waitsFor: string | null) => {
  if (waitsFor !== null) return { text: waitsFor, waits: true }
  const step = steps.findLast(one => isTool(one) && one.state === 'running')
  const text = step && isTool(step) ? <RunningCall step={step} /> : t('act.thinking')
  return { text, waits: false }
}
