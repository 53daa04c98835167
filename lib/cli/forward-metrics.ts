/** Metrics of a forwarder: its requests, and what the database shows of workers and cells. Loaded only where metrics are on. */
import type { Counter, Gauge } from 'prom-client'
import { toSeconds } from '../base/clock.ts'
import { isSameSecret } from '../base/sha256.ts'
import type { Directory } from '../cluster/directory.ts'
import type { Forwarded } from '../http/forwarder.ts'
import type { Listener } from '../http/http.ts'
import { Series } from '../operations/telemetry/series.ts'

const PATH = '/forward/metrics'

export class ForwardMetrics {
  readonly #series: Series
  readonly #directory: Directory
  readonly #token: string
  readonly #requests: Counter
  readonly #databaseUp: Gauge
  readonly #workerCells: Gauge
  readonly #workerCapacity: Gauge
  readonly #epoch: Gauge
  readonly #silent: Gauge
  readonly #leftOut: Gauge

  static async open(directory: Directory, token: string): Promise<ForwardMetrics> {
    return new ForwardMetrics(await Series.open(), directory, token)
  }

  private constructor(series: Series, directory: Directory, token: string) {
    this.#series = series
    this.#directory = directory
    this.#token = token
    this.#requests = series.counter('forwarded_requests_total', 'Requests for cells, by result.', [
      'result',
    ])
    this.#databaseUp = series.gauge('cluster_database_up', '1: the database answers.')
    this.#workerCells = series.gauge('worker_cells', 'Cells that a worker runs.', ['worker'])
    this.#workerCapacity = series.gauge('worker_capacity_cells', 'Cells that it runs at most.', [
      'worker',
    ])
    const ofCell = ['cell', 'worker']
    this.#epoch = series.gauge('cell_epoch', 'Rises with every owner of a cell.', ofCell)
    this.#silent = series.gauge(
      'cell_commit_age_seconds',
      'Since the database had the last write or sign of life of the owner.',
      ofCell,
    )
    this.#leftOut = series.gauge('cell_files_left_out', 'Files without a copy.', ofCell)
  }

  count(how: Forwarded): void {
    this.#requests.inc({ result: how })
  }

  /** Answers for itself; everything else goes on to `listener`. */
  guard(listener: Listener): Listener {
    return (req, res) => {
      if (req.url?.split('?')[0] !== PATH) return listener(req, res)
      const token = /^Bearer +(\S+) *$/i.exec(req.headers.authorization ?? '')?.[1]
      if (token === undefined || !isSameSecret(token, this.#token)) {
        const error = 'The token of the metrics is missing or wrong.'
        res.writeHead(401, { 'Content-Type': 'application/json', 'WWW-Authenticate': 'Bearer' })
        return void res.end(JSON.stringify({ error, code: 'unauthorized' }))
      }
      return void this.#text(req.headers.accept ?? '').then(({ type, text }) => {
        res.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-store' })
        res.end(text)
      })
    }
  }

  async #text(accept: string): Promise<{ type: string; text: string }> {
    const gauges = [this.#workerCells, this.#workerCapacity, this.#epoch, this.#silent]
    // Workers and cells that have ended have no values.
    for (const each of [...gauges, this.#leftOut]) each.reset()
    try {
      await this.#look()
      this.#databaseUp.set(1)
    } catch {
      // The database is away, which is one of the values.
      this.#databaseUp.set(0)
    }
    return this.#series.text(accept)
  }

  async #look(): Promise<void> {
    const [workers, cells] = await Promise.all([
      this.#directory.workers(),
      this.#directory.served(),
    ])
    for (const { name: worker, used, capacity } of workers) {
      this.#workerCells.set({ worker }, used)
      this.#workerCapacity.set({ worker }, capacity)
    }
    for (const { name: cell, worker, epoch, silentMs, leftOut } of cells) {
      const labels = { cell, worker: worker ?? '' }
      this.#epoch.set(labels, epoch)
      this.#silent.set(labels, toSeconds(silentMs))
      this.#leftOut.set(labels, leftOut)
    }
  }
}
