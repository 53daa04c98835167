/** Chromium for tests: from a package or installed; launched once per process, and closed when the process ends. */
import { existsSync } from 'node:fs'
import AxeBuilder from '@axe-core/playwright'
import chromium from '@sparticuz/chromium'
import axeCore, { type AxeResults } from 'axe-core'
import {
  type Browser,
  type BrowserContextOptions,
  chromium as driver,
  type Page,
} from 'playwright-core'
import { loadAssets } from './_assets.ts'

/** The packaged one runs only on Linux x64. */
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

const findChromium = async (): Promise<string> => {
  if (process.platform === 'linux' && process.arch === 'x64') return chromium.executablePath()
  const path = INSTALLED.find(each => existsSync(each))
  if (!path) throw new Error('Browser tests need Chrome or Chromium on this platform')
  return path
}

// No page uses WebGL, and a software GPU doubles the duration of each test.
chromium.setGraphicsMode = false

const UNWANTED =
  /^--(single-process|headless|no-zygote|window-size|start-maximized|disable-web-security|disable-site-isolation|disable-features|allow-running-insecure|no-pings)/

/** Of each step: on a busy machine, what takes a moment takes many seconds. */
const PATIENCE_MS = 120_000

const launched: Promise<Browser>[] = []

/** A browser of its own, with more command-line flags. */
export const launchBrowser = async (...flags: string[]): Promise<Browser> => {
  const executablePath = await findChromium()
  // Flags of the package, without the sandbox because tests may run as root, but with the same-origin policy.
  const args = [...new Set([...chromium.args, '--no-sandbox', '--lang=en', ...flags])].filter(
    flag => !UNWANTED.test(flag),
  )
  const launch = () => driver.launch({ executablePath, args, headless: true })
  // Chromium sometimes dies of SIGSEGV before it has opened anything. Nothing of a test has run by then.
  return launch().catch(launch)
}

/** Shared by all test files of a process: a launch takes as long as two pages. Exits with the process. */
export const openBrowser = (): Promise<Browser> => {
  launched[0] ??= launchBrowser()
  return launched[0]
}

/** The violations of a page. The builder runs in frames of other origins, too, but adds axe three times and opens a page to collect the results: ten times the CPU time. */
const findViolations = async (
  page: Page,
  disabled: string[],
): Promise<AxeResults['violations']> => {
  if (page.frames().length > 1)
    return (await new AxeBuilder({ page }).disableRules(disabled).analyze()).violations
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeCore.source)
  return page.evaluate(async off => {
    const { axe } = window as unknown as { axe: typeof axeCore }
    const rules = Object.fromEntries(off.map(rule => [rule, { enabled: false }]))
    return (await axe.run({ rules, resultTypes: ['violations'] })).violations
  }, disabled)
}

/** The last texts of the pages of the running test file; the lane prints them when a test of the file failed. */
const closedPages: string[] = []
Object.assign(globalThis, { closedPages })

export type TestPage = {
  page: Page
  /** Console errors, uncaught errors, and requests to other hosts. */
  problems: string[]
  /** Accessibility violations as `rule: target`. */
  axe(...disabledRules: string[]): Promise<string[]>
  /** Those of the topmost dialog alone, which takes a fraction of the time. */
  axeInDialog(): Promise<string[]>
  close(): Promise<void>
}

/** A page in a new context, without cookies or storage. */
export const openPage = async (
  url: string,
  options: BrowserContextOptions = {},
): Promise<TestPage> => {
  const browser = await openBrowser()
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    // Storing the files of the app takes as long as many of the tests.
    serviceWorkers: 'block',
    ...options,
  })
  context.setDefaultTimeout(PATIENCE_MS)
  // Bundling them takes longer than a page.
  await loadAssets()
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', message => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('pageerror', error => problems.push(String(error.stack ?? error)))
  page.on('request', request => {
    const target = new URL(request.url())
    const isOurs =
      target.origin === new URL(url).origin || /^(data|blob|about):$/.test(target.protocol)
    if (!isOurs) problems.push(`request to ${target.origin}`)
  })
  await page.goto(url, { waitUntil: 'load' })
  return {
    page,
    problems,
    async axe(...disabledRules) {
      const violations = await findViolations(page, disabledRules)
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target }) => `${id}: ${target.join(' ')}`),
      )
    },
    async axeInDialog() {
      if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeCore.source)
      return page.evaluate(async () => {
        const dialog = [...document.querySelectorAll('dialog[open]')].at(-1)
        if (!dialog) return ['no dialog is open']
        const { axe } = window as unknown as { axe: typeof axeCore }
        const { violations } = await axe.run(dialog, { resultTypes: ['violations'] })
        return violations.flatMap(({ id, nodes }) =>
          nodes.map(({ target }) => `${id}: ${target.join(' ')}`),
        )
      })
    },
    async close() {
      for (const open of context.pages()) closedPages.push(await describePage(open))
      await context.close()
    },
  }
}

/** What a page showed last: without it, a wait that timed out under load says nothing. */
const describePage = async (page: Page): Promise<string> => {
  const text = page.evaluate(() => document.body.innerText).catch(String)
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(resolve, 5_000, 'the page does not answer')
  const shown = await Promise.race([text, late])
  clearTimeout(timer)
  return `${page.url()}\n${shown.replace(/\n+/g, '\n').slice(-3_000)}`
}

/** For the lane, which asks when a test hangs. */
const describePages = async (): Promise<string[]> => {
  const browsers = await Promise.all(launched)
  const pages = browsers.flatMap(browser => browser.contexts().flatMap(context => context.pages()))
  return Promise.all(pages.map(describePage))
}
Object.assign(globalThis, { describePages })

/** For programs that end by themselves. */
export const closeBrowser = async (): Promise<void> => {
  const [browser] = launched.splice(0)
  await (await browser)?.close()
}

/** How far what is visible has moved since the page was opened, without a click or a key. More than 0.02 is seen. */
export const shiftOf = (page: Page): Promise<number> =>
  page.evaluate(
    () =>
      new Promise<number>(resolve => {
        new PerformanceObserver(list => {
          const shifts = list.getEntries() as (PerformanceEntry & { value: number })[]
          resolve(shifts.reduce((sum, { value }) => sum + value, 0))
        }).observe({ type: 'layout-shift', buffered: true })
        // Without an entry the observer is never called.
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(0)))
      }),
  )

/** As over a phone's connection: code and replies come one after the other. */
export const slowDown = async (page: Page): Promise<void> => {
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  const [latency, downloadThroughput, uploadThroughput] = [300, 100_000, 50_000]
  const line = { offline: false, latency, downloadThroughput, uploadThroughput }
  await session.send('Network.emulateNetworkConditions', line)
}

/** A slow machine does not reach the limits of this many milliseconds for which a page waits for its parts. */
export const withoutLimits = (page: Page, ...limits: number[]) =>
  page.addInitScript(given => {
    const { setTimeout } = window
    Object.assign(window, {
      setTimeout: (run: () => void, ms = 0) => setTimeout(run, given.includes(ms) ? 60_000 : ms),
    })
  }, limits)
