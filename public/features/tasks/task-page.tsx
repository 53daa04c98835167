/** The page of one task: schedule, state, actions, and runs. */
import type { ComponentChildren } from 'preact'
import type { Job } from '../../../lib/schema/cron.ts'
import { scheduleWords } from './schedule-words.ts'
import { listOf } from '../../strings/t.ts'
import { Button } from '../../parts/button.tsx'
import type { TasksState } from './tasks.ts'
import { causeText } from '../../strings/server-text.ts'
import { t } from './strings.ts'
import { formatFull } from '../../parts/relative-time.ts'
import { RunList } from './runs.tsx'
import { formatDistance, formatMoment, secondsOf } from './times.ts'
import { useModels, useSessions, useShell } from '../../contexts.ts'

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div class="task-fact">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

const Next = ({ job, now }: { job: Job; now: number }) => {
  const next = secondsOf(job.next_run_at)
  const since = secondsOf(job.paused_at)
  if (job.state === 'paused') {
    const when = since === null ? '' : formatFull(since)
    return (
      <>
        {job.paused_reason
          ? t('paused.why', { when, reason: job.paused_reason })
          : t('paused', { when })}
      </>
    )
  }
  if (job.running) return <>{t('next.running')}</>
  if (!job.enabled) return <>{t('next.done')}</>
  if (next === null) return <>{t('next.none')}</>
  return (
    <>
      {formatMoment(next, now)} <span class="faint">· {formatDistance(next, now)}</span>
    </>
  )
}

const Last = ({ job }: { job: Job }) => {
  const last = secondsOf(job.last_run_at)
  const when = last === null ? '' : formatFull(last)
  if (job.last_status === 'error') {
    return (
      <>
        <span class="task-bad">{t('last.error', { when })}</span>
        {job.last_error && (
          <span class="task-error">{causeText(job.last_error, job.sentences?.last_error)}</span>
        )}
      </>
    )
  }
  return <>{last === null ? t('last.never') : t('last.ok', { when })}</>
}

const Actions = ({ tasks, job }: { tasks: TasksState; job: Job }) => {
  const { layout, route } = useShell()
  const remove = () => {
    layout.confirmation.value = {
      title: t('delete.title', { name: job.name }),
      text: t('delete.text'),
      confirm: t('delete'),
      danger: true,
      run: async () => {
        if (await tasks.remove(job)) route.goWithin({ view: 'tasks', task: null })
      },
    }
  }
  return (
    <div class="task-actions">
      <Button
        asks="POST /api/crons/run"
        kind="primary"
        disabled={job.running}
        onClick={() => void tasks.run(job)}
      >
        {t(job.running ? 'running' : 'run')}
      </Button>
      {job.enabled ? (
        <Button asks="POST /api/crons/pause" onClick={() => void tasks.pause(job)}>
          {t('pause')}
        </Button>
      ) : (
        <Button asks="POST /api/crons/resume" onClick={() => void tasks.resume(job)}>
          {t('resume')}
        </Button>
      )}
      <Button asks="POST /api/crons/update" onClick={() => tasks.form.edit(job)}>
        {t('edit')}
      </Button>
      <Button asks="POST /api/crons/delete" kind="danger" onClick={remove}>
        {t('delete')}
      </Button>
    </div>
  )
}

export const TaskPage = ({ tasks, job }: { tasks: TasksState; job: Job }) => {
  const models = useModels()
  const sessions = useSessions()
  const now = sessions.now.value
  const { times, completed } = job.repeat
  const words = scheduleWords(job.schedule, job.words || job.schedule_display)
  return (
    <article aria-labelledby="task-title">
      <h2 class="view-title" id="task-title">
        {job.name}
      </h2>
      <Actions tasks={tasks} job={job} />
      <dl class="task-facts">
        <Fact name={t('schedule')}>
          {words}
          {words !== job.schedule_display && <code class="task-code">{job.schedule_display}</code>}
        </Fact>
        <Fact name={t('next')}>
          <Next job={job} now={now} />
        </Fact>
        <Fact name={t('last')}>
          <Last job={job} />
        </Fact>
        {times !== null && times > 1 && (
          <Fact name={t('repeat')}>{t('repeat.of', { completed, times })}</Fact>
        )}
        {job.model && <Fact name={t('model')}>{models.labelOf(job.model)}</Fact>}
        {job.skills.length > 0 && <Fact name={t('skills')}>{listOf(job.skills)}</Fact>}
        {job.script && (
          <Fact name={t('script')}>
            <code>{job.script}</code>
          </Fact>
        )}
        {job.last_delivery_error && (
          <Fact name={t('delivery')}>
            {causeText(job.last_delivery_error, job.sentences?.last_delivery_error)}
          </Fact>
        )}
      </dl>
      <section aria-labelledby="task-prompt">
        <h3 class="task-head" id="task-prompt">
          {t('prompt')}
        </h3>
        <p class="task-prompt">{job.prompt || '—'}</p>
      </section>
      <section aria-labelledby="task-history">
        <h3 class="task-head" id="task-history">
          {t('history')}
        </h3>
        <RunList tasks={tasks} of={job.id} />
      </section>
    </article>
  )
}
