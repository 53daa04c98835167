/** The engine in a long turn: time per step beside the provider, and memory. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bench } from './_bench.ts'
import { memoryMb, median, percentile, startChild } from './_child.ts'
import type { Steps, StepTimes } from './_stepper.ts'
import { number } from './_table.ts'

const STEPS = 500
/** The first and the last steps that are compared. */
const EDGE = 50

const configFor = (port: number) =>
  `model:\n  provider: custom\n  base_url: http://127.0.0.1:${port}/v1\n  default: bench\n  context_length: 2000000\nagent:\n  max_turns: ${STEPS + 10}\n`

const LINES = Array.from({ length: 500 }, (_, at) => `line ${at} of a file that is read in parts\n`)

export const measureEngine = async (bench: Bench): Promise<void> => {
  const provider = startChild('_stepper.ts')
  const port = await provider.ask<number>({ steps: STEPS } satisfies Steps)
  const service = await bench.start('engine', [], configFor(port))
  const { client, home, program } = service
  const workspace = join(home, 'work')
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'data.txt'), LINES.join(''))
  const created = await client.post('/api/session/new', { workspace })
  const { session_id } = created.body.session
  const started = await client.post('/api/chat/start', { session_id, message: 'go' })
  if (started.status !== 200) throw new Error(started.text)
  const path = `/api/chat/stream?stream_id=${started.body.stream_id}`
  const events = client.events(path, { timeoutMs: 300_000 })
  const last = (
    await events.until(({ event }) => event === 'stream_end' || event === 'apperror')
  ).at(-1)
  if (last?.event !== 'stream_end') throw new Error(JSON.stringify(last))
  const { times, lastRequestBytes } = await provider.ask<StepTimes>('times')
  const peak = memoryMb(program.child.pid, 'VmHWM')
  if (times.length !== STEPS) throw new Error(`${times.length} steps were made`)
  bench.add({
    what: `one engine step with a file read, ${STEPS} steps (p50 / p99)`,
    measured: `${number(median(times))} / ${number(percentile(times, 0.99))} ms`,
    bar: 'p50 ≤ 5 ms',
    kept: median(times) <= 5,
  })
  bench.add({
    what: `the first ${EDGE} steps; the last ${EDGE}, with requests of ${number(lastRequestBytes / 1024)} kB (p50)`,
    measured: `${number(median(times.slice(0, EDGE)))}; ${number(median(times.slice(-EDGE)))} ms`,
  })
  bench.add({
    what: `peak resident memory over ${STEPS} steps`,
    measured: `${number(peak)} MB`,
    bar: '≤ 150 MB',
    kept: peak <= 150,
  })
  provider.end()
  await service.stop()
}
