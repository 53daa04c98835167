/** The page in a real browser with the demo model: chat, diffs, approvals, stop, reload, crash recovery. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { spawnApp, startApp, type TestApp } from '../../_app.ts'
import { openPage, type TestPage } from '../../_browser.ts'

const chat = suite('page')

const say = async ({ page }: TestPage, text: string) => {
  await page.locator('textarea').first().fill(text)
  await page.keyboard.press('Enter')
}
/** Waits until an answer contains this text and the turn has ended. */
const answered = async ({ page }: TestPage, text: string | RegExp) => {
  await page.getByText(text).last().waitFor()
  await page.getByRole('button', { name: 'Send' }).waitFor()
}

const withPage = (run: (at: TestPage, app: TestApp) => Promise<void>) => async () => {
  const app = await startApp()
  try {
    const at = await openPage(`${app.url}/`)
    await run(at, app)
    assert.equal(at.problems, [])
    await at.close()
  } finally {
    await app.close()
  }
}

const workspaceOf = (app: TestApp) => join(app.state, 'workspace')

chat(
  'the demo model is labeled, works in the real directory, and shows the diff of an edit',
  withPage(async (at, app) => {
    await at.page.getByText('Demo model (offline, scripted)').first().waitFor()
    await say(at, 'write notes.txt with hello brave world')
    await answered(at, 'I wrote 17 bytes')
    await say(at, 'replace "brave" with "new" in notes.txt')
    await answered(at, 'is changed')
    assert.is(readFileSync(join(workspaceOf(app), 'notes.txt'), 'utf8'), 'hello new world')
    await say(at, 'read notes.txt')
    await answered(at, 'hello new world')
  }),
)

chat('two tabs show the same turn; a tab begins with the draft of the other', async () => {
  const app = await startApp()
  try {
    const one = await openPage(`${app.url}/`)
    await say(one, 'list the files')
    await one.page.getByRole('button', { name: 'Send' }).waitFor()
    await one.page.waitForURL(/\/session\//)
    const saved = one.page.waitForResponse(reply => reply.url().endsWith('/api/session/draft'))
    await one.page.locator('textarea').first().fill('think aloud')
    await saved
    const two = await openPage(one.page.url())
    await two.page.getByText('list the files').first().waitFor()
    await two.page.waitForFunction(
      () => document.querySelector('textarea')?.value === 'think aloud',
    )
    await two.page.locator('textarea').first().press('Enter')
    await answered(two, 'I am a script')
    await one.page.getByText('I am a script').last().waitFor()
    assert.equal([...one.problems, ...two.problems], [])
    await one.close()
    await two.close()
  } finally {
    await app.close()
  }
})

chat('after SIGKILL during an answer and a restart the page continues by itself', async () => {
  const app = await spawnApp()
  try {
    const at = await openPage(`${app.url}/`)
    await say(at, 'long answer')
    await at.page.locator('.md').first().waitFor()
    await app.kill()
    await app.start()
    // The answer is streamed again, whole.
    await at.page.getByRole('button', { name: 'Send' }).waitFor()
    assert.is(await at.page.getByText(/interrupted/i).count(), 0)
    assert.ok((await at.page.locator('.md').first().textContent()) !== '')
    await say(at, 'list the files')
    await at.page.getByText('list the files').last().waitFor()
    await at.close()
  } finally {
    await app.close()
  }
})

chat(
  'after a remote sign-out: one dialog, the draft stays, requests continue after signing in',
  async () => {
    const app = await startApp()
    try {
      const at = await openPage(`${app.url}/settings/security`)
      await at.page.getByRole('button', { name: 'Set password' }).click()
      await at.page.getByLabel('New password').fill('correct horse')
      await at.page.getByLabel('Confirm password').fill('correct horse')
      await at.page.getByRole('button', { name: 'Set password' }).click()
      await at.page.getByRole('button', { name: 'Sign out', exact: true }).first().waitFor()
      await at.page.goto(`${app.url}/`)
      await at.page.locator('textarea').first().fill('a draft to keep')
      await at.page.context().clearCookies()
      await at.page.keyboard.press('Enter')
      const sheet = at.page.getByRole('dialog')
      await sheet.waitFor()
      assert.equal(await at.axeInDialog(), [])
      await sheet.locator('input[type=password]').fill('correct horse')
      await at.page.keyboard.press('Enter')
      await at.page.getByText('a draft to keep').first().waitFor()
      await at.page.waitForURL(/\/session\//)
      await at.close()
    } finally {
      await app.close()
    }
  },
)

chat.run()
