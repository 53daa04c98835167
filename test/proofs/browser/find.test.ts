/** Finding things in a real browser: palette, `@`, search results, settings; selecting several chats; the menu of a chat. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage } from '../../_browser.ts'
import { startApp } from '../../_app.ts'

const test = suite('browser: find')

test('by keyboard: palette, files at any depth, search results, settings; then several chats at once', async () => {
  const app = await startApp()
  const work = join(app.userHome, 'proj')
  mkdirSync(join(work, 'src/deep'), { recursive: true })
  writeFileSync(join(work, 'src/deep/retry-policy.ts'), 'export {}\n')
  const ids: string[] = []
  for (const title of ['Unify the retry logic', 'Choose a database', 'خطة رحلة trip']) {
    const { body } = await app.post('/api/session/new', { workspace: work })
    ids.push(body.session.session_id)
    await app.post('/api/session/rename', { session_id: body.session.session_id, title })
  }
  const opened = await openPage(`${app.url}/session/${ids[0]}`)
  const { page } = opened
  try {
    await page.locator('textarea').fill('see @retrpol')
    const offer = page.getByRole('option', { name: 'src/deep/retry-policy.ts' })
    await offer.waitFor()
    assert.is(await offer.locator('mark').first().textContent(), 'retr')
    await page.keyboard.press('Enter')
    assert.is(await page.locator('textarea').inputValue(), 'see src/deep/retry-policy.ts ')

    // What is typed while the palette loads is for the palette: Enter sends no message.
    const loading = Promise.withResolvers<void>()
    await page.route('**/*.js', async route => {
      await loading.promise
      await route.continue()
    })
    await page.keyboard.press('Control+k')
    await page.keyboard.type('databsx')
    await page.keyboard.press('Backspace')
    await page.keyboard.press('Enter')
    loading.resolve()
    await page.getByRole('option', { name: 'Choose a database' }).waitFor()
    assert.is(await page.locator('.dialog-palette input').inputValue(), 'databs')
    assert.is(await page.locator('textarea').inputValue(), 'see src/deep/retry-policy.ts ')
    await page.unroute('**/*.js')
    const isPrevented = (init: { key: string; isComposing?: boolean }) =>
      page.locator('.dialog-palette input').evaluate((field, init) => {
        const event = new KeyboardEvent('keydown', { ...init, bubbles: true, cancelable: true })
        return !field.dispatchEvent(event)
      }, init)
    // The keys of an input method choose among its candidates.
    assert.is(await isPrevented({ key: 'ArrowDown', isComposing: true }), false)
    assert.is(await isPrevented({ key: 'ArrowDown' }), true)
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/session/${ids[1]}`)
    await page.keyboard.press('Control+k')
    await page.locator('.dialog-palette input').fill('token usage')
    await page.getByRole('option', { name: 'Token usage General' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'switch')
    await page.locator('.settings-search input').fill('send with')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.activeElement?.tagName === 'SELECT')

    await page.locator('.sidebar .search input').fill('trip')
    await page.locator('.result').first().waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.waitForURL(`**/session/${ids[2]}`)
    await page.locator('.sidebar .search input').fill('')

    const links = page.locator('.session-link')
    const directions = await links
      .locator('.session-title')
      .evaluateAll(titles => titles.map(title => getComputedStyle(title).direction))
    assert.equal(directions.toSorted(), ['ltr', 'ltr', 'rtl'])
    await links.nth(0).click({ modifiers: ['Control'] })
    await links.nth(2).click({ modifiers: ['Shift'] })
    await page.getByText('3 selected').waitFor()
    await page.keyboard.press('Escape')
    await links.nth(1).focus()
    await page.keyboard.press('Shift+ArrowDown')
    await page.getByText('2 selected').waitFor()
    assert.equal(await opened.axe(), [])
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Edit tags…' }).click()
    await page.getByLabel('New tags').fill('later')
    assert.equal(await opened.axeInDialog(), [])
    await page.keyboard.press('Enter')
    await page.getByText('Changed the tags of 2 chats').waitFor()
    const later = page.getByRole('button', { name: '#later', exact: true })
    await later.waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await later.waitFor({ state: 'detached' })

    await links.nth(1).focus()
    await page.keyboard.press('Shift+ArrowDown')
    await page.getByText('2 selected').waitFor()
    await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Deleted 2 chats').waitFor()
    assert.is(await links.count(), 1)
    await page.getByRole('button', { name: 'Undo' }).click()
    await links.nth(2).waitFor()

    await page
      .getByRole('button', { name: /Options for/ })
      .first()
      .focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Export' }).press('ArrowRight')
    await page.getByRole('menuitem', { name: 'Export as HTML' }).waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.waitForFunction(() => document.activeElement?.textContent === 'Export')
    assert.is(await page.getByRole('menuitem').count(), 7)
    assert.equal(opened.problems, [])
  } finally {
    await opened.close()
    await app.close()
  }
})

test.run()
