/** One task: what it does and when, what can be done with it, and what came of its runs. */
import type { ComponentChildren } from 'preact'
import type { Job } from '../../../lib/schema/cron.ts'
import { Button } from '../../parts/button.tsx'
import type { TasksState } from './tasks.ts'
import { tt } from './strings.ts'
import { formatFull } from '../sessions/relative-time.ts'
import { useApp } from '../shell/context.ts'
import { RunList } from './runs.tsx'
import { formatDistance, formatMoment, secondsOf } from './times.ts'

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
          ? tt('paused.why', { when, reason: job.paused_reason })
          : tt('paused', { when })}
      </>
    )
  }
  if (job.running) return <>{tt('next.running')}</>
  if (!job.enabled) return <>{tt('next.done')}</>
  if (next === null) return <>{tt('next.none')}</>
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
        <span class="task-bad">{tt('last.error', { when })}</span>
        {job.last_error && <span class="task-error">{job.last_error}</span>}
      </>
    )
  }
  return <>{last === null ? tt('last.never') : tt('last.ok', { when })}</>
}

const Actions = ({ tasks, job }: { tasks: TasksState; job: Job }) => {
  const { layout, route } = useApp()
  const remove = () => {
    layout.confirmation.value = {
      title: tt('delete.title', { name: job.name }),
      text: tt('delete.text'),
      confirm: tt('delete'),
      danger: true,
      run: async () => {
        if (await tasks.remove(job)) route.go({ view: 'tasks', task: null })
      },
    }
  }
  return (
    <div class="task-actions">
      <Button kind="primary" disabled={job.running} onClick={() => void tasks.run(job)}>
        {tt(job.running ? 'running' : 'run')}
      </Button>
      {job.enabled ? (
        <Button onClick={() => void tasks.pause(job)}>{tt('pause')}</Button>
      ) : (
        <Button onClick={() => void tasks.resume(job)}>{tt('resume')}</Button>
      )}
      <Button onClick={() => tasks.edit(job)}>{tt('edit')}</Button>
      <Button kind="danger" onClick={remove}>
        {tt('delete')}
      </Button>
    </div>
  )
}

export const TaskPage = ({ tasks, job }: { tasks: TasksState; job: Job }) => {
  const { models, sessions } = useApp()
  const now = sessions.now.value
  const { times, completed } = job.repeat
  return (
    <article class="task" aria-labelledby="task-title">
      <h2 class="task-title" id="task-title">
        {job.name}
      </h2>
      <Actions tasks={tasks} job={job} />
      <dl class="task-facts">
        <Fact name={tt('schedule')}>
          {job.words || job.schedule_display}
          {job.words && job.words !== job.schedule_display && (
            <code class="task-code">{job.schedule_display}</code>
          )}
        </Fact>
        <Fact name={tt('next')}>
          <Next job={job} now={now} />
        </Fact>
        <Fact name={tt('last')}>
          <Last job={job} />
        </Fact>
        {times !== null && times > 1 && (
          <Fact name={tt('repeat')}>{tt('repeat.of', { completed, times })}</Fact>
        )}
        {job.model && <Fact name={tt('model')}>{models.labelOf(job.model)}</Fact>}
        {job.skills.length > 0 && <Fact name={tt('skills')}>{job.skills.join(', ')}</Fact>}
        {job.script && (
          <Fact name={tt('script')}>
            <code>{job.script}</code>
          </Fact>
        )}
        {job.last_delivery_error && <Fact name={tt('delivery')}>{job.last_delivery_error}</Fact>}
      </dl>
      <section aria-labelledby="task-prompt">
        <h3 class="task-head" id="task-prompt">
          {tt('prompt')}
        </h3>
        <p class="task-prompt">{job.prompt || '—'}</p>
      </section>
      <section aria-labelledby="task-history">
        <h3 class="task-head" id="task-history">
          {tt('history')}
        </h3>
        <RunList tasks={tasks} of={job.id} />
      </section>
    </article>
  )
}
