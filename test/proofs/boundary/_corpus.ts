/** Lines of a corpus, and what running them showed. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const WALL = join(import.meta.dirname, '_wall.sh')
const RUNNER = join(import.meta.dirname, '_run-corpus.ts')

export type Job = {
  name: string
  sandbox: boolean
  lines: readonly string[]
  /** Everyday commands, in projects of their own: what does not work is tried outside as well. */
  everyday?: true
}

export type Outcome = {
  line: string
  /** What the line reached that it should not have, in words. Empty: nothing. */
  found: string[]
  /** What the person was asked about, and denied. */
  asked: string[]
  /** The beginning of the last result that the model got, and what its command ended with; null: it did not run. */
  result: string
  exitCode: number | null
  /** Of an everyday command: whether it succeeds for a person, too. */
  isUsual: boolean | null
  /** Nothing can be judged after it: the service has ended, or its debugger is open. */
  isSpoiled: boolean
}

/**
 * The lines of a file. One is a command of the tool `terminal`, or several steps between ` ⇒ `: `write: PATH TEXT`,
 * `code: PYTHON`, `background: COMMAND`, `unconfined: COMMAND`, or a command. ⏎ is a line end. `@NAME ` in front is another
 * workspace than `demo`. `{pid}` and `{port}` are the service's, `{loopback}` and `{everywhere}` ports that count
 * connections, `{public}` an address that does.
 */
export const corpus = (name: string): string[] =>
  readFileSync(join(import.meta.dirname, 'corpora', `${name}.txt`), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))

/** It uses up the machine, which no question and no sandbox prevents. */
export const isExhausting = (command: string): boolean =>
  /fork|\bwhile\s*(?:true|:|\[|\(?1)|\$0\s*[|&]|\byes\b|stress|\(\)\s*\{[^}]*[|&]|\w+\(\)\s*\{\s*⏎/.test(
    command,
  )

/** Runs the lines on a computer of their own. One that ends the service is the last one there; the rest gets another. */
export const runJob = async (job: Job): Promise<Outcome[]> => {
  const outcomes: Outcome[] = []
  while (outcomes.length < job.lines.length) {
    const rest = job.lines.slice(outcomes.length)
    const more = await runOnce({ ...job, lines: rest })
    outcomes.push(...more)
    if (more.length === 0) throw new Error(`${job.name}: nothing came of ${rest[0]}`)
  }
  return outcomes
}

const runOnce = async (job: Job): Promise<Outcome[]> => {
  const child = spawn(
    'sh',
    [WALL, ROOT, userInfo().homedir, process.execPath, '--disable-sigusr1', RUNNER],
    { cwd: ROOT, stdio: ['pipe', 'pipe', 'pipe'] },
  )
  let complaint = ''
  child.stderr.on('data', chunk => {
    complaint += chunk
  })
  child.stdin.end(JSON.stringify(job))
  const outcomes: Outcome[] = []
  for await (const line of createInterface({ input: child.stdout })) outcomes.push(JSON.parse(line))
  if (complaint !== '') process.stderr.write(complaint)
  return outcomes
}

/** Why no such computer can be made here; null: it can. */
export const wallProblem = async (): Promise<string | null> => {
  const child = spawn('sh', [WALL, ROOT, userInfo().homedir, 'bwrap', ...PROBE], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaint = ''
  child.stderr.on('data', chunk => {
    complaint += chunk
  })
  const code = await new Promise<number | null>(resolve => {
    child.once('close', resolve)
    child.once('error', () => resolve(null))
  })
  return code === 0 ? null : complaint.trim() || 'unshare, setpriv, ip or bwrap is missing'
}
const PROBE = ['--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', 'true']
