/** The list of runs: result, time, duration, output, and a link to the session. */
import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { JobRun } from '../../../lib/schema/cron.ts'
import { Markdown } from '../../markdown/markdown.tsx'
import { Button } from '../../parts/button.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { resultOf, type TasksState } from './tasks.ts'
import { causeText } from '../../strings/server-text.ts'
import { t } from './strings.ts'
import { formatFull } from '../../parts/relative-time.ts'
import { formatDuration } from './times.ts'
import { useShell } from '../../contexts.ts'
import { EmptyNote, LoadingNote } from '../../parts/view-state.tsx'

const saying = (run: JobRun): { icon: IconName; kind: string; words: string } => {
  const { count } = run
  switch (run.how) {
    case 'missed':
      return { icon: 'clock', kind: 'warn', words: t('how.missed', { count }) }
    case 'skipped':
      return { icon: 'clock', kind: 'dim', words: t('how.skipped', { count }) }
    case 'queued':
      return { icon: 'todo', kind: 'dim', words: t('how.queued') }
    case 'running':
      return { icon: 'spinner', kind: 'dim', words: t('how.running') }
    case 'interrupted':
      return { icon: 'alert', kind: 'warn', words: t('how.interrupted') }
    default:
      return run.status === 'ok'
        ? { icon: 'check', kind: 'ok', words: t('how.ok') }
        : { icon: 'alert', kind: 'bad', words: t('how.error') }
  }
}

/** A series of missed runs is a range; a single run has its start time. */
const whenOf = ({ started_at, due_at, due_until, count }: JobRun): string =>
  count > 1 ? `${formatFull(due_at)} – ${formatFull(due_until)}` : formatFull(started_at ?? due_at)

const Result = ({ id, text }: { id: string; text: string }) => {
  const open = useSignal(false)
  return (
    <>
      <button
        type="button"
        class="run-link"
        aria-expanded={open.value}
        aria-controls={id}
        onClick={() => {
          open.value = !open.value
        }}
      >
        <Icon name={open.value ? 'chevron-down' : 'chevron-right'} size={14} />
        {t('result')}
      </button>
      {open.value && (
        <div class="run-result" id={id}>
          <Markdown text={text} id={id} />
        </div>
      )}
    </>
  )
}

const Run = ({ run, content, isNamed }: { run: JobRun; content?: string; isNamed: boolean }) => {
  const { route } = useShell()
  const id = useId()
  const { icon, kind, words } = saying(run)
  const took =
    run.started_at !== null && run.ended_at !== null ? run.ended_at - run.started_at : null
  const text = content === undefined || run.status !== 'ok' ? '' : resultOf(content)
  return (
    <li class="run">
      <span class={`run-icon run-${kind}`}>
        <Icon name={icon} size={16} />
      </span>
      <div class="run-text">
        <p>
          {isNamed && (
            <a class="run-name" href={route.hrefOf({ view: 'tasks', task: run.job_id })}>
              {run.name}
            </a>
          )}
          <span class={isNamed ? 'run-words' : 'run-how'}>{words}</span>
          <span class="run-when">
            {whenOf(run)}
            {took !== null && ` · ${t('took', { duration: formatDuration(took) })}`}
            {run.trigger === 'manual' && ` · ${t('manual')}`}
          </span>
        </p>
        {run.error && <p class="run-error">{causeText(run.error, run.sentences?.error)}</p>}
        {(run.session_id || text) && (
          <div class="run-links">
            {run.session_id && (
              <a class="run-link" href={route.hrefOf({ view: 'chat', sessionId: run.session_id })}>
                {t('open')}
              </a>
            )}
            {text && <Result id={`${id}-result`} text={text} />}
          </div>
        )}
      </div>
    </li>
  )
}

export const RunList = ({ tasks, of }: { tasks: TasksState; of: string }) => {
  const { rows, total, of: task } = tasks.runs.value
  if (task !== of) return <LoadingNote />
  if (rows.length === 0) return <EmptyNote title={t('history.empty')} />
  return (
    <>
      <ul class="run-list">
        {rows.map(run => {
          const content = run.filename ? tasks.outputs.value.get(run.filename) : undefined
          return (
            <Run
              key={run.run_id}
              run={run}
              isNamed={!of}
              {...(content === undefined ? {} : { content })}
            />
          )
        })}
      </ul>
      {rows.length < total && (
        <Button kind="quiet" onClick={() => void tasks.more()}>
          {t('history.more')}
        </Button>
      )}
    </>
  )
}
