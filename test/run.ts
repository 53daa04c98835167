/** Test runner: runs test files in parallel processes, plus types, format and build; the last line is `N passed, N failed`. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { FileResult } from './_lane.ts'

/** More than the CPUs, because many tests wait for programs and the file system. */
const LANES = 4
/** A lane above this many bytes is replaced: tests fork programs, and forking a large process is slow. Browser tests fork few. */
const LANE_GROWN = 420e6
const BROWSER_LANE_GROWN = 800e6
const bin = (name: string) => join('node_modules', '.bin', name)
/** What a run leaves for the next one. */
const cache = resolve('node_modules/.cache/agent-webui')

type Job = { name: string; timeoutMs: number; run: (lane: Lane) => Promise<FileResult> }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Types, format and structure rules only. */
    check: { type: 'boolean', default: false },
    /** The heavy proofs at their full size. */
    full: { type: 'boolean', default: false },
  },
})

/** All tests, types, format and build. */
const isWhole = positionals.length === 0 && !values.check

/** Hides the user's own agent, keys and settings from the tests. */
const home = mkdtempSync(join(tmpdir(), 'agent-webui-test-'))
const TEST_ASSETS = join(home, 'assets')
const TEST_PROGRAMS = join(home, 'programs')
const cleanEnv = (tmp: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^AGENT_|_API_KEY$|_TOKEN$|^SKIP_ONBOARDING$|_proxy$/i.test(name),
    ),
  ),
  HOME: home,
  // One per lane: packages unpack to fixed names in it. Deleted at the end.
  TMPDIR: tmp,
  // Returns freed memory to the system sooner.
  MALLOC_ARENA_MAX: '2',
  TZ: 'UTC',
  TEST_ASSETS,
  TEST_PROGRAMS,
  ...(isWhole ? { TEST_SERVICE: resolve('dist/agent-webui.mjs') } : {}),
  // A quarter of the CPU time of the first import of our sources.
  NODE_COMPILE_CACHE: join(cache, 'compile'),
  ...(values.full ? { PROOF: 'full' } : {}),
})

/** A lane that hangs has this long to say what its pages show. */
const DESCRIBE_MS = 10_000

/** All run in one lane: two browsers at once are too slow. */
const isBrowserTest = (file: string) => /browser|smoke/.test(file)

/** A process that runs many files; it is replaced when it hangs, crashes or uses too much memory. */
const createLane = () => {
  const env = cleanEnv(mkdtempSync(join(home, 'lane-')))
  const state: { child: ChildProcess | null; output: string; silence: NodeJS.Timeout | null } = {
    child: null,
    output: '',
    silence: null,
  }
  const start = (): ChildProcess => {
    const child = fork(join(import.meta.dirname, '_lane.ts'), {
      env,
      silent: true,
      // All cores are busy: threads that collect garbage beside the program only add work, a twentieth of the CPU time.
      execArgv: ['--single-threaded-gc'],
    })
    const collect = (chunk: Buffer) => {
      state.output = (state.output + chunk.toString()).slice(-20_000)
      state.silence?.refresh()
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    return child
  }
  const stop = () => {
    state.child?.kill('SIGKILL')
    state.child = null
  }
  const runFile = (file: string, timeoutMs: number): Promise<FileResult> =>
    new Promise(resolve => {
      state.child ??= start()
      const { child } = state
      state.output = ''
      const late: NodeJS.Timeout[] = []
      const finish = (result: FileResult) => {
        clearTimeout(silence)
        for (const timer of late) clearTimeout(timer)
        child.off('message', onMessage)
        child.off('exit', onExit)
        resolve(result)
      }
      const crash = (why: string) => {
        stop()
        finish({ file, passed: 0, failed: 1, skipped: 0, report: `  ${why}\n${state.output}` })
      }
      const onMessage = (result: FileResult | string) => {
        if (typeof result === 'string') return crash(`${hung}\n${result}`)
        // Output is in the pipe before the message is sent, but the message may be read first.
        setTimeout(() => {
          if ((result.rss ?? 0) > (isBrowserTest(file) ? BROWSER_LANE_GROWN : LANE_GROWN)) stop()
          const output = result.failed > 0 && state.output ? `  output:\n${state.output}` : ''
          finish({ ...result, report: result.report + output })
        }, 5)
      }
      const onExit = (code: number | null, signal: string | null) =>
        crash(`the file ended its process (${signal ?? `exit ${code}`})`)
      const hung = `no test ended within ${timeoutMs / 1000} s`
      // Each test that ends prints a mark: a busy machine takes long for a file, but not for one test.
      const silence = setTimeout(() => {
        child.send({ describe: true })
        late.push(setTimeout(crash, DESCRIBE_MS, hung))
      }, timeoutMs)
      state.silence = silence
      child.on('message', onMessage)
      child.on('exit', onExit)
      child.send({ file })
    })
  return { runFile, stop }
}
type Lane = ReturnType<typeof createLane>

/** A command that passes when it exits with 0. */
const check = (name: string, command: string, args: string[]): Job => ({
  name,
  timeoutMs: 300_000,
  run: () =>
    new Promise(resolve => {
      const child = spawn(command, args, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, TEST_ASSETS },
      })
      const output: string[] = []
      child.stdout.on('data', chunk => output.push(String(chunk)))
      child.stderr.on('data', chunk => output.push(String(chunk)))
      child.on('error', error => output.push(error.message))
      child.on('close', code => {
        const passed = code === 0 ? 1 : 0
        const report = passed ? '' : output.join('').trimEnd().replaceAll(/^/gm, '  ')
        resolve({ file: name, passed, failed: 1 - passed, skipped: 0, report })
      })
    }),
})

