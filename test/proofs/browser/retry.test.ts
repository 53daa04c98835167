/** The wait before a retry in a real browser: two devices, one of them with a wrong clock, a reload, and Retry now. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('retry in the page')

test('the countdown is right on every device, and a press on one ends it on all', async () => {
  const chat = await startChat()
  try {
    const { app, provider } = chat
    const session_id = await chat.newSession()
    await app.post('/api/session/rename', { session_id, title: 'Named' })
    provider.push(
      { status: 429, headers: { 'retry-after': '3599' }, body: { error: { message: 'Slow.' } } },
      { text: 'All done.' },
    )
    await chat.follow(await chat.send(session_id, 'hello'), 'retry')
    const url = `${app.url}/session/${session_id}`
    const [first, second] = await Promise.all([openPage(url), openPage('about:blank')])
    // Its clock is three hours ahead.
    await second.page.addInitScript(() => {
      const now = Date.now
      Date.now = () => now() + 3 * 3_600_000
    })
    await second.page.goto(url)
    for (const { page } of [first, second])
      await page.getByText(/^Retrying in \d+ min \d+ s · attempt 2 of 4$/).waitFor()
    assert.equal(await first.axe(), [])
    await first.page.reload()
    await first.page.getByText(/^Retrying in \d+ min/).waitFor()
    await second.page.getByRole('button', { name: 'Retry now' }).click()
    for (const { page } of [first, second]) {
      await page.getByText('All done.').first().waitFor()
      assert.is(await page.getByRole('button', { name: 'Retry now' }).count(), 0)
    }
    assert.is(provider.requests.length, 2)
    for (const at of [first, second]) await at.close()
  } finally {
    await chat.close()
  }
})

test.run()
