/** Benchmarks the page in a browser: download size, DOM nodes, opening a long session, keystroke latency. */
import { closeBrowser, openPage } from '../test/_browser.ts'
import type { Bench, Service } from './_bench.ts'
import { median, percentile } from './_child.ts'
import { sessionId } from './_data.ts'
import { number } from './_table.ts'

/** Size of all scripts and styles in the document, compressed. */
const loadSize = async (bench: Bench, { client }: Service): Promise<void> => {
  const page = await client.get('/')
  const names = [...page.text.matchAll(/(?:src|href)="(static\/[^"]+\.(?:js|css))"/g)].map(
    match => match[1],
  )
  const sizes = await Promise.all(
    [...new Set(names)].map(async name => {
      const answer = await client.get(`/${name}`, { headers: { 'Accept-Encoding': 'br' } })
      return answer.bytes.length
    }),
  )
  const kb = sizes.reduce((sum, size) => sum + size, 0) / 1_000
  bench.add({
    what: 'script and style before the composer works (brotli)',
    measured: `${number(kb)} kB`,
    bar: '≤ 100 kB',
    kept: kb <= 100,
  })
}

const countNodes = 'document.querySelectorAll("*").length'

const emptyShell = async (bench: Bench, service: Service): Promise<void> => {
  const { page, close } = await openPage(service.program.url)
  await page.locator('textarea').first().waitFor()
  await page.waitForLoadState('networkidle').catch(() => undefined)
  const nodes = Number(await page.evaluate(countNodes))
  bench.add({
    what: 'DOM nodes, empty shell',
    measured: String(nodes),
    bar: '≤ 900',
    kept: nodes <= 900,
  })
  await close()
}

const longSession = async (bench: Bench, service: Service): Promise<void> => {
  const path = `/session/${sessionId(0)}`
  const answer = await service.client.get(`/api/session?session_id=${sessionId(0)}&limit=1`)
  const last: string = answer.body.session.messages.at(-1).content.split(' ').slice(0, 8).join(' ')
  const times: number[] = []
  const state = { nodes: 0 }
  for (let round = 0; round < 3; round++) {
    const { page, close } = await openPage(service.program.url)
    await page.locator('textarea').first().waitFor()
    const startedAt = performance.now()
    await page.goto(service.program.url + path, { waitUntil: 'commit' })
    await page.getByText(last).last().waitFor()
    times.push(performance.now() - startedAt)
    state.nodes = Math.max(state.nodes, Number(await page.evaluate(countNodes)))
    if (round === 2) await keystrokes(bench, page)
    await close()
  }
  bench.add({
    what: 'open 3 000 messages with 500 tool calls, from address to last message (median; nodes)',
    measured: `${number(median(times))} ms; ${state.nodes}`,
    bar: '≤ 250 ms; ≤ 2 500',
    kept: median(times) <= 250 && state.nodes <= 2_500,
  })
}

type Page = Awaited<ReturnType<typeof openPage>>['page']

/** Time from the key event to the next frame, measured in the page. */
const keystrokes = async (bench: Bench, page: Page): Promise<void> => {
  await page.evaluate(`
    window.keyTimes = []
    document.addEventListener('keydown', event => {
      requestAnimationFrame(() => setTimeout(() => keyTimes.push(performance.now() - event.timeStamp)))
    }, true)`)
  await page.locator('textarea').first().focus()
  await page.keyboard.type('a person writes a line of some length here', { delay: 40 })
  const times = (await page.evaluate('keyTimes')) as number[]
  bench.add({
    what: 'keystroke to frame beside 3 000 messages (p50 / p95)',
    measured: `${number(median(times))} / ${number(percentile(times, 0.95))} ms`,
    bar: 'p95 ≤ 16 ms',
    kept: percentile(times, 0.95) <= 16,
  })
}

export const measurePage = async (bench: Bench): Promise<void> => {
  const empty = await bench.start('page')
  await loadSize(bench, empty)
  await emptyShell(bench, empty)
  await empty.stop()
  // 2 000 texts, and 500 tool calls with an output each: 3 000 messages.
  const shape = { sessions: 1, messages: 2_501, toolEvery: 5, words: 40 }
  const long = await bench.start('page-long', [shape])
  await longSession(bench, long)
  await long.stop()
  await closeBrowser()
}
