/** Turns that run and readers that watch: the way of a token to the browser, memory under turns, open streams. */
import { type Bench, type Service, timeAnswers, waitUntil } from './_bench.ts'
import { memoryMb, median, percentile, startChild } from './_child.ts'
import type { Pace } from './_provider.ts'
import type { Readers } from './_readers.ts'
import { number } from './_table.ts'

const TURNS = 10
const READERS = 500
const SECONDS = 6

export const configFor = (port: number) =>
  `model:\n  provider: custom\n  base_url: http://127.0.0.1:${port}/v1\n  default: bench\n`

export const newSession = async ({ client }: Service): Promise<string> =>
  (await client.post('/api/session/new')).body.session.session_id

const tokenDelay = async (bench: Bench): Promise<void> => {
  const provider = startChild('_provider.ts')
  const pace: Pace = { tokensPerSecond: 100, seconds: SECONDS }
  const port = await provider.ask<number>(pace)
  const service = await bench.start('turns', [], configFor(port))
  const ids = await Promise.all(Array.from({ length: TURNS }, () => newSession(service)))
  const watch = (id: string) => `/api/events?watch=${id}`
  // Readers that look at the time are few and apart, so that they measure the service and not each other.
  const crowd = startChild('_readers.ts')
  const timed = startChild('_readers.ts')
  const crowdPaths = Array.from({ length: READERS - TURNS }, (_, i) => watch(ids[i % TURNS] ?? ''))
  await crowd.ask({ port: service.program.port, paths: crowdPaths, timed: false } satisfies Readers)
  await timed.ask({
    port: service.program.port,
    paths: ids.map(watch),
    timed: true,
  } satisfies Readers)
  const idleMb = memoryMb(service.program.child.pid)
  const reported = new Promise<number[]>(resolve =>
    timed.process.once('message', delays => resolve(delays as number[])),
  )
  for (const id of ids) {
    const started = await service.client.post('/api/chat/start', { session_id: id, message: 'go' })
    if (started.status !== 200) throw new Error(started.text)
  }
  await new Promise(resolve => setTimeout(resolve, (SECONDS * 1_000) / 2))
  const mb = memoryMb(service.program.child.pid)
  const delays = await reported
  bench.add({
    what: `token delay, ${TURNS} turns × 100 tokens/s, ${READERS} readers (p50 / p99; of ${number(delays.length)})`,
    measured: `${number(median(delays))} / ${number(percentile(delays, 0.99))} ms`,
    bar: 'p99 ≤ 50 ms',
    kept: percentile(delays, 0.99) <= 50 && delays.length >= TURNS * SECONDS * 100 * 0.99,
  })
  bench.add({
    what: `resident memory with ${TURNS} running turns and ${READERS} readers (before the turns)`,
    measured: `${number(mb)} MB (${number(idleMb)})`,
    bar: '≤ 150 MB',
    kept: mb <= 150,
  })
  crowd.end()
  timed.end()
  await service.stop()
  provider.end()
}

/** What it takes until the person's message is safe and the turn runs, in short and in long sessions. */
const saving = async (bench: Bench): Promise<void> => {
  const provider = startChild('_provider.ts')
  const port = await provider.ask<number>({ tokensPerSecond: 0, seconds: 0 } satisfies Pace)
  const texts: string[] = []
  const medians: number[] = []
  for (const messages of [20, 20_000]) {
    const shape = { sessions: 1, messages, words: 40 }
    const service = await bench.start(`saving-${messages}`, [shape], configFor(port))
    const session_id = '000000000000'
    const times: number[] = []
    for (let i = 0; i < 15; i++) {
      // Each turn has to end before the next can begin.
      await waitUntil('the turn', async () => {
        const { body } = await service.client.get(`/api/session/status?session_id=${session_id}`)
        return body.agent_running === false
      })
      const ask = () => service.client.post('/api/chat/start', { session_id, message: 'go' })
      times.push(...(await timeAnswers(1, ask)))
    }
    medians.push(median(times))
    texts.push(number(median(times)))
    await service.stop()
  }
  const [short = 0, long = 0] = medians
  bench.add({
    what: 'chat/start in a session of 20; 20 000 messages (p50)',
    measured: `${texts.join('; ')} ms`,
    bar: 'the same',
    kept: long <= short * 2 + 2,
  })
  provider.end()
}

const openStreams = async (bench: Bench): Promise<void> => {
  const count = bench.full ? 8_000 : 2_000
  const service = await bench.start('streams')
  const id = await newSession(service)
  await timeAnswers(50, () => service.client.get('/health'))
  const before = memoryMb(service.program.child.pid)
  const crowd = startChild('_readers.ts')
  const paths = Array.from({ length: count }, () => `/api/events?watch=${id}`)
  await crowd.ask({ port: service.program.port, paths, timed: false } satisfies Readers)
  const after = memoryMb(service.program.child.pid)
  const times = await timeAnswers(50, () => service.client.get('/health'))
  const kb = ((after - before) * 1024) / count
  bench.add({
    what: `${number(count)} open event streams: each (and /health at the same time, p50)`,
    measured: `${number(kb)} kB (${number(median(times))} ms)`,
    bar: '≤ 20 kB',
    kept: kb <= 20,
  })
  crowd.end()
  await service.stop()
}

export const measureStreams = async (bench: Bench): Promise<void> => {
  await tokenDelay(bench)
  await saving(bench)
  await openStreams(bench)
}
