/**
 * The run history: `<home>/cron/history.jsonl`, append-only, one JSON object per line, covering every due time.
 *
 *   {"t":"claimed","run":…,"at":…,"job":…,"name":…,"trigger":…,"due":…,"by":{"pid":…,"boot":…}}   claimed; runs next
 *   {"t":"started","run":…,"at":…}   {"t":"session","run":…,"session":…}                          its session
 *   {"t":"ended","run":…,"at":…,"how":"ran"|"interrupted","status":…,"error":…,"file":…}          ended
 *   {"t":"denied","run":…,"text":…}                                                               a command that was denied
 *   {"t":"resumed","run":…,"at":…,"by":…}   {"t":"parked","run":…}                                continued by another process; may be
 *   {"t":"passed","run":…,"at":…,"job":…,"name":…,"how":"missed"|"skipped","due":…,"until":…,"count":…,"error":…}
 *
 * Times are seconds since 1970. A claim without an end whose `by` is not a live process was interrupted. The file is truncated
 * to its newest runs when it grows beyond 2 MB. Deleting it loses only the history.
 */
import { isAlive } from '../base/is-alive.ts'
import { randomBytes } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { isObject, stringOrNull } from '../base/json.ts'
import type { JobRun } from '../schema/cron.ts'
import { withCodes } from '../base/sentences.ts'
import { Sentences } from '../schema/sentence.ts'
import type { PassedTimes } from './due-jobs.ts'
import type { JobPlan } from './job.ts'
import type { RunResult } from './run-job.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { CachedFile } from '../store/cached-file.ts'
import { appendText, readWholeText } from '../store/read-text.ts'

export type Runner = { pid: number; boot: string }
/** As stored; `by`, `claimed_at`, and `denied` are internal. */
export type Run = JobRun & { by: Runner | null; claimed_at: number; denied: string[] }

/** What is reported of a run that has ended, or of a due time that was missed or skipped. */
export type EndedRun = Pick<
  Run,
  'run_id' | 'job_id' | 'name' | 'how' | 'status' | 'error' | 'session_id' | 'count'
>

/** Names what was missed or skipped the same each time it is reported; `due` is in milliseconds. */
export const passedId = (job: string, due: number): string => `${job}-${due}`

const MAX_BYTES = 2 << 20
const MAX_RUNS = 2_000

type RunLine = Record<string, unknown>
const number = (value: unknown): number => (typeof value === 'number' ? value : 0)

const parseLine = (line: string): RunLine | null => {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? (value as RunLine) : null
  } catch {
    // A line torn by a power failure is skipped.
    return null
  }
}

const runnerOf = (value: unknown): Runner | null => {
  if (!isObject(value)) return null
  const { pid, boot } = value as RunLine
  return { pid: number(pid), boot: stringOrNull(boot) ?? '' }
}

/** With its code and values, where it has some. */
const errorOf = (line: RunLine): Pick<Run, 'error' | 'sentences'> => {
  const { data: sentences } = Sentences.optional().safeParse(line.sentences)
  return { error: stringOrNull(line.error), ...(sentences && { sentences }) }
}

const opened = (line: RunLine, run: string): Run => ({
  run_id: run,
  job_id: stringOrNull(line.job) ?? '',
  name: stringOrNull(line.name) ?? '',
  how: line.t === 'claimed' ? 'queued' : line.how === 'missed' ? 'missed' : 'skipped',
  status: null,
  trigger: line.trigger === 'manual' ? 'manual' : 'schedule',
  due_at: number(line.due),
  due_until: number(line.until ?? line.due),
  count: number(line.count ?? 1),
  started_at: null,
  ended_at: line.t === 'claimed' ? null : number(line.at),
  ...errorOf(line),
  session_id: null,
  filename: null,
  by: runnerOf(line.by),
  claimed_at: number(line.at),
  denied: [],
})

const fold = (content: string): Run[] => {
  const runs = new Map<string, Run>()
  for (const each of content.split('\n')) {
    const line = each ? parseLine(each) : null
    const id = line && stringOrNull(line.run)
    if (!line || !id) continue
    if (line.t === 'claimed' || line.t === 'passed') runs.set(id, opened(line, id))
    const run = runs.get(id)
    if (!run) continue
    if (line.t === 'started') Object.assign(run, { how: 'running', started_at: number(line.at) })
    if (line.t === 'session') run.session_id = stringOrNull(line.session)
    if (line.t === 'denied') run.denied.push(stringOrNull(line.text) ?? '')
    if (line.t === 'resumed')
      Object.assign(run, { by: runnerOf(line.by), claimed_at: number(line.at) })
    if (line.t === 'parked') run.by = null
    if (line.t === 'ended') {
      run.how = line.how === 'interrupted' ? 'interrupted' : 'ran'
      run.status = line.status === 'ok' ? 'ok' : 'error'
      run.ended_at = number(line.at)
      Object.assign(run, errorOf(line))
      run.filename = stringOrNull(line.file)
    }
  }
  return [...runs.values()].reverse()
}

