/** What the tests of scheduled jobs share: a job made over HTTP, run, and waited for. */
import * as assert from 'uvu/assert'
import type { SpawnedApp, TestApp } from '../_app.ts'

type Service = TestApp | SpawnedApp

export const create = async (
  app: Service,
  given: Record<string, unknown> = {},
): Promise<string> => {
  const answer = await app.post('/api/crons/create', {
    prompt: 'look around',
    schedule: 'every 1h',
    name: 'Look',
    ...given,
  })
  assert.is(answer.status, 200, answer.text)
  return answer.body.job.id
}

/** Between two questions; asking without a pause takes the processor from the tests beside it. */
const pause = () => new Promise(resolve => setTimeout(resolve, 10))

/** Asks until nothing runs any more. */
export const idle = async (
  app: Service,
  options: Parameters<TestApp['get']>[1] = {},
): Promise<void> => {
  for (;;) {
    const { body } = await app.get('/api/crons/status', options)
    const open = (await app.get('/api/crons/history', options)).body.runs.filter(
      (run: { ended_at: number | null }) => run.ended_at === null,
    )
    if (Object.keys(body.running).length === 0 && open.length === 0) return
    await pause()
  }
}

/** Asks until this home's history knows of a run that has ended. */
export const ran = async (
  app: Service,
  options: Parameters<TestApp['get']>[1] = {},
): Promise<void> => {
  for (;;) {
    const { runs } = (await app.get('/api/crons/history', options)).body
    if (runs.some((run: { ended_at: number | null }) => run.ended_at !== null)) return
    await pause()
  }
}

export const runNow = async (app: Service, job_id: string): Promise<void> => {
  const answer = await app.post('/api/crons/run', { job_id })
  assert.equal(answer.body, { ok: true, job_id, status: 'triggered', elapsed: 0 })
  await idle(app)
}

export const listed = async (app: Service, id: string) =>
  (await app.get('/api/crons')).body.jobs.find((job: { id: string }) => job.id === id)

export const outputOf = async (app: Service, id: string): Promise<string> =>
  (await app.get(`/api/crons/output?job_id=${id}`)).body.outputs[0]?.content ?? ''
