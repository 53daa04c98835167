/** How quiet the page is around the chat: what can be pressed, what Tab passes, what is left at a zoom of 400 %, what a browser says in its console. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { closeBrowser, openPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('browser: chrome')
test.after(closeBrowser)

type Made = { app: Awaited<ReturnType<typeof startApp>>; ids: string[] }

const start = async (...titles: string[]): Promise<Made> => {
  const app = await startApp()
  const ids: string[] = []
  for (const title of titles) {
    const messages = [
      { role: 'user', content: `Say ${title}` },
      { role: 'assistant', content: `It is ${title}. `.repeat(40) },
    ]
    const { body } = await app.post('/api/session/import', { title, messages })
    ids.push(body.session.session_id)
  }
  return { app, ids }
}

// What it suggests is no control: it is what may be asked.
test('an empty chat has at most 12 controls', async () => {
  const { app } = await start()
  const at = await openPage(app.url, { viewport: { width: 1440, height: 900 } })
  const { page } = at
  try {
    await page.locator('.chip-mode').waitFor()
    await page.getByRole('button', { name: /^Profile:/ }).waitFor()
    const names = await page
      .locator(':is(a[href], button, input, textarea, select):not(.welcome *, .chat-below *)')
      .evaluateAll(controls =>
        controls.flatMap(control => {
          const { width, right, bottom } = control.getBoundingClientRect()
          const isSeen = control.checkVisibility() && width > 1 && right > 0 && bottom > 0
          return isSeen ? [control.getAttribute('aria-label') ?? control.textContent] : []
        }),
      )
    assert.ok(names.length <= 12, `${names.length}: ${names.join(', ')}`)
    assert.equal(await at.axe(), [])
  } finally {
    await at.close()
    await app.close()
  }
})

test('Tab reaches the answer in at most six stops, past a link to the message that is seen', async () => {
  const { app, ids } = await start('alpha', 'beta')
  const at = await openPage(`${app.url}/session/${ids[0]}`)
  const { page } = at
  try {
    await page.getByText('It is alpha.').first().waitFor()
    await page.locator('.chip-mode').waitFor()
    // A page that is opened puts the cursor into the message.
    await page.evaluate(() => {
      document.body.tabIndex = -1
      document.body.focus()
    })
    const isInChat = () =>
      page.evaluate(() => document.activeElement?.closest('.chat-body') !== null)
    await page.keyboard.press('Tab')
    const skip = page.locator('.skip:focus')
    await skip.waitFor()
    const box = await skip.boundingBox()
    assert.ok(box && box.y >= 0 && box.x >= 0 && box.height > 20, JSON.stringify(box))
    let stops = 1
    while (stops < 20 && !(await isInChat())) {
      await page.keyboard.press('Tab')
      stops += 1
    }
    assert.ok(stops <= 6, `${stops} stops`)
  } finally {
    await at.close()
    await app.close()
  }
})

test('a right click and the button open the same menu, with at most seven entries', async () => {
  const { app } = await start('alpha')
  const at = await openPage(app.url)
  const { page } = at
  try {
    const entries = async () => {
      await page.locator('.menu [role^=menuitem]').first().waitFor()
      const found = await page.locator('.menu [role^=menuitem] > span').allInnerTexts()
      await page.keyboard.press('Escape')
      return found
    }
    await page.locator('.session-link').first().click({ button: 'right' })
    const box = await page.locator('.menu').boundingBox()
    const clicked = await entries()
    await page.locator('.session').first().hover()
    await page.getByRole('button', { name: 'Options for “alpha”' }).click()
    assert.equal(clicked, await entries())
    assert.equal(clicked, [
      'Rename',
      'Pin',
      'Move to project…',
      'Share…',
      'Export',
      'Archive',
      'Delete',
    ])
    const row = await page.locator('.session-link').first().boundingBox()
    assert.ok(box && row && box.x < row.x + row.width, 'at the pointer')
  } finally {
    await at.close()
    await app.close()
  }
})

test('Ctrl+K and Enter go back to the chat before, Ctrl+2 to the second of the list', async () => {
  const { app, ids } = await start('alpha', 'beta', 'gamma')
  const at = await openPage(`${app.url}/session/${ids[0]}`)
  const { page } = at
  try {
    await page.getByText('It is alpha.').first().waitFor()
    await page.locator('.session-link', { hasText: 'beta' }).click()
    await page.getByText('It is beta.').first().waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('option', { name: /alpha/ }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/session/${ids[0]}`)
    const second = await page.locator('.session').nth(1).getAttribute('data-id')
    await page.keyboard.press('Control+2')
    await page.waitForURL(`**/session/${second}`)
  } finally {
    await at.close()
    await app.close()
  }
})

test('the mode of a chat is one choice: Auto ends plan mode, Plan ends Auto; the plus opens the list of commands', async () => {
  const { app, ids } = await start('alpha')
  const at = await openPage(`${app.url}/session/${ids[0]}`)
  const { page } = at
  try {
    const choose = async (mode: string) => {
      await page.locator('.chip-mode').click()
      await page.getByRole('menuitemradio', { name: new RegExp(`^${mode}`) }).click()
      await page.getByRole('button', { name: `Mode: ${mode}` }).waitFor()
      const { body } = await app.get('/api/sessions')
      const [row] = body.sessions
      return [row.mode === 'plan', row.yolo === true]
    }
    assert.equal(await choose('Plan'), [true, false])
    assert.equal(await choose('Auto'), [false, true])
    assert.equal(await choose('Plan'), [true, false])
    assert.equal(await choose('Ask'), [false, false])

    await page.locator('.plus').click()
    await page.getByRole('menuitem', { name: /^Commands/ }).click()
    await page.locator('.offers [role=option]').first().waitFor()
    assert.is(await page.locator('#composer').inputValue(), '/')
  } finally {
    await at.close()
    await app.close()
  }
})

test('a double click on Send sends and stops nothing; beside a draft, Stop is still there', async () => {
  // The last one is that of the title.
  const chat = await startChat({ text: 'Earlier.' }, { text: 'Held' })
  const id = await chat.newSession()
  await chat.turn(id, 'Before')
  const first = Promise.withResolvers<void>()
  chat.provider.push(
    { text: 'Of the first.', gate: first.promise },
    { text: ['Of the second. ', 'Never.'], middle: new Promise(() => {}) },
  )
  const at = await openPage(`${chat.app.url}/session/${id}`)
  const { page } = at
  const stop = page.getByRole('button', { name: 'Stop', exact: true })
  const field = page.locator('.composer textarea')
  try {
    await page.getByText('Earlier.').waitFor()
    await field.fill('The first')
    await page.getByRole('button', { name: 'Send' }).dblclick()
    first.resolve()
    await page.getByText('Of the first.').waitFor()
    await stop.waitFor({ state: 'detached' })
    assert.is(await page.getByText('Stopped', { exact: true }).count(), 0)
    await field.fill('The second')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Of the second.').waitFor()
    await field.fill('A draft')
    await page.getByRole('button', { name: 'Queue message' }).waitFor()
    await stop.click()
    await page.getByText('Stopped', { exact: true }).waitFor()
    assert.is(await field.inputValue(), 'A draft')
  } finally {
    first.resolve()
    await at.close()
    await chat.close()
  }
})

test('an address without a page leads to the page; of a chat that does not exist, nothing loads without end', async () => {
  const { app } = await start()
  const at = await openPage(`${app.url}/nonsense/here`)
  const { page } = at
  try {
    await page.getByRole('heading', { name: 'What should we work on?' }).waitFor()
    await page.goto(`${app.url}/session/none`)
    await page.getByRole('heading', { name: 'Chat not found', level: 1 }).waitFor()
    await page.keyboard.press('ControlOrMeta+Shift+E')
    await page.getByRole('tabpanel').getByText('Chat not found').waitFor()
  } finally {
    await at.close()
    await app.close()
  }
})

test('at a zoom of 400 % the composer is one line, and half of the height is left to the chat', async () => {
  const { app, ids } = await start('alpha')
  const at = await openPage(`${app.url}/session/${ids[0]}`, {
    viewport: { width: 360, height: 225 },
  })
  const { page } = at
  try {
    await page.getByText('It is alpha.').first().waitFor()
    await page.locator('.chip-mode').waitFor()
    const [chat, composer, send, text] = await Promise.all(
      ['.chat-body', '.composer', '.send', '.composer textarea'].map(each =>
        page.locator(each).boundingBox(),
      ),
    )
    assert.ok(chat!.height >= 225 / 2, `${chat!.height} px`)
    assert.ok(composer!.height <= 60, `${composer!.height} px`)
    assert.ok(send!.y < text!.y + text!.height, 'beside the text')
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.is(wider, 0)
  } finally {
    await at.close()
    await app.close()
  }
})

test('with a service worker nothing is loaded twice, and the console stays empty; without a network the page says so', async () => {
  const { app, ids } = await start('alpha')
  const at = await openPage(app.url, { locale: 'de-DE', serviceWorkers: 'allow' })
  const { page } = at
  const said: string[] = []
  page.on('console', message => void said.push(`${message.type()}: ${message.text()}`))
  try {
    await page.waitForFunction(() => navigator.serviceWorker.controller)
    for (const path of ['/', `/session/${ids[0]}`, '/settings/general']) {
      await page.goto(`${app.url}${path}`)
      await page.getByRole('button', { name: /^Profil:/ }).waitFor()
      // A preload that is not used is reported some seconds after the page has loaded.
      if (path === '/') await page.waitForFunction(() => performance.now() > 8_000)
    }
    assert.equal(said, [])
    await page.context().setOffline(true)
    await page.locator('.pill', { hasText: 'Du bist offline.' }).waitFor({ timeout: 10_000 })
    await page.context().setOffline(false)
    await page.locator('.pill').waitFor({ state: 'detached' })
  } finally {
    await at.close()
    await app.close()
  }
})

test.run()
