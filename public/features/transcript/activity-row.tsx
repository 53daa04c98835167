/** A group of steps: one line that says what was done, and what happens now. */
import type { ComponentChildren } from 'preact'
import { usePart } from '../../parts/use-part.ts'
import { Elapsed, formatSeconds } from '../../parts/elapsed.tsx'
import { Icon } from '../../parts/icon.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { loadLazyCss } from '../../parts/lazy-css.ts'
import { t } from '../../strings/transcript-strings.ts'
import type { ActivityRow, Step, ToolStep } from './rows.ts'
import { useTranscript } from '../messages/transcript-context.ts'

/** Steps are shown when an activity is opened, so the first view does without them. */
const loadSteps = () => import('./step-row.tsx')
export const preloadSteps = (): void =>
  void Promise.all([loadSteps(), loadLazyCss()]).catch(() => undefined)

export const StepRowView = lazy(async () => (await loadSteps()).StepRowView, true)

/** The line keeps its height while the words are loaded. */
export const WorkWords = lazy(
  async () => (await import('./work-words.tsx')).WorkWords,
  () => <>{'\u00a0'}</>,
  false,
)
const RunningStep = lazy(
  async () => (await loadSteps()).RunningStep,
  () => <p class="act">{'\u00a0'}</p>,
)

/** What runs or is written; else the call that begins next. */
const happeningNow = (tools: readonly ToolStep[]): ToolStep[] => {
  const running = tools.filter(({ state }) => state === 'running')
  return running.length > 0 ? running : tools.filter(({ state }) => state === 'queued').slice(0, 1)
}

const isTool = (step: Step): step is ToolStep => step.kind === 'tool'

export function ActivityRowView({ row }: { row: ActivityRow }) {
  const { toggle, live, chat, clock } = useTranscript()
  // A card says that it waits for a person, or before it tries again.
  const isWaiting = usePart(chat, ({ questions }) => questions.length > 0)
  const isRetrying = usePart(live, turn => Boolean(turn?.retry))
  const tools = row.steps.filter(isTool)
  const hasWords = tools.some(({ state }) => state === 'ended')
  const onToggle = () => toggle(row.key)
  const now = row.live ? happeningNow(tools) : []
  const isThinking = row.live && now.length === 0
  const turn = live.peek()
  const isQuiet = isWaiting || isRetrying
  return (
    <>
      {(hasWords || !row.live) && (
        <button
          type="button"
          class="act"
          aria-expanded={row.open}
          title={row.seconds === null ? undefined : formatSeconds(row.seconds)}
          onClick={onToggle}
        >
          <Chevron isOpen={row.open} />
          <span class="act-words">
            {hasWords ? <WorkWords steps={row.steps} /> : t('act.thought')}
          </span>
        </button>
      )}
      {isThinking && !isQuiet && (
        <LiveLine
          isOpen={row.open}
          onOpen={row.steps.length > 0 && !hasWords ? onToggle : undefined}
        >
          {t('act.thinking')}
          {turn && (
            // As if it had not waited for a person.
            <span class="act-part">
              <Elapsed since={turn.started_at + row.waited} clock={clock} />
            </span>
          )}
        </LiveLine>
      )}
      {!row.open &&
        !isQuiet &&
        now.map(step => (
          <RunningStep key={step.key} step={step} onOpen={hasWords ? undefined : onToggle} />
        ))}
    </>
  )
}

const Chevron = ({ isOpen }: { isOpen: boolean }) => (
  <span class="act-icon">
    <Icon name={isOpen ? 'chevron-down' : 'chevron-right'} size={14} />
  </span>
)

/** `onOpen`: there are steps to show that no other line opens. */
type LiveLineProps = {
  isOpen: boolean
  onOpen: (() => void) | undefined
  children: ComponentChildren
}

/** What happens now. */
export const LiveLine = ({ isOpen, onOpen, children }: LiveLineProps) =>
  onOpen ? (
    <button type="button" class="act act-live" aria-expanded={isOpen} onClick={onOpen}>
      <Chevron isOpen={isOpen} />
      <span class="act-words">{children}</span>
    </button>
  ) : (
    <p class="act act-live">
      <span class="act-icon">
        <Icon name="spinner" size={14} />
      </span>
      <span class="act-words">{children}</span>
    </p>
  )
