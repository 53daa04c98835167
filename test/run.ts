/** Runs tests (`--proof`: proofs) in a few processes; the last line is `N passed, N failed`. */
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Result } from './_lane.ts'
import { removeLeftovers } from './_leftovers.ts'

/** Arguments without dashes are parts of paths. */
const isProof = process.argv.includes('--proof')
const parts = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
/** Proofs at their full size: also those of programs that are installed for them, when they are named. */
const isFull = process.argv.includes('--full') || parts.some(part => /^real-\w/.test(part))
/** More than CPUs: many tests wait for programs. The first one takes the files with a browser. */
const PROCESSES = 4
const isBrowser = (file: string) => /browser|flows/.test(file)
/** Of one test, in milliseconds; and of a file whose process cannot even say that it hangs. */
const TEST_LIMIT_MS = process.env.TEST_LIMIT_MS ?? (isFull ? '1800000' : '170000')
const FILE_LIMIT_MS = 4 * Number(TEST_LIMIT_MS)

/** Linters take longest; then what loads the whole service; the largest first, so that no process is left alone with one. */
const weightOf = (file: string) =>
  (file.includes('checks') ? 1e9 : /test\/(lib|public)/.test(file) ? 0 : 1e8) + statSync(file).size
const files = globSync('test/**/*.test.{ts,tsx}')
  .filter(file => isProof === file.includes('/proofs/'))
  .filter(file => parts.length === 0 || parts.some(part => file.includes(part)))
  .sort((a, b) => weightOf(b) - weightOf(a))

/** Hides the user's own agent, keys and settings from the tests. Deleted at the end. */
const home = mkdtempSync(join(tmpdir(), 'agent-webui-test-'))
const HIDDEN = /^AGENT_|_API_KEY$|_TOKEN$|^SKIP_ONBOARDING$|_proxy$/i
const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !HIDDEN.test(name))),
  ...{
    HOME: home,
    TEST_HOME: home,
    TEST_LIMIT_MS,
    TZ: 'UTC',
    ...(isProof && { PROOF: isFull ? 'full' : '' }),
  },
  ...{ TEST_ASSETS: join(home, 'assets'), TEST_PROGRAMS: join(home, 'programs') },
  // Returns freed memory to the system sooner.
  MALLOC_ARENA_MAX: '2',
  // A quarter of the CPU time of the first import of our sources.
  NODE_COMPILE_CACHE: resolve('node_modules/.cache/agent-webui/compile'),
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    removeLeftovers(home)
    process.exit(1)
  })

const startedAt = performance.now()
const secondsSince = (moment: number) => Number(((performance.now() - moment) / 1_000).toFixed(1))
const total = { passed: 0, failed: 0, skipped: 0 }
const durations: [seconds: number, name: string][] = []
const report = (name: string, since: number, result: Result) => {
  for (const each of ['passed', 'failed', 'skipped'] as const) total[each] += result[each]
  const seconds = secondsSince(since)
  durations.push([seconds, name])
  console.log(result.failed ? '✘' : '✓', name, `${result.passed} in ${seconds} s`)
  if (result.failed) console.log(`  ${result.failed} FAILED in ${name}\n${result.report}`)
}
const NOTHING = { passed: 0, failed: 0, skipped: 0, report: '', grown: true }

const runFile = async (child: ChildProcess, file: string): Promise<Result> => {
  const limit = setTimeout(() => child.kill('SIGKILL'), FILE_LIMIT_MS)
  child.send(file)
  const result = await new Promise<Result | string>(done => {
    child.on('message', done)
    child.on('exit', (code, signal) => done(`the file ended its process: ${signal ?? code}`))
  })
  child.removeAllListeners()
  clearTimeout(limit)
  return typeof result === 'string' ? { ...NOTHING, failed: 1, report: result } : result
}

const runFiles = async (_: unknown, index: number): Promise<void> => {
  // Packages unpack to fixed names in it. Short: paths of sockets have at most 107 bytes.
  const own = { ...env, TMPDIR: join(home, String(index)) }
  mkdirSync(own.TMPDIR)
  const options = { env: own, execArgv: ['--single-threaded-gc', '--max-semi-space-size=32'] }
  let child: ChildProcess | undefined
  for (;;) {
    const at = files.findIndex(file => isBrowser(file) === (index === 0))
    const [file] = index > 0 && at < 0 ? [] : files.splice(Math.max(at, 0), 1)
    if (file === undefined) return void child?.kill()
    child ??= fork(join(import.meta.dirname, '_lane.ts'), options)
    const since = performance.now()
    const result = await runFile(child, file)
    report(file, since, result)
    if (!result.grown) continue
    child.kill('SIGKILL')
    child = undefined
  }
}

if (files.length === 0)
  report('files', startedAt, { ...NOTHING, failed: 1, report: 'none matches' })
if (parts.length === 0 || files.some(file => isProof || /smoke|flows/.test(file))) {
  const words = ['test/_build.ts', '--quiet', '--fast']
  const { status } = spawnSync(process.execPath, words, { env, stdio: 'inherit' })
  report('build', startedAt, { ...NOTHING, ...(status === 0 ? { passed: 1 } : { failed: 1 }) })
  if (parts.length === 0 || isProof) env.TEST_SERVICE = resolve('dist/agent-webui.mjs')
}
await Promise.all(Array.from({ length: PROCESSES }, runFiles))
removeLeftovers(home)
if (durations.length > 10) console.log('\nThe slowest, in seconds:')
for (const each of durations.length > 10 ? durations.sort(([a], [b]) => b - a).slice(0, 10) : [])
  console.log(...each)
console.log(`\n${secondsSince(startedAt)} s`)
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : ''
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`)
process.exit(total.failed > 0 ? 1 : 0)
