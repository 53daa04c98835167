/** Chromium for tests: the one that ships inside a package, or an installed Chrome; opened once per process. */
import { existsSync } from 'node:fs'
import AxeBuilder from '@axe-core/playwright'
import chromium from '@sparticuz/chromium'
import {
  type Browser,
  type BrowserContextOptions,
  chromium as driver,
  type Page,
} from 'playwright-core'

/** Elsewhere than on Linux x64 the packaged one does not run. */
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

// No page here draws in three dimensions, and a GPU made of software costs half of every test.
chromium.setGraphicsMode = false

const launched: Promise<Browser>[] = []

/** The same browser for every caller; it ends with the process. */
export const openBrowser = (): Promise<Browser> => {
  launched[0] ??= findChromium().then(executablePath =>
    driver.launch({
      executablePath,
      // Its own flags for software drawing, and no sandbox: tests may run as root.
      args: [...new Set([...chromium.args, '--no-sandbox', '--lang=en'])].filter(
        flag => !/^--(single-process|headless|no-zygote|window-size|start-maximized)/.test(flag),
      ),
      headless: true,
    }),
  )
  return launched[0]
}

export type TestPage = {
  page: Page
  /** Errors of the console, uncaught errors, and requests that left for another host. */
  problems: string[]
  /** Accessibility violations as `rule: target`. */
  axe(): Promise<string[]>
  close(): Promise<void>
}

/** A page in a context of its own: no cookies, no storage from before. */
export const openPage = async (
  url: string,
  options: BrowserContextOptions = {},
): Promise<TestPage> => {
  const browser = await openBrowser()
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  })
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
    async axe() {
      const { violations } = await new AxeBuilder({ page }).analyze()
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target }) => `${id}: ${target.join(' ')}`),
      )
    },
    close: () => context.close(),
  }
}

export const closeBrowser = async (): Promise<void> => {
  const [browser] = launched.splice(0)
  await (await browser)?.close()
}
