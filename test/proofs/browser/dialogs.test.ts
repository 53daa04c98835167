/** Dialogs, pickers and menus that no other test looks at: each opens, has no axe violation, and closes with Escape. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { closeBrowser, openPage } from '../../_browser.ts'

const test = suite('browser: dialogs')
test.after(closeBrowser)

test('dialogs of chats, projects, profiles and providers are accessible', async () => {
  const app = await startApp()
  const { body } = await app.post('/api/session/import', {
    title: 'Named',
    messages: [
      { role: 'user', content: 'show me' },
      { role: 'assistant', content: '## A heading\n\nAn answer.' },
    ],
  })
  const session = body.session.session_id
  await app.post('/api/projects/create', { name: 'Backend', color: '#d08b3c' })
  await app.post('/api/profile/create', { name: 'other' })
  const at = await openPage(`${app.url}/session/${session}`)
  const { page } = at
  const found: string[] = []
  const dialog = page.locator('dialog[open]')
  const look = async (name: string, open: () => Promise<unknown>) => {
    await open()
    await dialog.last().waitFor()
    found.push(...(await at.axeInDialog()).map(violation => `${name}: ${violation}`))
    await page.keyboard.press('Escape')
    await dialog.first().waitFor({ state: 'detached' })
  }
  const button = (name: string | RegExp) => page.getByRole('button', { name }).first().click()
  const menu = (name: string) => page.getByRole('menuitem', { name, exact: true }).click()
  try {
    await page.getByText('An answer.').waitFor()
    await look('palette', async () => {
      await page.keyboard.press('Control+k')
      await page.locator('.dialog-palette input').fill('new')
      await page.getByRole('option').first().waitFor()
    })
    await look('palette without results', async () => {
      await page.keyboard.press('Control+k')
      await page.locator('.dialog-palette input').fill('qqzzxy')
      await page.getByText('No results for “qqzzxy”').waitFor()
    })
    await look('outline', async () => {
      await page.keyboard.press('Control+j')
      await page.getByRole('option').first().waitFor()
    })
    await look('outline without results', async () => {
      await page.keyboard.press('Control+j')
      await page.getByRole('combobox').fill('qqzzxy')
      await page.getByRole('option').first().waitFor({ state: 'detached' })
    })
    await look('move', async () => {
      await button('Chat options')
      await menu('Move to project…')
    })
    await look('question', async () => {
      await page.keyboard.press('Control+k')
      await page.locator('.dialog-palette input').fill('delete permanently')
      await page.getByRole('option', { name: 'Delete permanently' }).click()
    })
    await look('project', async () => {
      await page.keyboard.press('Control+k')
      await page.locator('.dialog-palette input').fill('new project')
      await page.getByRole('option', { name: 'New project' }).click()
    })
    await page.locator('.title-button').focus()
    await look('shortcuts', () => page.keyboard.press('?'))

    await page.goto(`${app.url}/profiles`)
    await look('new profile', () => button('New profile'))
    await look('delete profile', () => button(/^Delete.*other/))
    await page.goto(app.url)
    await look('provider', () => button('Connect a model'))
    assert.equal(found, [])
    assert.equal(at.problems, [])
  } finally {
    await at.close()
    await app.close()
  }
})

test.run()
