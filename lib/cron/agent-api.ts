/** The jobs of a home for the agent's `cronjob` tool, with stricter checks of what will run. */
import type { CronFields, CronStore, Job } from '../agent/tools/cronjob.ts'
import { forbidden } from '../errors.ts'
import { reveal } from '../base/redact/redact.ts'
import { findThreat } from '../base/prompt-injection.ts'
import type { Role } from '../schema/person.ts'
import type { HomeCron } from './cron.ts'
import type { Clock } from '../base/clock.ts'
import { toWireJob } from './job.ts'

type StoredJob = Parameters<typeof toWireJob>[0]

/** The prompt was written by a model and runs unattended with tools: check it for prompt injection. */
const checkPrompt = ({ prompt }: CronFields): void => {
  const threat = findThreat(prompt ?? '')
  if (threat) throw forbidden(`The task was not saved: its prompt contains ${threat}.`)
}

/** Implements `CronStore` for one turn; `role` is that of the person whose turn it is. */
export class AgentJobs implements CronStore {
  readonly #cron: HomeCron
  readonly #clock: Clock
  readonly #role: () => Role

  constructor(cron: HomeCron, clock: Clock, role: () => Role) {
    this.#cron = cron
    this.#clock = clock
    this.#role = role
  }

  #show(record: StoredJob): Job {
    const job = toWireJob(record, {
      now: this.#clock.now(),
      zone: this.#cron.zone(),
      running: this.#cron.scheduler.isBusy(record.id),
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

  list(): Job[] {
    return this.#cron.jobs.list().map(record => this.#show(record))
  }

  async create(fields: CronFields & { schedule: string }) {
    checkPrompt(fields)
    // A new task has no stored secrets to restore, so a mask in it is an error.
    for (const text of [fields.prompt, fields.name]) if (text !== undefined) reveal(text, '')
    return this.#show(await this.#cron.jobs.create({ ...fields, by: this.#role() }))
  }

  async update(id: string, fields: CronFields) {
    checkPrompt(fields)
    return this.#show(await this.#cron.jobs.update(id, { ...fields, by: this.#role() }, reveal))
  }

  async pause(id: string): Promise<Job> {
    return this.#show(await this.#cron.jobs.pause(id, null))
  }

  async resume(id: string): Promise<Job> {
    return this.#show(await this.#cron.jobs.resume(id))
  }

  async remove(id: string) {
    const job = this.#show(this.#cron.jobs.get(id))
    await this.#cron.jobs.remove(id)
    return job
  }

  run(id: string): { status: string } {
    return this.#cron.scheduler.runNow(id)
  }
}
