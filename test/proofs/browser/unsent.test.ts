/** Messages in a real browser that closes a page too soon: over plain HTTP, before all code was loaded; and what a sign-out leaves in other tabs. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { launchBrowser, openPage } from '../../_browser.ts'
import { createNetwork, waitingIn, write } from '../../_network.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('unsent messages')

type Chat = Awaited<ReturnType<typeof startChat>>

const usersIn = async ({ messages }: Chat, id: string) =>
  (await messages(id)).filter(({ role }) => role === 'user').map(({ content }) => content)

/** A path whose next request gets no reply; resolves when it has arrived. */
const stall = (network: Awaited<ReturnType<typeof createNetwork>>, path: string) =>
  new Promise<void>(resolve => network.stalled.set(path, resolve))

/** Everything that pages of this origin have stored as text. */
const storedText = (page: Page) =>
  page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))

test('over plain HTTP, a message of a page that is closed while the connection stalls is sent by the next page, once; without a network messages wait', async () => {
  const chat = await startChat({ text: 'The first answer' }, { text: 'A title' })
  // A name that is not localhost: browsers give the page no service worker and no locks.
  const network = await createNetwork(() => chat.app.url, '/tools/agent', 'plain.example')
  const browser = await launchBrowser('--host-resolver-rules=MAP plain.example 127.0.0.1')
  try {
    const id = await chat.newSession()
    await chat.turn(id, 'hello')
    const context = await browser.newContext()
    context.setDefaultTimeout(120_000)
    const page = await context.newPage()
    await page.goto(`${network.url}/session/${id}`)
    await page.getByText('The first answer').first().waitFor()
    assert.equal(
      await page.evaluate(() => [
        isSecureContext,
        'locks' in navigator,
        'serviceWorker' in navigator,
      ]),
      [false, false, false],
    )
    const arrived = stall(network, '/api/chat/start')
    await write(page, 'second')
    await arrived
    await page.close()
    network.stalled.clear()
    chat.provider.push({ text: 'The second answer' })
    const next = await context.newPage()
    await next.goto(`${network.url}/session/${id}`)
    await next.getByText('The second answer').first().waitFor()
    assert.equal(await usersIn(chat, id), ['hello', 'second'])
    assert.is(await waitingIn(next).count(), 0)
    assert.not.match(await storedText(next), /second/)

    await network.cut()
    await write(next, 'third')
    await waitingIn(next).filter({ hasText: 'third' }).waitFor()
    await write(next, 'fourth')
    await waitingIn(next).filter({ hasText: 'fourth' }).waitFor()
    chat.provider.push({ text: 'ok' }, { text: 'The last answer' })
    await network.up()
    await next.getByText('The last answer').first().waitFor()
    assert.equal(await usersIn(chat, id), ['hello', 'second', 'third', 'fourth'])
  } finally {
    await browser.close()
    await network.cut().catch(() => undefined)
    await chat.close()
  }
})

test('a message that is sent before all code was loaded is stored with the key press', async () => {
  const chat = await startChat({ text: 'The first answer' }, { text: 'A title' })
  const network = await createNetwork(() => chat.app.url, '/tools/agent')
  try {
    const id = await chat.newSession()
    await chat.turn(id, 'hello')
    // The page waits for the models before it loads the outbox.
    const models = stall(network, '/api/models')
    const at = await openPage(`${network.url}/session/${id}`)
    const { page } = at
    await models
    await page.getByText('The first answer').first().waitFor()
    const arrived = stall(network, '/api/chat/start')
    await write(page, 'early')
    await arrived
    assert.match(await storedText(page), /:out:[0-9a-f]+/)
    const next = await page.context().newPage()
    await page.close()
    network.stalled.clear()
    chat.provider.push({ text: 'The early answer' })
    await next.goto(`${network.url}/session/${id}`)
    await next.getByText('The early answer').first().waitFor()
    assert.equal(await usersIn(chat, id), ['hello', 'early'])
    assert.not.match(await storedText(next), /early/)
    await at.close()
  } finally {
    await network.cut().catch(() => undefined)
    await chat.close()
  }
})

