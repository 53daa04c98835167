/** Benchmarks the page in a browser: download size, DOM nodes, opening a long session, keystroke latency. */
import { closeBrowser, openPage } from '../test/_browser.ts'
import type { Bench, Service } from './_bench.ts'
import { median, percentile, startChild } from './_child.ts'
import { sessionId } from './_data.ts'
import type { Pace } from './_provider.ts'
import { configFor, newSession } from './streams.ts'
import { number } from './_table.ts'

/** Size of all scripts and styles that the document names, compressed. */
const loadSize = async (
  bench: Bench,
  { client }: Service,
  { path, bar, what }: { path: string; bar: number; what: string },
): Promise<void> => {
  const page = await client.get(path)
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
    what: `script and style before ${what} (brotli)`,
    measured: `${number(kb)} kB`,
    bar: `≤ ${bar} kB`,
    kept: kb <= bar,
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
    await page.locator('main').getByText(last).last().waitFor()
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

/** Time from the key event to the next frame, measured in the page: most of it is waiting for the frame to begin. */
const keystrokes = async (bench: Bench, page: Page): Promise<void> => {
  await page.evaluate(`
    window.keyTimes = []
    document.addEventListener('keydown', event => {
      requestAnimationFrame(() => {
        const begun = performance.now()
        setTimeout(() => keyTimes.push([performance.now() - event.timeStamp, performance.now() - begun]))
      })
    }, true)`)
  await page.locator('textarea').first().focus()
  await page.keyboard.type('a person writes a line of some length here', { delay: 40 })
  const keys = (await page.evaluate('keyTimes')) as [whole: number, frame: number][]
  const times = keys.map(([whole]) => whole)
  const frames = keys.map(([, frame]) => frame)
  bench.note(`the frame itself: ${number(median(frames))} / ${number(percentile(frames, 0.95))} ms`)
  bench.add({
    what: 'keystroke to frame beside 3 000 messages (p50 / p95)',
    measured: `${number(median(times))} / ${number(percentile(times, 0.95))} ms`,
    bar: 'p95 ≤ 16 ms',
    kept: percentile(times, 0.95) <= 16,
  })
}

const STREAMED_SECONDS = 6

/** Tasks over 50 ms from the first to the last token, with a CPU that is slowed down four times. */
const streaming = async (bench: Bench): Promise<void> => {
  const provider = startChild('_provider.ts')
  const pace: Pace = { tokensPerSecond: 50, seconds: STREAMED_SECONDS }
  const service = await bench.start('page-stream', [], configFor(await provider.ask<number>(pace)))
  const session_id = await newSession(service)
  const { page, close } = await openPage(`${service.program.url}/session/${session_id}`)
  await page.locator('textarea').first().waitFor()
  await page.waitForLoadState('networkidle').catch(() => undefined)
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 })
  const started = await service.client.post('/api/chat/start', { session_id, message: 'go' })
  if (started.status !== 200) throw new Error(started.text)
  // The first answer loads what it is shown with.
  await page.getByText('<').first().waitFor()
  await page.evaluate(`
    window.longTasks = []
    new PerformanceObserver(list => longTasks.push(...list.getEntries().map(task => task.duration)))
      .observe({ type: 'longtask' })`)
  await page.waitForTimeout((STREAMED_SECONDS - 2) * 1_000)
  const tasks = (await page.evaluate('longTasks')) as number[]
  bench.add({
    what: 'tasks over 50 ms while streaming 50 tokens/s, CPU slowed 4× (longest)',
    measured: `${tasks.length} (${number(Math.max(0, ...tasks))} ms)`,
    bar: 'none',
    kept: tasks.length === 0,
  })
  await close()
  provider.end()
  await service.stop()
}

export const measurePage = async (bench: Bench): Promise<void> => {
  const empty = await bench.start('page')
  await loadSize(bench, empty, { path: '/', bar: 90, what: 'the composer works' })
  await loadSize(bench, empty, {
    path: `/session/${sessionId(0)}`,
    bar: 100,
    what: 'a chat is shown',
  })
  await emptyShell(bench, empty)
  await empty.stop()
  // 2 000 texts, and 500 tool calls with an output each: 3 000 messages.
  const shape = { sessions: 1, messages: 2_501, toolEvery: 5, words: 40 }
  const long = await bench.start('page-long', [shape])
  await longSession(bench, long)
  await long.stop()
  await streaming(bench)
  await closeBrowser()
}
