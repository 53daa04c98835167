/**
 * A cluster on this machine, with a real PostgreSQL, workers, and forwarders as processes of their own: the way of a token
 * through a forwarder, the price of a commit, and how long a takeover lasts. All processes share the processors.
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../lib/base/clock.ts'
import { CellFileRules } from '../lib/cluster/cell-files.ts'
import { PostgresCluster } from '../lib/cluster/postgres.ts'
import { readConfig } from '../lib/config.ts'
import { reportWrite } from '../lib/store/write-reports.ts'
import { type Postgres, startPostgres } from '../test/_postgres.ts'
import { type Bench, type Service, waitUntil } from './_bench.ts'
import { cpuMs, median, percentile, startChild } from './_child.ts'
import type { Owning } from './_owner.ts'
import type { Pace } from './_provider.ts'
import type { Readers } from './_readers.ts'
import { configFor, newSession } from './streams.ts'
import { number } from './_table.ts'

const TOKENS_PER_SECOND = 50
const SECONDS = 6
/** Workers, with a forwarder each: more would only share the same processors. */
const WORKERS = 2
/** On a busy machine a process may not run for seconds. */
const SILENT_MS = 8_000
const KEY = 'a key that is only used in this bench 01'

/** Microseconds of processor time per token that is delivered. */
const perToken = (before: number, services: readonly Service[], turns: number): string =>
  `${number(((used(services) - before) * 1_000) / (turns * TOKENS_PER_SECOND * SECONDS))} µs`

const used = (services: readonly Service[]): number =>
  services.reduce((sum, { program }) => sum + cpuMs(program.child.pid), 0)

const both = (values: readonly number[]): string =>
  `${number(median(values))} / ${number(percentile(values, 0.99))} ms`

const settings = ({ url }: Postgres, cell: string): Record<string, string> => ({
  AGENT_WEBUI_CLUSTER_URL: url,
  AGENT_WEBUI_CLUSTER_CELL: cell,
  AGENT_WEBUI_CLUSTER_KEY: KEY,
})

const startForwarder = (bench: Bench, db: Postgres, cell: string): Promise<Service> =>
  bench.start(`forwarder-${cell}`, [], undefined, { env: settings(db, cell), args: ['forward'] })

/** Opens the streams of one forwarder; `delays` resolves with those of the timed ones when they are over. */
const read = async (port: number, paths: readonly string[], timed: number) => {
  const crowd = startChild('_readers.ts')
  const few = startChild('_readers.ts')
  const ask = (child: typeof few, given: readonly string[], isTimed: boolean) =>
    child.ask({ port, paths: [...given], timed: isTimed, silentMs: SILENT_MS } satisfies Readers)
  await ask(crowd, paths.slice(timed), false)
  await ask(few, paths.slice(0, timed), true)
  const delays = new Promise<number[]>(resolve =>
    few.process.once('message', found => resolve(found as number[])),
  )
  return {
    delays,
    end() {
      crowd.end()
      few.end()
    },
  }
}

/** Owners that do nothing but stream: what the forwarders and the network add. */
const simulated = async (bench: Bench, db: Postgres, turns: number): Promise<void> => {
  const perOwner = turns / Math.min(WORKERS, turns)
  const timed = Math.min(25, perOwner)
  const parts = await Promise.all(
    Array.from({ length: Math.min(WORKERS, turns) }, async (_, at) => {
      const cell = `simulated-${turns}-${at}`
      const owner = startChild('_owner.ts')
      const owning: Owning = {
        ...{ database: db.url, cell },
        ...{ tokensPerSecond: TOKENS_PER_SECOND, seconds: SECONDS },
      }
      await owner.ask(owning)
      const forwarder = await startForwarder(bench, db, cell)
      const paths = Array.from({ length: perOwner }, () => '/')
      const readers = await read(forwarder.program.port, paths, timed)
      return { owner, owning, forwarder, readers }
    }),
  )
  const forwarders = parts.map(({ forwarder }) => forwarder)
  const before = used(forwarders)
  for (const { owner, owning } of parts) owner.process.send(owning)
  const delays = (await Promise.all(parts.map(({ readers }) => readers.delays))).flat()
  bench.add({
    what: `owner → reader through a forwarder, ${number(turns)} simulated turns × ${TOKENS_PER_SECOND} tokens/s, ${parts.length} owners (p50 / p99; of ${number(delays.length)})`,
    measured: both(delays),
    bar: turns === 1 ? '0.7 / 2.5 ms' : '1.8 / 14 ms',
    kept: delays.length >= parts.length * timed * TOKENS_PER_SECOND * SECONDS * 0.99,
  })
  bench.add({
    what: `processor time of the forwarder per token, ${number(turns)} turns`,
    measured: perToken(before, forwarders, turns),
  })
  for (const { owner, forwarder, readers } of parts) {
    readers.end()
    owner.end()
    await forwarder.stop()
  }
}

