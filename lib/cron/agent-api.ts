/** The jobs of a home for the agent's `cronjob` tool, with stricter checks of what will run. */
import type { CronFields, CronStore } from '../agent/tools/cronjob.ts'
import { forbidden } from '../errors.ts'
import { reveal } from '../base/redact/redact.ts'
import { findThreat } from '../base/prompt-injection.ts'
import type { Role } from '../schema/person.ts'
import type { Cron } from './cron.ts'
import { toWireJob } from './job.ts'

type HomeCron = ReturnType<Cron['of']>
type Stored = Parameters<typeof toWireJob>[0]

/** The prompt was written by a model and runs unattended with tools: check it for prompt injection. */
const checkPrompt = ({ prompt }: CronFields): void => {
  const threat = findThreat(prompt ?? '')
  if (threat) throw forbidden(`The task was not saved: its prompt contains ${threat}.`)
}

export const createCronStore = (
  { jobs, scheduler, now, zone }: HomeCron,
  role: () => Role,
): CronStore => {
  const show = (stored: Stored) => {
    const job = toWireJob(stored, {
      now: now(),
      zone: zone(),
      running: scheduler.isBusy(stored.id),
    })
    return {
      job_id: job.id,
      name: job.name,
      prompt: job.prompt,
      skills: job.skills,
      schedule: job.schedule_display,
      schedule_in_words: job.words,
      repeat: job.repeat,
      deliver: job.deliver,
      model: job.model,
      provider: job.provider,
      script: job.script,
      enabled: job.enabled,
      state: job.state,
      running: job.running,
      next_run_at: job.next_run_at,
      last_run_at: job.last_run_at,
      last_status: job.last_status,
      last_error: job.last_error,
    }
  }
  return {
    list: () => jobs.list().map(show),
    async create(fields) {
      checkPrompt(fields)
      // A new task has no stored secrets to restore, so a mask in it is an error.
      for (const text of [fields.prompt, fields.name]) if (text !== undefined) reveal(text, '')
      return show(await jobs.create({ ...fields, by: role() }))
    },
    async update(id, fields) {
      checkPrompt(fields)
      return show(await jobs.update(id, { ...fields, by: role() }, reveal))
    },
    pause: async id => show(await jobs.pause(id, null)),
    resume: async id => show(await jobs.resume(id)),
    async remove(id) {
      const job = show(jobs.get(id))
      await jobs.remove(id)
      return job
    },
    run: id => scheduler.runNow(id),
  }
}
