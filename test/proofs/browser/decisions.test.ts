/** What was asked and decided stays in the transcript: the same rows while the page is open and after a reload. */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage } from '../../_browser.ts'
import { createTestClock } from '../../_clock.ts'
import { startChat, startChatAt } from '../../handlers/_chat.ts'
import { write } from '../../_network.ts'

const decisions = suite('decisions in the browser')

const run = (command: string, id: string) => ({
  toolCalls: [{ id, name: 'terminal', arguments: { command } }],
})
const ask = (id: string) => ({
  toolCalls: [
    {
      id,
      name: 'clarify',
      arguments: { question: 'Which database should it use?', choices: ['SQLite', 'PostgreSQL'] },
    },
  ],
})

/** For looking at by hand: DECISION_SHOTS=<folder>. */
const shoot = async (page: Page, name: string): Promise<void> => {
  const dir = process.env.DECISION_SHOTS
  if (!dir) return
  for (const [size, width, height] of [
    ['desktop', 1440, 900],
    ['phone', 390, 844],
  ] as const)
    for (const theme of ['light', 'dark']) {
      await page.setViewportSize({ width, height })
      await page.evaluate(value => {
        document.documentElement.dataset.theme = value
      }, theme)
      await page.screenshot({ path: join(dir, `${name}-${size}-${theme}.png`) })
    }
  await page.setViewportSize({ width: 1440, height: 900 })
}

const rows = async (page: Page): Promise<string[]> =>
  (await page.locator('.said-text').allTextContents()).map(text => text.trim())

decisions('allowed, answered and denied: the rows stay after a reload', async () => {
  const chat = await startChat(
    run('rm -rf build', 'c1'),
    ask('c2'),
    run('git push --force origin main', 'c3'),
    { text: 'Then I use SQLite, and nothing was pushed.' },
  )
  const id = await chat.newSession()
  await chat.app.post('/api/session/rename', { session_id: id, title: 'A database' })
  const { page, problems, axe, close } = await openPage(`${chat.app.url}/session/${id}`, {
    viewport: { width: 1440, height: 900 },
  })
  try {
    await page.locator('#composer').waitFor()
    await write(page, 'Set the database up')
    await page.getByRole('button', { name: 'Allow for this chat' }).click()
    await page.getByRole('button', { name: 'SQLite', exact: true }).click()
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('nothing was pushed').waitFor()
    const live = await rows(page)
    assert.equal(live, [
      'You allowed rm -rf build for this chat',
      'Asked: Which database should it use? — SQLite',
      'You denied git push --force origin main',
    ])
    assert.equal(await axe(), [])
    await shoot(page, 'decided')
    await page.reload()
    await page.getByText('nothing was pushed').waitFor()
    await page.locator('.said').nth(2).waitFor()
    assert.equal(await rows(page), live)
    await shoot(page, 'decided-reload')
    assert.equal(problems, [])
  } finally {
    await close()
    await chat.close()
  }
})

decisions('no answer in time: a warning, a mark in the list, and the command again', async () => {
  const clock = createTestClock(Date.now())
  const chat = await startChatAt(clock, run('rm -rf build', 'c1'), {
    text: 'I could not delete the folder.',
  })
  const id = await chat.newSession()
  const other = await chat.newSession()
  await chat.app.post('/api/session/rename', { session_id: id, title: 'Clean up' })
  await chat.app.post('/api/session/rename', { session_id: other, title: 'Another' })
  const { page, problems, axe, close } = await openPage(`${chat.app.url}/session/${other}`, {
    viewport: { width: 1440, height: 900 },
  })
  try {
    await page.locator('#composer').waitFor()
    const stream = await chat.send(id, 'Clean up')
    await chat.follow(stream, 'approval')
    const done = chat.follow(stream)
    // While a page is open, the question waits for its person.
    await page.goto('about:blank')
    await clock.advance(300_000)
    await done
    await page.goto(`${chat.app.url}/session/${other}`)
    await page.locator('.mark-missed').waitFor()
    await shoot(page, 'missed-list')
    await page.locator(`.session[data-id="${id}"] a`).click()
    await page.locator('.said-missed').waitFor()
    assert.equal(await rows(page), ['Waited 5 min for your approval, not answered: rm -rf build'])
    assert.is(await page.locator('.mark-missed').count(), 0)
    assert.not.match((await page.locator('.tx-column').textContent()) ?? '', /Worked for 5/)
    assert.equal(await axe(), [])
    await shoot(page, 'missed')
    chat.provider.push(run('rm -rf build', 'c2'), { text: 'Deleted.' })
    await page.getByRole('button', { name: 'Run it now' }).click()
    await page.getByRole('button', { name: 'Allow once' }).click()
    await page.getByText('Deleted.').waitFor()
    assert.is(await page.getByRole('button', { name: 'Run it now' }).count(), 0)
    await shoot(page, 'again')
    assert.equal(problems, [])
  } finally {
    await close()
    await chat.close()
  }
})

decisions.run()
