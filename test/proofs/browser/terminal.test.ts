/** The terminal in a real browser: types into a shell, survives a reload, sends a selection to the message, fits a phone. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage, type TestPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

type World = {
  chat: Awaited<ReturnType<typeof startChat>>
  session: string
  workspace: string
  opened: TestPage[]
}
const world = {} as World

const test = suite('browser: terminal')

test.before(async () => {
  world.chat = await startChat()
  world.opened = []
  world.workspace = join(world.chat.app.userHome, 'project')
  mkdirSync(world.workspace)
  const { body } = await world.chat.app.post('/api/session/new', { workspace: world.workspace })
  world.session = body.session.session_id
})

test.after(async () => {
  await world.chat.close()
})

const show = async (options = {}): Promise<TestPage> => {
  const opened = await openPage(`${world.chat.app.url}/session/${world.session}`, options)
  world.opened.push(opened)
  return opened
}
const screen = (page: Page) => page.locator('.terminal-screen')

test('types into a shell, survives a reload, and quotes a selection in the message', async () => {
  const { page, problems, axe } = await show()
  await page.locator('#composer').waitFor()
  await page.keyboard.press('Control+Backquote')
  await screen(page).locator('.xterm-rows', { hasText: /[$#] / }).waitFor()
  await page.keyboard.type(
    'printf "\\e[38;2;10;200;30mok-%s\\e[0m https://example.com/a\\n" $((6*7))',
  )
  await page.keyboard.press('Enter')
  const line = screen(page).locator('.xterm-rows', { hasText: 'ok-42 https' })
  await line.waitFor()
  // The colors of xterm.js pass the Content-Security-Policy.
  assert.ok(
    await screen(page).evaluate(box =>
      [...box.querySelectorAll<HTMLElement>('.xterm-rows span')].some(
        ({ textContent, style }) => textContent === 'ok-42' && style.color !== '',
      ),
    ),
  )
  await page.reload()
  await line.waitFor()
  await screen(page).click()
  await page.keyboard.type('echo same-$((40+3))')
  await page.keyboard.press('Enter')
  await screen(page).locator('.xterm-rows', { hasText: 'same-43' }).waitFor()
  // Full width, and the same shell in another chat of the folder.
  const wide = await page.evaluate(() => {
    const [dock, main] = ['.dock', '#main'].map(
      name => document.querySelector(name)!.getBoundingClientRect().width,
    )
    return dock === main
  })
  assert.ok(wide)
  const other = await world.chat.app.post('/api/session/new', { workspace: world.workspace })
  await page.goto(`${world.chat.app.url}/session/${other.body.session.session_id}`)
  await screen(page).locator('.xterm-rows', { hasText: 'same-43' }).waitFor()
  await page.goto(`${world.chat.app.url}/session/${world.session}`)
  await screen(page).locator('.xterm-rows', { hasText: 'same-43' }).waitFor()
  const { body } = await world.chat.app.get(`/api/terminals?session_id=${world.session}`)
  assert.is(body.terminals.length, 1)
  assert.equal(await axe(), [])

  await page.getByText('same-43').first().dblclick({ force: true })
  await page.getByRole('button', { name: 'Add selection to message' }).click()
  assert.match(await page.locator('#composer').inputValue(), /```\n.*43.*\n```/)
  await page.keyboard.press('Control+B')

  await screen(page).click()
  await page.keyboard.type('exit 3')
  await page.keyboard.press('Enter')
  await page.getByText('Exited with code 3').waitFor()
  await page.getByRole('button', { name: 'Close bash 1' }).click()
  await page.getByText('No terminal open').waitFor()
  // An idle shell is closed without a question, and merely open the dock starts none.
  await page.keyboard.press('Control+Backquote')
  await page.locator('.dock').waitFor({ state: 'detached' })
  await page.keyboard.press('Control+Backquote')
  await screen(page).locator('.xterm-rows', { hasText: /[$#] / }).waitFor()
  await page.getByRole('button', { name: 'Close bash 1' }).click()
  await page.getByText('No terminal open').waitFor()
  assert.equal(problems, [])
})

test('fits a phone, with a row of keys it has no other way to press', async () => {
  const { page, problems } = await show({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  })
  await page.getByRole('button', { name: 'Show workspace' }).click()
  await page.getByRole('button', { name: 'Terminal' }).click()
  const rows = screen(page).locator('.xterm-rows')
  await rows.filter({ hasText: /[$#] / }).waitFor()
  await screen(page).click()
  await page.keyboard.type('cat -v')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Tab', exact: true }).click()
  await page.getByRole('button', { name: 'Up' }).click()
  await page.keyboard.press('Enter')
  await rows.filter({ hasText: '^[[A' }).waitFor()
  await page.getByRole('button', { name: 'Ctrl' }).click()
  await page.keyboard.type('c')
  await page.keyboard.type('echo back-$((4*5))')
  await page.keyboard.press('Enter')
  await rows.filter({ hasText: 'back-20' }).waitFor()
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth))
  assert.equal(problems, [])
})

test.run()