export class History {
  readonly #dir: string
  readonly #by: Runner
  readonly #clock: Clock
  readonly #isSole: boolean
  readonly #report: (run: EndedRun) => void
  readonly #path: string
  readonly #runs: CachedFile<Run[]>
  /** When this process began. */
  readonly #began: number

  /** `report` is called when a run has ended, or a due time was missed or skipped. `isSole`: no other process has these jobs. */
  constructor(
    dir: string,
    by: Runner,
    clock: Clock,
    report: (run: EndedRun) => void = () => undefined,
    isSole = false,
  ) {
    this.#report = report
    this.#dir = dir
    this.#by = by
    this.#clock = clock
    this.#isSole = isSole
    this.#path = join(dir, 'history.jsonl')
    this.#runs = new CachedFile(this.#path, file => fold(file.text ?? ''), {
      maxBytes: MAX_BYTES * 8,
      lossy: true,
    })
    this.#began = clock.now() - clock.monotonic()
  }

  /** Newest first. */
  list(): Run[] {
    return this.#runs.read()
  }

  /** Truncates a long file. Call it while no one else writes: before the first tick. */
  shorten(): void {
    if ((statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) <= MAX_BYTES) return
    const content = readWholeText(this.#path)
    const ids = new Set(
      fold(content)
        .slice(0, MAX_RUNS)
        .map(run => run.run_id),
    )
    const lines = content
      .split('\n')
      .filter(line => ids.has(stringOrNull(parseLine(line)?.run) ?? ''))
    writeAtomic(this.#path, `${lines.join('\n')}\n`)
  }

  #append(line: RunLine): void {
    mkdirSync(this.#dir, { recursive: true, mode: 0o700 })
    // The leading line break keeps a line torn by a killed writer from merging with this one; readers skip empty lines.
    appendText(this.#path, `\n${JSON.stringify(line)}\n`)
  }

  #seconds() {
    return toSeconds(this.#clock.now())
  }

  /** It has no end, and its process is dead. */
  isAbandoned(run: Run): boolean {
    if (run.ended_at !== null) return false
    return this.#isSole ? run.by?.boot !== this.#by.boot : isDead(run, this.#began)
  }

  claimed({ id: job, name }: JobPlan, trigger: 'schedule' | 'manual', due: number): string {
    const run = newRun()
    const of = { job, name, trigger, due: toSeconds(due), by: this.#by }
    this.#append({ t: 'claimed', run, at: this.#seconds(), ...of })
    return run
  }

  started(run: string): void {
    this.#append({ t: 'started', run, at: this.#seconds() })
  }

  session(run: string, session: string): void {
    this.#append({ t: 'session', run, session })
  }

  denied(run: string, text: string): void {
    this.#append({ t: 'denied', run, text })
  }

  /** This process continues a run of another one. */
  resumed(run: string): void {
    this.#append({ t: 'resumed', run, at: this.#seconds(), by: this.#by })
  }

  /** The run has not begun, and another process may take it. */
  parked(run: string): void {
    this.#append({ t: 'parked', run })
  }

  ended(run: string, { status, error, filename: file, interrupted }: RunResult): void {
    const how = interrupted ? 'interrupted' : 'ran'
    this.#append({
      t: 'ended',
      run,
      at: this.#seconds(),
      how,
      status,
      file,
      ...withCodes({ error }),
    })
    const record = this.list().find(each => each.run_id === run)
    if (record) this.#report(record)
  }

  passed({ id: job_id, name }: JobPlan, { how, due, until, count, error }: PassedTimes): void {
    const of = { job: job_id, name, how, count, ...withCodes({ error }) }
    const times = { due: toSeconds(due), until: toSeconds(until) }
    this.#append({ t: 'passed', run: newRun(), at: this.#seconds(), ...of, ...times })
    const run_id = passedId(job_id, due)
    this.#report({
      ...{ run_id, job_id, name, how, count },
      ...{ status: null, error: `${error}`, session_id: null },
    })
  }
}

const newRun = (): string => randomBytes(6).toString('hex')

/** Process ids are reused: a claim with our id from before our start belongs to an earlier process. */
const isDead = ({ by, claimed_at: at }: Run, began: number): boolean => {
  if (!by) return true
  if (by.pid === process.pid) return fromSeconds(at) < began
  return !isAlive(by.pid)
}
