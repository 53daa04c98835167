/** A process of the test run: runs the files that `run.ts` sends with uvu, one by one, and reports each. */
import { readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { Assertion } from 'uvu/assert'
import { removeLeftovers } from './_leftovers.ts'
import './_jsx.ts'

/** `report`: what failed. `grown`: the next file needs a new process; forking programs from a large one is slow. */
export type Result = Record<'passed' | 'failed' | 'skipped', number> & {
  report: string
  grown: boolean
}

type Suite = () => Promise<[errors: string | true, passed: number, skipped: number, total: number]>
/** uvu's own hook, which its command line uses too: with these set, `.run()` queues. */
const uvu = Object.assign(globalThis, { UVU_DEFER: 1, UVU_INDEX: 0, UVU_QUEUE: [] as Suite[][] })
/** Set by `_browser.ts`. */
const pages = globalThis as { describePages?: () => Promise<string[]>; closedPages?: string[] }

/** uvu prints what a text should contain, and not the text. */
const SHOWN_CHARS = 4_000
const details = new WeakMap<Assertion, string | false>()
Object.defineProperty(Assertion.prototype, 'details', {
  get(this: Assertion) {
    const { actual } = this
    return (
      details.get(this) || (typeof actual === 'string' && `Actual: ${actual.slice(0, SHOWN_CHARS)}`)
    )
  },
  set(this: Assertion, value: string | false) {
    details.set(this, value)
  },
})

const strays: string[] = []
for (const kind of ['unhandledRejection', 'uncaughtException'])
  process.on(kind, (error: Error) => strays.push(`${kind}: ${error?.stack ?? error}`))

let result: Result
/** Sockets with their addresses, child processes, timers, pages: what a file that hangs waits for. */
const hang = async () => {
  const { libuv } = process.report.getReport() as { libuv?: Record<string, unknown>[] }
  const open = libuv?.filter(({ is_active, is_referenced }) => is_active && is_referenced) ?? []
  const handles = open.map(({ address: _, ...handle }) => JSON.stringify(handle))
  const shown = [...handles, ...((await pages.describePages?.()) ?? [])].join('\n')
  const report = `${output}\nno test ended within the limit; what is open:\n${shown}`
  process.send?.({ ...result, failed: result.failed + 1, report, grown: true })
}
/** Of one test: uvu prints a mark after each. */
const limit = setTimeout(hang, Number(process.env.TEST_LIMIT_MS))
let output = ''
for (const stream of [process.stdout, process.stderr])
  stream.write = (chunk: string | Uint8Array) => {
    output += chunk
    return Boolean(limit.refresh())
  }

const runFile = async (file: string): Promise<void> => {
  const queue: Suite[] = []
  uvu.UVU_QUEUE[0] = queue
  const errors: string[] = []
  output = ''
  limit.refresh()
  result = { passed: 0, failed: 0, skipped: 0, report: '', grown: false }
  try {
    await import(resolve(file))
    for (const run of queue) {
      const [failures, passed, skipped, total] = await run()
      result.passed += passed
      result.skipped += skipped
      result.failed += total - passed
      // uvu loses the error of a `before` hook, and does not run the tests behind it.
      if (passed < total) errors.push(failures === true ? 'a hook threw' : failures)
    }
  } catch (error) {
    strays.push(`${error instanceof Error ? error.stack : error}`)
  }
  // Rejections of the last tick surface now.
  await new Promise(setImmediate)
  const suites = readFileSync(file, 'utf8').match(/^(?:export )?const \w+ = suite\b/gm)?.length ?? 0
  if (suites > queue.length) strays.push(`${suites - queue.length} suite(s) without .run()`)
  if (queue.length + strays.length === 0) strays.push('no test in this file')
  result.failed += strays.length
  errors.push(...strays.splice(0), ...(pages.closedPages?.splice(0) ?? []))
  // A service that is killed writes nothing to it: what this process compiled serves the next one.
  flushCompileCache()
  const report = result.failed > 0 ? [...errors, output].join('\n') : ''
  process.send?.({ ...result, report, grown: process.memoryUsage.rss() > 600e6 })
}
process.on('message', runFile)
// The runner has ended, perhaps without a chance to clean up.
process.on('disconnect', () => process.exit(void removeLeftovers(process.env.TEST_HOME ?? '')))
