/** The tasks view: the list of tasks, and the open task or all runs. */
import { scheduleWords } from './schedule-words.ts'
import { useEffect } from 'preact/hooks'
import type { Job } from '../../../lib/schema/cron.ts'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { type TasksState, tasksOf } from './tasks.ts'
import { causeText } from '../../strings/server-text.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { ListView } from '../shell/view.tsx'
import { TaskForm } from './task-form.tsx'
import { RunList } from './runs.tsx'
import { TaskPage } from './task-page.tsx'
import { formatDistance, formatMoment, secondsOf } from './times.ts'
import { useSessions, useShell } from '../../contexts.ts'
import { may } from '../../parts/may.ts'
import type { TaskDraft } from './task-draft.ts'
import { Beginning, EmptyNote, LoadNote } from '../../parts/view-state.tsx'

/** In the URL, instead of a task's id. */
const NEW = 'new'

/** The next run in one line. */
const NextRun = ({ job }: { job: Job }) => {
  const now = useSessions().now.value
  const next = secondsOf(job.next_run_at)
  if (job.running) return <span class="task-running">{t('next.running')}</span>
  if (job.state === 'paused') return <span>{t('next.paused')}</span>
  if (!job.enabled) return <span>{t('next.done')}</span>
  if (next === null) return <span>{t('next.none')}</span>
  return (
    <span>
      {formatMoment(next, now)} · {formatDistance(next, now)}
    </span>
  )
}

const Row = ({ job, isCurrent }: { job: Job; isCurrent: boolean }) => {
  const { route } = useShell()
  return (
    <li>
      <a
        class={`task-row${job.enabled || job.running ? '' : ' task-row-off'}`}
        href={route.hrefOf({ view: 'tasks', task: job.id })}
        aria-current={isCurrent ? 'page' : undefined}
      >
        <span class="task-name" dir="auto">
          {job.name}
        </span>
        {job.last_status === 'error' && !job.running && (
          <span class="task-mark task-bad">
            <Icon name="alert" size={14} />
            <span class="sr-only">{t('how.error')}</span>
          </span>
        )}
        {job.running && (
          <span class="task-mark">
            <Icon name="spinner" size={14} />
          </span>
        )}
        <span class="task-words" dir="auto">
          {scheduleWords(job.schedule, job.words || job.schedule_display)}
        </span>
        <span class="task-next">
          <NextRun job={job} />
        </span>
      </a>
    </li>
  )
}

const List = ({ tasks, current }: { tasks: TasksState; current: string | null }) => {
  const list = tasks.jobs.value
  const state = tasks.state.value
  if (state !== 'ready') {
    return <LoadNote state={state} failed={t('failed')} onRetry={() => void tasks.refresh()} />
  }
  const problem = tasks.problem.value
  if (problem) {
    return (
      <div class="view-note" role="alert">
        <p>{t('problem', { problem: causeText(problem.words, problem.coded) })}</p>
        <p>{t('problem.text')}</p>
      </div>
    )
  }
  if (list.length === 0) return <EmptyNote title={t('empty')} />
  return (
    <ul class="task-list">
      {list.map(job => (
        <Row key={job.id} job={job} isCurrent={job.id === current} />
      ))}
    </ul>
  )
}

/** All runs, shown when no task is selected. */
const Everything = ({ tasks }: { tasks: TasksState }) => (
  <>
    <h2 class="view-title">{t('choose')}</h2>
    <p class="view-lead">{t('choose.text')}</p>
    <RunList tasks={tasks} of="" />
  </>
)

const Gone = ({ tasks, id }: { tasks: TasksState; id: string }) => (
  <>
    <h2 class="view-title">{t('gone')}</h2>
    <p class="view-lead">{t('gone.text')}</p>
    <RunList tasks={tasks} of={id} />
  </>
)

/** An existing draft of a new task is kept when the view is opened again. */
const New = ({ tasks }: { tasks: TasksState }) => {
  const draft = tasks.form.draft.value
  useEffect(() => {
    if (draft?.id !== '') tasks.form.create()
  }, [])
  return draft?.id === '' ? <TaskForm tasks={tasks} draft={draft} /> : null
}

const Main = ({ tasks, id }: { tasks: TasksState; id: string | null }) => {
  const draft = tasks.form.draft.value
  const job = tasks.byId(id)
  if (id === NEW) return <New tasks={tasks} />
  if (draft && draft.id === id) return <TaskForm key={draft.id} tasks={tasks} draft={draft} />
  if (job) return <TaskPage key={job.id} tasks={tasks} job={job} />
  if (id && tasks.state.value === 'ready') return <Gone tasks={tasks} id={id} />
  return tasks.state.value === 'ready' && !id ? <Everything tasks={tasks} /> : null
}

/** Two tasks of many people, to be changed. */
const EXAMPLES = [
  ['0 9 * * 1-5', 'example.changes'],
  ['0 9 * * 1', 'example.updates'],
] as const

const FirstTask = ({ tasks }: { tasks: TasksState }) => {
  const { route } = useShell()
  const begin = (fields: Partial<TaskDraft>) => {
    tasks.form.create(fields)
    route.go({ view: 'tasks', task: NEW })
  }
  const examples = EXAMPLES.map(([schedule, key]) => ({
    label: t(key),
    text: scheduleWords({ kind: 'cron', expr: schedule }, schedule),
    onUse: () => begin({ prompt: t(`${key}.prompt`), schedule }),
  }))
  const mayCreate = may('POST /api/crons/create')
  return (
    <Beginning title={t('empty')} text={t('empty.text')} {...(mayCreate && { examples })}>
      <Button asks="POST /api/crons/create" kind="primary" icon="plus" onClick={() => begin({})}>
        {t('new')}
      </Button>
    </Beginning>
  )
}

/** Reloads when a scheduled session starts or ends, which means a task did. */
const useScheduledRuns = (tasks: TasksState): void => {
  const sessions = useSessions()
  const { platform } = useShell()
  const seen = sessions.rows.value
    .filter(row => row.source_tag === 'cron')
    .slice(0, 20)
    .map(row => `${row.session_id} ${row.is_streaming}`)
    .join()
  useEffect(() => {
    if (!seen) return
    // The run's record is written shortly after its session ends.
    return platform.clock.timer(500, () => void tasks.refresh())
  }, [seen])
}

export const TasksView = ({ task }: { task: string | null }) => {
  const app = useApp()
  const tasks = tasksOf(app)
  const profile = app.profiles.active.value
  useEffect(() => tasks.watch(profile), [profile])
  useEffect(() => void tasks.show(task === null || task === NEW ? '' : task), [task, profile])
  useScheduledRuns(tasks)
  const zone = tasks.timezone.value
  const isFirst =
    task === null &&
    tasks.state.value === 'ready' &&
    !tasks.problem.value &&
    tasks.jobs.value.length === 0 &&
    tasks.runs.value.rows.length === 0
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <ListView
      title={t('title')}
      beginning={isFirst && <FirstTask tasks={tasks} />}
      actions={
        !isFirst && (
          <Button
            asks="POST /api/crons/create"
            icon="plus"
            onClick={() => app.shell.route.go({ view: 'tasks', task: NEW })}
          >
            {t('new')}
          </Button>
        )
      }
      listLabel={t('list')}
      list={
        <>
          <List tasks={tasks} current={task} />
          {zone && zone !== here && <p class="task-zone">{t('zone', { zone })}</p>}
        </>
      }
      open={task !== null}
      back={{ href: app.shell.route.hrefOf({ view: 'tasks', task: null }), label: t('back') }}
    >
      <Main tasks={tasks} id={task} />
    </ListView>
  )
}