test('a sign-out closes the other tabs, and nothing that was written in them stays in the browser', async () => {
  const chat = await startChat({ text: 'The first answer' }, { text: 'A title' })
  const { app } = chat
  try {
    const id = await chat.newSession()
    await chat.turn(id, 'hello')
    await app.post('/api/settings', { _set_password: 'correct horse' })
    const at = await openPage(`${app.url}/session/${id}`)
    const { page } = at
    const context = page.context()
    await page.locator('#pw').fill('correct horse')
    await page.keyboard.press('Enter')
    await page.getByText('The first answer').first().waitFor()
    const openTab = async (path: string) => {
      const tab = await context.newPage()
      // Sent by the part of the page that is loaded last.
      const isReady = tab.waitForRequest('**/api/notifications/look')
      await tab.goto(app.url + path)
      await isReady
      return tab
    }
    const [fresh, settings] = [await openTab('/'), await openTab('/settings/security')]
    await page.bringToFront()
    await page.locator('#composer').fill('Private in a chat')
    await fresh.bringToFront()
    await fresh.locator('#composer').fill('Private in a new chat')
    await fresh.waitForFunction(() => JSON.stringify({ ...localStorage }).includes('in a new chat'))
    await settings.bringToFront()
    await settings.getByRole('button', { name: 'Sign out', exact: true }).first().click()
    for (const tab of [page, fresh, settings]) {
      await tab.waitForURL(/\/login$/)
      await tab.locator('#pw').waitFor()
    }
    assert.not.match(await storedText(fresh), /Private/)
    assert.not.match(await storedText(page), /Private/)
    // Nor behind the Back button: the page was replaced.
    await page.goBack()
    assert.not.match(await page.content(), /Private|The first answer/)
    await at.close()
  } finally {
    await chat.close()
  }
})

test('a sign-out asks when another tab has unsaved changes of a file; canceled, they stay', async () => {
  const chat = await startChat({ text: 'The first answer' }, { text: 'A title' })
  const { app } = chat
  try {
    const id = await chat.newSession()
    const { session } = (await app.get(`/api/session?session_id=${id}`)).body as {
      session: { workspace: string }
    }
    writeFileSync(join(session.workspace, 'note.txt'), 'old\n')
    await chat.turn(id, 'hello')
    await app.post('/api/settings', { _set_password: 'correct horse' })
    const at = await openPage(`${app.url}/session/${id}?file=note.txt`)
    const { page } = at
    await page.locator('#pw').fill('correct horse')
    await page.keyboard.press('Enter')
    await page.locator('.preview').getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('textbox', { name: 'Editor for note.txt' }).waitFor()
    const settings = await page.context().newPage()
    await settings.goto(`${app.url}/settings/security`)
    const signOut = settings.getByRole('button', { name: 'Sign out', exact: true }).first()
    await signOut.waitFor()

    await page.bringToFront()
    await page.keyboard.type('typed ')
    await page.locator('.preview-dirty').waitFor()
    await settings.bringToFront()
    // The view asks this when its window gets the focus. Its own channel receives the reply before this one.
    await settings.evaluate(async () => {
      const channel = new BroadcastChannel('agent-webui:unsaved:/')
      const replied = new Promise(resolve => {
        channel.onmessage = ({ data }) => data.isUnsaved && resolve(null)
      })
      channel.postMessage('ask')
      await replied
    })
    await signOut.click()
    const dialog = settings.getByRole('dialog', { name: 'Sign out and discard unsaved changes?' })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.match(await page.locator('.preview').innerText(), /typed old/)
    await signOut.click()
    await dialog.getByRole('button', { name: 'Sign out' }).click()
    for (const tab of [page, settings]) {
      await tab.waitForURL(/\/login$/)
      await tab.locator('#pw').waitFor()
    }
    assert.is(readFileSync(join(session.workspace, 'note.txt'), 'utf8'), 'old\n')
    await at.close()
  } finally {
    await chat.close()
  }
})

test.run()
