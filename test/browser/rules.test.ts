/** A rule in a real browser: shown and edited before it is given, kept, listed in the settings, removed there. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'
import { closeBrowser, openPage, type TestPage } from '../_browser.ts'

const rules = suite('page: rules')
rules.after(closeBrowser)

const say = async ({ page }: TestPage, text: string) => {
  const composer = page.locator('textarea').first()
  await composer.fill(text)
  await composer.press('Enter')
}
const RULE = 'git push --force *'

rules(
  'always allow shows and edits what it covers, by keyboard alone, in both themes and widths',
  async () => {
    const app = await startApp()
    try {
      const at = await openPage(`${app.url}/`)
      const { page } = at
      await say(at, 'run `git push --force origin main`')
      const card = page.getByRole('article', { name: 'Approval needed' })
      await card.waitFor()
      const always = card.getByRole('button', { name: 'Always allow' }).first()
      await always.focus()
      await page.keyboard.press('Enter')
      const field = card.getByRole('textbox', { name: 'What to allow' })
      await field.waitFor()
      assert.ok(await field.evaluate(each => each === document.activeElement))
      // Escape leaves the form, not the question; Enter on a wrong rule allows nothing.
      await page.keyboard.press('Escape')
      await field.waitFor({ state: 'detached' })
      await always.press('Enter')
      for (const wrong of ['*', '', 'git push *', 'git push --force origin other']) {
        await field.fill(wrong)
        await page.keyboard.press('Enter')
        assert.match((await card.getByRole('status').textContent()) ?? '', RULE)
        assert.ok(await card.locator('button[type=submit]').isDisabled())
      }
      await field.fill(RULE)
      await card.getByRole('radio', { name: 'This profile' }).check()
      assert.match((await card.getByRole('status').textContent()) ?? '', /in every folder/)
      for (const theme of ['light', 'dark']) {
        await app.post('/api/settings', { theme })
        await page.reload()
        await always.click()
        await field.fill(RULE)
        await card.getByRole('radio', { name: 'This profile' }).check()
        for (const width of [390, 1440]) {
          await page.setViewportSize({ width, height: 900 })
          assert.equal(await at.axe(), [])
          const wide = await page.evaluate(() => document.documentElement.scrollWidth)
          assert.ok(wide <= width, `${wide} at ${width}`)
        }
      }
      await field.press('Enter')
      await card.waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Send' }).waitFor()
      await say(at, 'run `git push --force origin other`')
      await page.getByText('git push --force origin other').nth(1).waitFor()
      await page.getByRole('button', { name: 'Send' }).waitFor()
      assert.is(await card.count(), 0)
      await page.goto(`${app.url}/settings/security`)
      const row = page.getByRole('region', { name: 'Always allowed' })
      await row.getByText(RULE, { exact: true }).waitFor()
      assert.match((await row.textContent()) ?? '', /In all folders/)
      assert.equal(await at.axe(), [])
      await row.getByRole('button', { name: `Remove: ${RULE}` }).click()
      await row.waitFor({ state: 'detached' })
      assert.equal((await app.get('/api/approval/grants')).body.grants, [])
      assert.equal(at.problems, [])
      await at.close()
    } finally {
      await app.close()
    }
  },
)

rules.run()
