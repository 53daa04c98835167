/** A worker process of the test run: receives test files from `run.ts` one by one and reports their results. */
import { readFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { countSuites } from './_count-suites.ts'
import './_jsx.ts'

export type FileResult = {
  file: string
  passed: number
  failed: number
  skipped: number
  /** Formatted failures; empty when all passed. */
  report: string
  /** Resident memory of the lane after the file, in bytes. */
  rss?: number
}

type Suite = () => Promise<[errors: string | true, passed: number, skipped: number, total: number]>
/** uvu's own hook, which its command line uses too: with these set, `.run()` queues instead of running. */
type UvuGlobals = { UVU_DEFER: 1; UVU_INDEX: number; UVU_QUEUE: Suite[][] }

const uvu = globalThis as typeof globalThis & UvuGlobals
Object.assign(uvu, { UVU_DEFER: 1, UVU_INDEX: 0, UVU_QUEUE: [[]] })

/** Uncaught errors, reported for the file that is running. */
const strays: string[] = []
const keep = (what: string) => (error: unknown) => {
  strays.push(`  ${what}: ${error instanceof Error ? error.stack : String(error)}`)
}
process.on('unhandledRejection', keep('unhandled rejection'))
process.on('uncaughtException', keep('uncaught exception'))

const runFile = async (file: string): Promise<FileResult> => {
  const queue: Suite[] = []
  uvu.UVU_QUEUE[0] = queue
  const result: FileResult = { file, passed: 0, failed: 0, skipped: 0, report: '' }
  const fail = (text: string, count = 1) => {
    result.failed += count
    result.report += `${text}\n`
  }
  try {
    await import(pathToFileURL(resolve(file)).href)
    for (const run of queue) {
      const [errors, passed, skipped, total] = await run()
      result.passed += passed
      result.skipped += skipped
      if (errors !== true) fail(errors, total - passed)
      // uvu returns from a `finally`, so an error in a `before` hook is lost and its tests are not run.
      else if (passed < total) fail('  a hook threw, tests did not run', total - passed)
    }
  } catch (error) {
    // The file itself or an `after` hook: counts as one failed test.
    fail(`  ${error instanceof Error ? error.stack : String(error)}`)
  }
  // Rejections of the last tick surface now.
  await new Promise(resolve => setImmediate(resolve))
  for (const stray of strays.splice(0)) fail(stray)
  // A service that is killed writes nothing to the cache; what this process has compiled serves the next one.
  flushCompileCache()
  const pages = (globalThis as { closedPages?: string[] }).closedPages?.splice(0) ?? []
  if (result.failed > 0 && pages.length > 0)
    result.report += `  pages when they were closed:\n${pages.join('\n---\n')}\n`
  const made = countSuites(readFileSync(file, 'utf8'))
  if (made > queue.length) fail(`  ${made - queue.length} suite(s) without .run()`)
  if (result.passed + result.failed + result.skipped === 0) fail('  no test in this file')
  return result
}

process.on('message', async (order: { file: string } | { describe: true }) => {
  if ('describe' in order) {
    const { describePages } = globalThis as { describePages?: () => Promise<string[]> }
    const pages = (await describePages?.()) ?? []
    return process.send?.(`  pages:\n${pages.join('\n---\n')}`)
  }
  const result = await runFile(order.file)
  return process.send?.({ ...result, rss: process.memoryUsage.rss() })
})
// The runner has exited.
process.on('disconnect', () => process.exit())
