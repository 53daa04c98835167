/** Tool: manages scheduled tasks. */
import { z } from 'zod'
import type { Tool } from '../types.ts'

export type CronFields = {
  name?: string
  prompt?: string
  schedule?: string
  deliver?: string
  skills?: string[]
  model?: string
  provider?: string
  script?: string
  /** 0 means forever. */
  repeat?: number
}
export type Job = Readonly<Record<string, unknown>>

/** The jobs of one home. Every method throws an error with a sentence for the model. */
export type CronStore = {
  list: () => Job[]
  create: (fields: CronFields & { schedule: string }) => Promise<Job>
  update: (id: string, fields: CronFields) => Promise<Job>
  pause: (id: string) => Promise<Job>
  resume: (id: string) => Promise<Job>
  remove: (id: string) => Promise<Job>
  run: (id: string) => { status: string }
}

const input = z.object({
  action: z.enum(['create', 'list', 'update', 'pause', 'resume', 'remove', 'run']),
  job_id: z.string().trim().default('').describe('Required except for create and list.'),
  prompt: z.string().optional().describe('What to do.'),
  schedule: z
    .string()
    .trim()
    .optional()
    .describe('"every 2h", "0 9 * * 1-5", "2026-02-03T14:00", or once from now: "30m".'),
  name: z.string().trim().optional(),
  repeat: z.int().optional().describe('Total number of runs; 0: no limit.'),
  deliver: z.string().trim().optional().describe('"local" stores the result with the task.'),
  skills: z.array(z.string()).optional().describe('Skills to follow, in order.'),
  model: z
    .object({ provider: z.string().optional(), model: z.string() })
    .optional()
    .describe('A model other than the default.'),
  script: z
    .string()
    .trim()
    .optional()
    .describe('A file in scripts/ of the home; its output precedes the prompt.'),
})

type Input = z.output<typeof input>

const fieldsOf = ({ action: _, job_id: __, schedule, model, ...rest }: Input): CronFields => ({
  ...rest,
  ...(schedule ? { schedule } : {}),
  ...(model === undefined ? {} : { model: model.model, provider: model.provider ?? '' }),
})

export const cronjobTool = (store: CronStore): Tool<typeof input> => {
  const verbs: Record<Input['action'], (args: Input) => Promise<Job> | Job> = {
    async create(args) {
      const { schedule, ...fields } = fieldsOf(args)
      if (!schedule) throw new Error('schedule is required for create.')
      const job = await store.create({ ...fields, schedule })
      return { message: 'The task is scheduled.', job }
    },
    list() {
      const jobs = store.list()
      return { count: jobs.length, jobs }
    },
    async update(args) {
      const fields = fieldsOf(args)
      if (Object.keys(fields).length === 0) throw new Error('Nothing to change was given.')
      return { message: 'The task was changed.', job: await store.update(args.job_id, fields) }
    },
    pause: async ({ job_id }) => ({ message: 'Paused.', job: await store.pause(job_id) }),
    resume: async ({ job_id }) => ({ message: 'Resumed.', job: await store.resume(job_id) }),
    remove: async ({ job_id }) => ({ message: 'Removed.', job: await store.remove(job_id) }),
    run({ job_id }) {
      const { status } = store.run(job_id)
      const message = status === 'running' ? 'It is running already.' : 'It runs now.'
      return { message, job_id, status }
    },
  }
  return {
    name: 'cronjob',
    summary:
      'Create and manage scheduled prompts. The user sees them under Tasks. Each run is a new, unattended conversation, so the prompt must contain everything it needs.',
    input,
    kind: 'write',
    preview: ({ action, name, job_id, schedule }) =>
      [action, name || job_id, schedule].filter(Boolean).join(' · '),
    onlyReads: ({ action }) => action === 'list',
    async run(_ctx, args) {
      const needsId = args.action !== 'create' && args.action !== 'list'
      if (needsId && !args.job_id) throw new Error(`job_id is required for ${args.action}.`)
      return {
        content: JSON.stringify({ success: true, ...(await verbs[args.action](args)) }),
      }
    },
  }
}
