/** A session store in a temporary directory, with its rows, deletions and log lines recorded. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import { createTestClock, type TestClock } from '../../_clock.ts'
import { redact } from '../../../lib/base/redact/redact.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { rowsOf } from '../../../lib/sessions/listing.ts'
import type { NewEntry } from '../../../lib/sessions/entries.ts'
import { Sessions, type SessionsOptions } from '../../../lib/sessions/sessions.ts'
import { tempDir } from '../../_temp-dir.ts'

export type Bench = AsyncDisposable & {
  root: string
  sessions: Sessions
  rows: SessionRow[]
  gone: string[]
  logs: string[]
  clock: TestClock
  path: (id: string, ending?: string) => string
  /** Closes and reopens the store, as a new process would. */
  restart: (change?: Partial<SessionsOptions>) => Promise<Sessions>
  close: () => Promise<void>
}

export const NEW = { workspace: '/w', model: 'demo', profile: 'default' }

export const say = (content: string, role: 'user' | 'assistant' = 'user'): NewEntry => ({
  t: 'message',
  message: { role, content },
})

export const texts = (sessions: Sessions, id: string): unknown[] =>
  sessions.load(id).messages.map(({ content }) => content)

/** A row without its number, which differs between two copies of the same content. */
export const contentOf = ({ seq: _, ...row }: SessionRow) => row as SessionRow

export const listed = (sessions: Sessions): SessionRow[] =>
  rowsOf(sessions.list().body).map(contentOf)

export const openBench = (change: Partial<SessionsOptions> = {}): Bench => {
  const root = tempDir('sessions')
  const clock = createTestClock(1_700_000_000_000)
  const rows: SessionRow[] = []
  const gone: string[] = []
  const logs: string[] = []
  const options: SessionsOptions = {
    dir: join(root, 'sessions'),
    trashDir: join(root, 'trash'),
    cacheDir: join(root, 'cache'),
    redact,
    onRow: row => rows.push(row),
    onDeleted: id => gone.push(id),
    onCopied: () => undefined,
    log: line => logs.push(line),
    clock,
    ...change,
  }
  const bench: Bench = {
    root,
    sessions: new Sessions(options),
    rows,
    gone,
    logs,
    clock,
    path: (id, ending = '.jsonl') => join(root, 'sessions', id + ending),
    async restart(more = {}) {
      await bench.sessions.close()
      bench.sessions = new Sessions({ ...options, ...more })
      return bench.sessions
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
    async close() {
      await bench.sessions.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
  return bench
}

/** Tests with a store each, which is always closed. */
export const benchSuite = (name: string) => {
  const test = suite<{ bench: Bench }>(name)
  test.before.each(context => {
    context.bench = openBench()
  })
  test.after.each(({ bench }) => bench.close())
  return test
}

/** Runs a test with a store of its own, and always closes it. */
export const withBench =
  (run: (bench: Bench) => unknown, change?: Partial<SessionsOptions>) => async () => {
    await using bench = openBench(change)
    await run(bench)
  }

/** True when any file below `dir` contains these bytes. */
export const onDisk = (dir: string, words: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => readFileSync(path).includes(words))
