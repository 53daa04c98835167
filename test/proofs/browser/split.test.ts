/** Two chats side by side in a real browser: streams, drafts and approvals stay apart; closing a side loses nothing. */
import { mkdirSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { closeBrowser, openPage } from '../../_browser.ts'
import { gate, type Step } from '../../_provider.ts'
import { until } from '../../_wait.ts'
import { startChat } from '../../handlers/_chat.ts'

const split = suite('page: two chats')
split.after(closeBrowser)

split('each side has its own stream, draft and approval; closing one stops nothing', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  const work = join(app.userHome, 'proj')
  for (const name of ['alpha', 'beta']) mkdirSync(join(work, name), { recursive: true })
  const ids: Record<string, string> = {}
  for (const name of ['alpha', 'beta']) {
    const { body } = await app.post('/api/session/new', { workspace: work })
    ids[name] = body.session.session_id
    await app.post('/api/session/rename', { session_id: ids[name], title: `Chat ${name}` })
  }
  const end = gate()
  const step = (name: string, isCalled: boolean): Step =>
    isCalled
      ? // The last characters may be held back while the stream waits: a random key of the service may begin with them.
        { text: [`${name} begins with more words `, `${name} ends`], middle: end.opened }
      : { toolCalls: [{ name: 'terminal', arguments: { command: `rm -rf ${work}/${name}` } }] }
  provider.otherwise = body => {
    const text = JSON.stringify(body.messages)
    const called = body.messages.some((message: { role: string }) => message.role === 'tool')
    if (!body.tools?.length) return { text: 'Title' }
    return step(text.includes('please beta') ? 'beta' : 'alpha', called)
  }
  const opened = await openPage(`${app.url}/session/${ids.alpha}`, {
    viewport: { width: 1440, height: 900 },
  })
  const { page } = opened
  const first = page.locator('.main .main').first()
  const second = page.locator('.side-second')
  const boxOf = (side: typeof first) => side.locator('.composer textarea')
  try {
    await page.keyboard.press('Control+k')
    await page.locator('.dialog-palette input').fill('Chat beta')
    await page
      .getByRole('option', { name: /Chat beta/ })
      .first()
      .waitFor()
    await page.keyboard.press('Alt+Enter')
    await page.waitForURL(`**/session/${ids.alpha}?beside=${ids.beta}`)
    await boxOf(first).fill('draft of alpha')
    await boxOf(second).fill('draft of beta')
    await page.waitForResponse(reply => reply.url().endsWith('/api/session/draft'))
    await boxOf(first).focus()
    await page.reload()
    await second.waitFor()
    await page.waitForFunction(() =>
      [...document.querySelectorAll('textarea')].every(box => box.value),
    )
    assert.is(await boxOf(first).inputValue(), 'draft of alpha')
    assert.is(await boxOf(second).inputValue(), 'draft of beta')

    await boxOf(first).fill('please alpha')
    await page.keyboard.press('Enter')
    await boxOf(second).fill('please beta')
    await page.keyboard.press('Enter')
    const cards = [first, second].map(side =>
      side.getByRole('article', { name: 'Approval needed' }),
    )
    for (const card of cards) await card.waitFor()
    assert.match((await cards[1]!.textContent()) ?? '', /beta/)
    assert.equal(await opened.axe(), [])
    if (process.env.PICTURES) await page.screenshot({ path: '/tmp/t13/split-desktop.png' })
    const answered: string[] = []
    page.on('response', async reply => {
      if (reply.url().endsWith('/api/approval/respond'))
        answered.push(`${reply.request().postData()} ${reply.status()}`)
    })
    // Keys that come within 600 ms after a card was shown are ignored.
    while (answered.length === 0) {
      await boxOf(second).press('Enter')
      await page.evaluate(() => new Promise(resolve => requestAnimationFrame(resolve)))
    }
    assert.is(answered.length, 1)
    assert.ok(answered[0]!.includes(ids.beta!) && answered[0]!.endsWith(' 200'), answered[0])
    await cards[1]!.waitFor({ state: 'detached' })
    await second.getByText('beta begins').waitFor()
    assert.is(await cards[0]!.count(), 1)
    assert.not.ok(existsSync(join(work, 'beta')))
    assert.ok(existsSync(join(work, 'alpha')))
    assert.is(await first.getByText('beta').count(), 0)

    await boxOf(second).fill('later')
    await second.getByRole('button', { name: 'Close this chat' }).click()
    await page.waitForURL(`**/session/${ids.alpha}`)
    end.open()
    const ended = async () => (await chat.messages(ids.beta!)).at(-1)
    await until(async () => (await ended())?.content === 'beta begins with more words beta ends')
    assert.is(await cards[0]!.count(), 1)
    await page.goBack()
    await second.getByText('beta begins with more words beta ends').waitFor()
    assert.is(await boxOf(second).inputValue(), 'later')

    await first.getByRole('button', { name: 'Close this chat' }).click()
    await page.waitForURL(`**/session/${ids.beta}`)
    await page.getByText('beta begins with more words beta ends').waitFor()
    await page.waitForFunction(() => document.querySelector('textarea')?.value === 'later')
    await page.keyboard.press('Control+k')
    await page.locator('.dialog-palette input').fill('chat alpha')
    await page.getByRole('option', { name: 'Chat alpha' }).first().waitFor()
    await page.keyboard.press('Alt+Enter')
    await page.waitForURL(`**/session/${ids.beta}?beside=${ids.alpha}`)
    await cards[1]!.waitFor()

    await page.setViewportSize({ width: 900, height: 700 })
    await page.getByRole('tab', { name: 'Chat beta' }).click()
    await boxOf(second).waitFor({ state: 'hidden' })
    assert.equal(await opened.axe(), [])
    if (process.env.PICTURES) await page.screenshot({ path: '/tmp/t13/split-tabs.png' })
    await page.getByRole('tab', { name: 'Chat alpha' }).click()
    await boxOf(first).waitFor({ state: 'hidden' })
    assert.equal(opened.problems, [])
  } finally {
    if (process.env.PICTURES) await page.screenshot({ path: '/tmp/t13/split-last.png' })
    await opened.close()
    await chat.close()
  }
})

split.run()
