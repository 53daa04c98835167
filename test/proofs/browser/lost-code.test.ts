/** Code that is loaded late, over plain HTTP without a service worker, when the network is lost before it has arrived. */
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage } from '../../_browser.ts'
import { createNetwork, waitingIn, write } from '../../_network.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('code that could not be loaded')

const QUEUE = '**/static/lazy-queue-*.js'
const LATE = '**/static/announce-answers-*.js'

/** What the page loads after it was shown is there: a module is, once importing it again succeeds. */
const untilLoaded = async (page: Page, ...parts: string[]) => {
  for (const part of parts) {
    const found = await page.waitForFunction(
      name =>
        performance.getEntriesByType('resource').find(each => each.name.includes(`/${name}-`))
          ?.name,
      part,
    )
    await page.evaluate(url => import(url!), await found.jsonValue())
  }
}

const open = async () => {
  const chat = await startChat({ text: 'An answer' }, { text: 'A title' })
  const network = await createNetwork(() => chat.app.url, '')
  const id = await chat.newSession()
  await chat.turn(id, 'hello')
  return { chat, network, id, url: `${network.url}/session/${id}` }
}

test('a message that has to wait is shown as such, although none has waited before', async () => {
  const { chat, network, url } = await open()
  const at = await openPage(url)
  const { page } = at
  try {
    await page.getByText('An answer').first().waitFor()
    await untilLoaded(page, 'lazy-queue', 'announce-answers')
    await network.cut()
    await write(page, 'later')
    await waitingIn(page).filter({ hasText: 'later' }).waitFor()
    assert.is(await page.getByText('Couldn’t load this page').count(), 0)
    chat.provider.push({ text: 'The later answer' })
    await network.up()
    await page.getByText('The later answer').first().waitFor()
  } finally {
    await at.close()
    await network.cut().catch(() => undefined)
    await chat.close()
  }
})

test('a message that has to wait is shown although the code for it could not be loaded, and sent later; Retry brings the view', async () => {
  const { chat, network, id, url } = await open()
  await chat.app.post('/api/session/yolo', { session_id: id, enabled: true })
  const at = await openPage('about:blank')
  const { page } = at
  try {
    await page.route(QUEUE, route => route.abort())
    await page.goto(url)
    await page.getByText('An answer').first().waitFor()
    const failed = page.locator('.composer-place').getByRole('alert')
    await failed.waitFor()
    // Everything else of the composer is there.
    await untilLoaded(page, 'lazy-bar', 'announce-answers')
    await network.cut()
    await write(page, 'later')
    await page.locator('.queued').filter({ hasText: 'later' }).waitFor()
    assert.is(await failed.count(), 0)
    await page.unroute(QUEUE)
    chat.provider.push({ text: 'The later answer' })
    await network.up()
    await page.getByText('The later answer').first().waitFor()
    // This browser requests a module again only with the page.
    await failed.getByRole('button', { name: 'Retry' }).click()
    await page.locator('.beside-warn').waitFor()
  } finally {
    await at.close()
    await network.cut().catch(() => undefined)
    await chat.close()
  }
})

test('a view that could not be loaded is there after Retry, once the server can be reached; the draft stays', async () => {
  const { chat, network, url } = await open()
  const at = await openPage(url)
  const { page } = at
  try {
    await page.getByText('An answer').first().waitFor()
    await untilLoaded(page, 'lazy-queue', 'announce-answers')
    await page.locator('#composer').fill('Half a thought')
    await page.getByRole('button', { name: /^Profile:/ }).click()
    const usage = page.getByRole('menuitem', { name: 'Usage' })
    await usage.waitFor()
    await network.cut()
    await usage.click()
    const retry = page.getByRole('alert').getByRole('button', { name: 'Retry' })
    const asked = page.waitForEvent('requestfailed', request => request.url().endsWith('/health'))
    await retry.click()
    await asked
    await retry.waitFor()
    await network.up()
    await retry.click()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await page.goto(url)
    await page.waitForFunction(
      () => document.querySelector<HTMLTextAreaElement>('#composer')?.value === 'Half a thought',
    )
  } finally {
    await at.close()
    await network.cut().catch(() => undefined)
    await chat.close()
  }
})

test('a page without its late code offers a reload, in its own words', async () => {
  const { chat, network, url } = await open()
  const at = await openPage('about:blank', { locale: 'de-DE' })
  const { page } = at
  try {
    await page.route(LATE, route => route.abort())
    await page.goto(url)
    const toast = page.locator('.toast')
    await toast.getByText('Diese Seite konnte nicht geladen werden.').waitFor()
    assert.is(await page.getByText('Failed to fetch').count(), 0)
    await page.unroute(LATE)
    await toast.getByRole('button', { name: 'Neu laden' }).click()
    await untilLoaded(page, 'lazy-queue', 'announce-answers')
  } finally {
    await at.close()
    await network.cut().catch(() => undefined)
    await chat.close()
  }
})

test.run()