const fileJob = (file: string): Job => {
  const timeoutMs = values.full ? 1_800_000 : 180_000
  return { name: file, timeoutMs, run: lane => lane.runFile(file, timeoutMs) }
}

/** The test files wait for it. In a whole run it also saves the assets: lanes that need them at the same time would each build them. */
const build = check('build', process.execPath, [
  isWhole ? 'test/_build.ts' : 'build.mjs',
  '--quiet',
  '--fast',
])
const checks = [
  check('types', bin('tsc'), ['-p', '.', '--singleThreaded']),
  check('format and lint', bin('biome'), ['ci', '--colors=off', '--diagnostic-level=error', '.']),
  check('style sheets', process.execPath, [bin('stylelint'), '--no-color', 'public/**/*.css']),
  check('imports', process.execPath, [
    bin('depcruise'),
    ...['router.ts', 'handlers', 'lib', 'public'],
  ]),
  check('unused code', process.execPath, [bin('knip'), '--no-progress']),
]

const needsBuild = (file: string) => /smoke|lighthouse/.test(file)

/** How long each file took in the last whole run; the longest start first, so that no lane is left with one at the end. */
const secondsPath = join(cache, 'test-seconds.json')
const seconds: Record<string, number> = existsSync(secondsPath)
  ? JSON.parse(readFileSync(secondsPath, 'utf8'))
  : {}
const UNKNOWN_SECONDS = 5

const listJobs = (): Job[] => {
  const wanted = values.check ? ['test/structure.test.ts'] : positionals
  const files = globSync('test/**/*.test.{ts,tsx}')
    .filter(file => wanted.length === 0 || wanted.some(part => file.includes(part)))
    .sort((a, b) => (seconds[b] ?? UNKNOWN_SECONDS) - (seconds[a] ?? UNKNOWN_SECONDS))
  const jobs = files.map(fileJob)
  if (values.check) return [...checks, ...jobs]
  if (isWhole) return [build, ...checks, ...jobs]
  return files.some(needsBuild) ? [build, ...jobs] : jobs
}

const say = (text: string) => process.stdout.write(`${text}\n`)

const startedAt = performance.now()
const jobs = listJobs()
const total = { passed: 0, failed: 0, skipped: 0 }
const waiting = [...jobs]
/** Seconds per job. */
const taken: Record<string, number> = {}
/** Resolves when the build has ended, successful or not. */
const ready = Promise.withResolvers<void>()
if (!jobs.includes(build)) ready.resolve()

/** The first lane takes the browser tests, then whatever is left; the others take no browser test. */
const takeJob = (index: number): Job | undefined => {
  const mine = waiting.findIndex(job => isBrowserTest(job.name) === (index === 0))
  const at = index === 0 ? Math.max(mine, 0) : mine
  return at < 0 ? undefined : waiting.splice(at, 1)[0]
}

const work = async (_: unknown, index: number): Promise<void> => {
  const lane = createLane()
  for (let job = takeJob(index); job; job = takeJob(index)) {
    if (job !== build && !checks.includes(job)) await ready.promise
    const jobStartedAt = performance.now()
    const result = await job.run(lane)
    if (job === build) ready.resolve()
    total.passed += result.passed
    total.failed += result.failed
    total.skipped += result.skipped
    const took = ((performance.now() - jobStartedAt) / 1000).toFixed(2)
    taken[job.name] = Number(took)
    say(`${result.failed > 0 ? '✘' : '✓'} ${job.name}  ${result.passed} in ${took} s`)
    if (result.failed > 0) say(`  ${result.failed} FAILED in ${job.name}\n${result.report}`)
  }
  lane.stop()
}

await Promise.all(Array.from({ length: LANES }, work))
rmSync(home, { recursive: true, force: true })
if (isWhole) {
  mkdirSync(cache, { recursive: true })
  // Complete or not at all.
  writeFileSync(`${secondsPath}.new`, JSON.stringify(taken))
  renameSync(`${secondsPath}.new`, secondsPath)
}

if (jobs.length === 0) {
  say(`No test file matches ${positionals.join(' ')}`)
  total.failed += 1
}
say(`\n${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : ''
say(`${total.passed} passed, ${total.failed} failed${skipped}`)
process.exit(total.failed > 0 ? 1 : 0)