/** Real turns: the engine, journals, the commit of every message, and the forwarder. */
const realTurns = async (bench: Bench, db: Postgres, perWorker: number): Promise<void> => {
  const provider = startChild('_provider.ts')
  const pace: Pace = { tokensPerSecond: TOKENS_PER_SECOND, seconds: SECONDS }
  const port = await provider.ask<number>(pace)
  const parts = await Promise.all(
    Array.from({ length: WORKERS }, async (_, at) => {
      const cell = `real-${at}`
      const worker = await bench.start(cell, [], configFor(port), { env: settings(db, cell) })
      const forwarder = await startForwarder(bench, db, cell)
      const ids: string[] = []
      for (let n = 0; n < perWorker; n++) ids.push(await newSession(forwarder))
      const paths = ids.map(id => `/api/events?watch=${id}`)
      const readers = await read(forwarder.program.port, paths, Math.min(10, perWorker))
      return { worker, forwarder, readers, ids }
    }),
  )
  const [workers, forwarders] = [parts.map(part => part.worker), parts.map(part => part.forwarder)]
  const before = [used(workers), used(forwarders)] as const
  for (const { forwarder, ids } of parts)
    for (const session_id of ids) {
      const started = await forwarder.client.post('/api/chat/start', { session_id, message: 'go' })
      if (started.status !== 200) throw new Error(started.text)
    }
  const delays = (await Promise.all(parts.map(({ readers }) => readers.delays))).flat()
  bench.add({
    what: `provider → reader through worker and forwarder, ${WORKERS * perWorker} real turns × ${TOKENS_PER_SECOND} tokens/s, ${WORKERS} workers (p50 / p99; of ${number(delays.length)})`,
    measured: both(delays),
  })
  const turns = WORKERS * perWorker
  bench.add({
    what: `processor time of worker; forwarder per token, ${turns} real turns with one reader each`,
    measured: `${perToken(before[0], workers, turns)}; ${perToken(before[1], forwarders, turns)}`,
  })
  for (const { worker, forwarder, readers } of parts) {
    readers.end()
    await forwarder.stop()
    await worker.stop()
  }
  provider.end()
}

/** What an answer waits for: an append and its commit, checked against the epoch. */
const commits = async (bench: Bench, db: Postgres): Promise<void> => {
  const home = mkdtempSync(join(bench.root, 'commits-'))
  const config = readConfig({ HOME: home }, [])
  const dir = join(config.stateDir, 'sessions')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const log = { info: () => undefined, warn: () => undefined }
  const cluster = new PostgresCluster({ clock: systemClock, url: db.url, key: KEY, log })
  const owned = await cluster.own('commits', {
    files: new CellFileRules(config),
    stateDir: config.stateDir,
  })
  const path = join(dir, '000000000000.jsonl')
  const times: number[] = []
  for (let n = 0; n < 1_000; n++) {
    const startedAt = performance.now()
    appendFileSync(path, `${JSON.stringify({ n, text: 'x'.repeat(400) })}\n`)
    reportWrite(path)
    await owned.whenSettled()
    times.push(performance.now() - startedAt)
  }
  await owned.release(5_000)
  rmSync(home, { recursive: true, force: true })
  bench.add({
    what: 'append and its commit, fenced and sealed, 1 000 times (p50 / p99)',
    measured: both(times),
    bar: '0.29 / 2.8 ms',
  })
}

const waitsForOwner = (db: Postgres): Promise<number> =>
  waitUntil('a standby that waits', async () => {
    const found = await db.query(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and wait_event = 'advisory'`,
    )
    return found.length > 0
  })

/** From `kill -9` of the owner to the first answer of the one that waited. */
const takeovers = async (bench: Bench, db: Postgres, runs: number): Promise<void> => {
  const env = settings(db, 'takeovers')
  const shape = { sessions: 100, messages: 20 }
  let owner = await bench.start('takeover-0', [shape], undefined, { env })
  const times: number[] = []
  for (let run = 1; run <= runs; run++) {
    const next = bench.start(`takeover-${run}`, [], undefined, { env })
    await waitsForOwner(db)
    const killedAt = performance.now()
    await owner.program.stop('SIGKILL')
    const standby = await next
    await standby.client.get('/api/sessions?limit=20')
    times.push(performance.now() - killedAt)
    owner.client.closeClient()
    owner = standby
  }
  await owner.stop()
  bench.add({
    what: `kill -9 of the owner → first list of a standby with nothing, 100 sessions, ${runs} runs (p50 / most)`,
    measured: `${number(median(times))} / ${number(Math.max(...times))} ms`,
    bar: '124 / 171 ms',
  })
}

/** A machine with nothing starts with all sessions. */
const coldStart = async (bench: Bench, db: Postgres, sessions: number): Promise<void> => {
  const env = settings(db, `cold-${sessions}`)
  const shape = { sessions, messages: 20 }
  const first = await bench.start(`cold-${sessions}`, [shape], undefined, { env })
  await first.stop()
  const other = await bench.start(`cold-${sessions}-other`, [], undefined, { env })
  const { body } = await other.client.get('/api/sessions?limit=20')
  bench.add({
    what: `start to first answer on a machine with nothing, ${number(sessions)} sessions`,
    measured: `${number(other.program.startedMs)} ms`,
    bar: sessions === 1_000 ? '600–800 ms' : '3 800 ms',
    kept: body.sessions.length === 20,
  })
  await other.stop()
}

export const measureCluster = async (bench: Bench): Promise<void> => {
  const db = await startPostgres()
  try {
    await commits(bench, db)
    await simulated(bench, db, 1)
    await simulated(bench, db, 1_000)
    await realTurns(bench, db, 10)
    if (bench.full) await realTurns(bench, db, 50)
    await takeovers(bench, db, bench.full ? 20 : 5)
    await coldStart(bench, db, 1_000)
    if (bench.full) await coldStart(bench, db, 10_000)
  } finally {
    await db.close()
  }
}
