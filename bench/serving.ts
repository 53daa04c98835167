/** Benchmarks start time and requests per second against a minimal node:http server that sends the same bytes. */
import { request } from 'node:http'
import { type Bench, type Service, startBare } from './_bench.ts'
import { type Other, startOther } from './_beside.ts'
import { memoryMb, median, startChild } from './_child.ts'
import { sessionId } from './_data.ts'
import type { Load, LoadResult } from './_load.ts'
import type { MinimalRoutes } from './_minimal.ts'
import { number, spread } from './_table.ts'

const ROUNDS = 9
const QUICK_ROUNDS = 5

const startTimes = async (bench: Bench): Promise<void> => {
  const firstStart = await bench.start('start')
  await firstStart.stop()
  const ours: number[] = []
  const whole: number[] = []
  const bare: number[] = []
  const others: number[] = []
  for (let round = 0; round < (bench.full ? ROUNDS : QUICK_ROUNDS); round++) {
    const service = await bench.start('start')
    ours.push(service.program.startedMs)
    await service.stop()
    const file = await bench.start('start', [], undefined, { whole: true })
    whole.push(file.program.startedMs)
    await file.stop()
    const minimal = await startBare(bench)
    bare.push(minimal.startedMs)
    await minimal.stop()
    if (!bench.beside) continue
    const { program } = await startOther(bench.beside, bench.root)
    others.push(program.startedMs)
    await program.stop()
  }
  bench.add({
    what: 'start to first answer on /health (median and spread; first start ever; as node FILE)',
    measured: `${spread(ours)} ms; ${number(firstStart.program.startedMs)} ms; ${spread(whole)} ms`,
    minimal: `${spread(bare)} ms`,
    ratio: `${(median(ours) / median(bare)).toFixed(2)}×`,
    ...(others.length > 0 && { beside: `${spread(others)} ms` }),
    bar: '≤ 2×',
    kept: median(ours) <= 2 * median(bare),
  })
}

const SKIPPED = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding'])

/** Records the response to a path with its headers, for the minimal server to repeat. */
const capture = (port: number, path: string): Promise<MinimalRoutes[string]> =>
  new Promise((resolve, reject) => {
    const req = request({ host: '127.0.0.1', port, path }, res => {
      const chunks: Buffer[] = []
      res.on('data', chunk => chunks.push(chunk))
      res.on('end', () => {
        const headers: string[] = []
        for (let i = 0; i < res.rawHeaders.length; i += 2) {
          const [name = '', value = ''] = res.rawHeaders.slice(i, i + 2)
          if (!SKIPPED.has(name.toLowerCase())) headers.push(name, value)
        }
        resolve({ headers, body: Buffer.concat(chunks).toString('base64') })
      })
    })
    req.once('error', reject)
    req.end()
  })

/** The asset whose size is closest to 124 kB, the size of the target. */
const pickFile = async ({ client }: Service): Promise<{ path: string; size: number }> => {
  const page = await client.get('/')
  const names = [...page.text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(match => match[1])
  const files = await Promise.all(
    names.map(async name => ({
      path: `/${name}`,
      size: (await client.get(`/${name}`)).bytes.length,
    })),
  )
  const [nearest] = files.toSorted((a, b) => Math.abs(a.size - 124e3) - Math.abs(b.size - 124e3))
  if (!nearest) throw new Error('The page names no file')
  return nearest
}

type Rates = {
  path: string
  what: string
  /** Concurrent connections. */
  at: readonly number[]
  /** Share of the minimal server's requests. */
  bar: number
  /** The other server's path. */
  other?: string | undefined
}

const rates = async (
  bench: Bench,
  service: Service,
  { path, what, at, bar, other }: Rates,
  beside: Other | undefined,
): Promise<void> => {
  const minimal = startChild('_minimal.ts')
  const generator = startChild('_load.ts')
  const port = await minimal.ask<number>({ [path]: await capture(service.program.port, path) })
  const run = async (to: number, connections: number, asked = path) => {
    const load: Load = { port: to, path: asked, connections, warmMs: 200, measureMs: 700 }
    const result = await generator.ask<LoadResult>(load)
    if (result.wrong > 0) throw new Error(`${result.wrong} answers on ${asked} were no 200`)
    return result.perSecond
  }
  for (const connections of at) {
    const ours: number[] = []
    const theirs: number[] = []
    const others: number[] = []
    for (let round = 0; round < 5; round++) {
      ours.push(await run(service.program.port, connections))
      theirs.push(await run(port, connections))
      if (beside && other) others.push(await run(beside.program.port, connections, other))
    }
    const ratio = median(ours) / median(theirs)
    bench.add({
      what: `requests/s, ${what}, ${connections} connection${connections === 1 ? '' : 's'}`,
      measured: spread(ours),
      minimal: spread(theirs),
      ratio: `${(ratio * 100).toFixed(0)} %`,
      ...(others.length > 0 && { beside: spread(others) }),
      bar: `≥ ${bar * 100} %`,
      kept: ratio >= bar,
    })
  }
  minimal.end()
  generator.end()
}

export const measureServing = async (bench: Bench): Promise<void> => {
  await startTimes(bench)
  const service = await bench.start('serving', [{ sessions: 20, messages: 20 }])
  const beside = bench.beside && (await startOther(bench.beside, bench.root))
  const { path, size } = await pickFile(service)
  const session = `/api/session?session_id=${sessionId(3)}`
  const many = bench.full ? [1, 32, 128] : [32]
  const all: Rates[] = [
    { path: '/health', what: '/health', at: many, bar: 0.8, other: '/health' },
    { path, what: `static file of ${Math.round(size / 1000)} kB`, at: many, bar: 0.8 },
    {
      path: session,
      what: 'session of 20 messages',
      at: [1, 32],
      bar: 0.6,
      other: beside?.sessionPath,
    },
    ...(bench.full
      ? [{ path: `${session}&limit=50`, what: 'the same as a page', at: [1, 32], bar: 0.6 }]
      : []),
  ]
  for (const each of all) await rates(bench, service, each, beside)
  if (beside) {
    bench.add({
      what: 'resident memory after that',
      measured: `${number(memoryMb(service.program.child.pid))} MB`,
      beside: `${number(memoryMb(beside.program.child.pid))} MB`,
    })
    await beside.program.stop()
  }
  await service.stop()
}
