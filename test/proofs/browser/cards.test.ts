/** The card of an edit in a real browser: Enter allows nothing whose end was not on screen. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { closeBrowser, openPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

const cards = suite('page: cards')
cards.after(closeBrowser)

cards(
  'Enter leads through a long change before it allows it; the to-do list stays one line',
  async () => {
    const chat = await startChat()
    const { app, provider } = chat
    try {
      const id = await chat.newSession()
      const path = join(app.home, 'config.yaml')
      const before = readFileSync(path, 'utf8')
      const content = `${before}${Array.from({ length: 200 }, (_, at) => `# line ${at}\n`).join('')}# the end\n`
      const todos = [
        { id: '1', content: 'Read it', status: 'completed' },
        { id: '2', content: 'Change it', status: 'in_progress' },
      ]
      provider.push(
        { toolCalls: [{ name: 'todo', arguments: { todos } }] },
        { toolCalls: [{ name: 'read_file', arguments: { path } }] },
        { toolCalls: [{ name: 'write_file', arguments: { path, content } }] },
        { text: 'done' },
      )
      const stream = await chat.send(id, 'change it')
      await chat.follow(stream, 'approval')
      const at = await openPage(`${app.url}/session/${id}`, {
        viewport: { width: 390, height: 700 },
      })
      const { page } = at
      const card = page.getByRole('article', { name: 'Approval needed' })
      await card.waitFor()
      await page.locator('.live-plan', { hasText: '1/2' }).getByText('Change it').first().waitFor()
      const end = card.getByText('# the end')
      const allowed = card.locator('[aria-keyshortcuts="Enter"]', { hasText: 'Allow once' })
      let presses = 0
      while ((await allowed.count()) === 0) {
        assert.ok(++presses < 150, 'the end of the change is never reached')
        await page.keyboard.press('Enter')
        await page.evaluate(
          () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        )
        assert.is(readFileSync(path, 'utf8'), before)
      }
      assert.ok(presses > 1, `${presses}`)
      assert.ok(await end.count())
      assert.equal(await at.axe(), [])
      assert.equal(at.problems, [])
      await page.keyboard.press('Enter')
      await card.waitFor({ state: 'detached' })
      await chat.follow(stream)
      assert.is(readFileSync(path, 'utf8'), content)
      await at.close()
    } finally {
      await chat.close()
    }
  },
)

cards.run()
