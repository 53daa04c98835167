/** The page of own commands and subagents: write one, try it, and edit it while another program does. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Page } from 'playwright-core'
import { closeBrowser, openPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('browser: own commands and subagents')

/** Waits until a text field has the value. */
const hasText = (page: Page, value: string) =>
  page.waitForFunction(
    wanted => [...document.querySelectorAll('textarea')].some(area => area.value === wanted),
    value,
  )

test('a command is written, tried out, edited beside another program, and deleted', async () => {
  const chat = await startChat({ text: 'Reviewed.' }, { text: 'A title' })
  const { page, problems, axe, close } = await openPage(`${chat.app.url}/skills`, {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
  })
  try {
    const file = join(chat.app.home, 'commands', 'review.md')
    const field = (name: string) => page.getByLabel(name, { exact: true })
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    await page.getByRole('link', { name: 'Commands' }).click()
    await page.getByText('No commands yet').waitFor()
    await button('New command').first().click()
    await field('Name').fill('compact')
    await field('Prompt').fill('Review $1.')
    assert.equal(await axe(), [])
    await button('Save').click()
    await page.getByText('/compact is a built-in command').waitFor()
    await field('Name').fill('review')
    await field('Description').fill('Review a file')
    await button('Save').click()
    await page.getByRole('heading', { name: '/review' }).waitFor()
    assert.is(page.url(), `${chat.app.url}/skills?tab=commands&skill=review`)
    assert.is(readFileSync(file, 'utf8'), '---\ndescription: Review a file\n---\n\nReview $1.\n')
    assert.equal(await axe(), [])

    await button('Try it').click()
    const box = page.getByRole('textbox', { name: 'Message' })
    await hasText(page, '/review ')
    await box.pressSequentially('a.ts')
    await button('Send').click()
    await page.getByText('Reviewed.').first().waitFor()
    const [request] = chat.provider.requests
    assert.match(String(request?.body.messages.at(-1).content), /Review a\.ts\.$/)

    await page.goto(`${chat.app.url}/skills?tab=commands&skill=review`)
    await button('Edit').click()
    await field('Prompt').fill('Mine.')
    writeFileSync(file, '---\ndescription: Theirs\n---\n\nTheirs.\n')
    await button('Save').click()
    await page.getByText('File changed').waitFor()
    assert.match(readFileSync(file, 'utf8'), 'Theirs.')
    await button('Discard mine').click()
    await hasText(page, 'Theirs.')
    await field('Name').fill('check')
    await button('Save').click()
    await page.getByRole('heading', { name: '/check' }).waitFor()
    assert.not(existsSync(file))

    await button('Options for “/check”').click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No commands yet').waitFor()
    assert.not(existsSync(join(chat.app.home, 'commands', 'check.md')))
    // The rejected name and the conflict.
    assert.equal(
      problems.filter(problem => !problem.includes('409')),
      [],
    )
  } finally {
    await close()
    await chat.close()
  }
})

test('in a new chat, the first @ offers chats; the chosen one is sent as a reference and shown as a link', async () => {
  const chat = await startChat({ text: 'First.' }, { text: 'Unify the retry logic' })
  const earlier = await chat.newSession()
  await chat.turn(earlier, 'Please unify it')
  const { page, problems, axe, close } = await openPage(chat.app.url)
  try {
    const box = page.getByRole('textbox', { name: 'Message' })
    await box.pressSequentially('Like @ret')
    await page.getByRole('option', { name: 'Unify the retry logic' }).waitFor()
    assert.equal(await axe(), [])
    await box.press('Enter')
    const reference = `[Unify the retry logic](chat:${earlier})`
    await hasText(page, `Like ${reference} `)
    chat.provider.push({ text: 'Seen.' }, { text: 'Other' })
    await box.press('Enter')
    await page.getByText('Seen.').first().waitFor()
    // The request for a title may have been made already, or not.
    const asked = chat.provider.requests.map(({ body }) => String(body.messages.at(-1).content))
    const sent = asked.find(content => content.includes('Like '))
    assert.ok(sent?.endsWith(`Like ${reference}`), sent)
    await page.getByRole('article').getByRole('link', { name: 'Unify the retry logic' }).click()
    await page.getByText('First.').waitFor()
    assert.is(page.url(), `${chat.app.url}/session/${earlier}`)
    await page.getByText('Please unify it').hover()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('button', { name: 'Save as command' }).click()
    await hasText(page, 'Please unify it')
    await page.getByRole('heading', { name: 'New command' }).waitFor()
    assert.equal(problems, [])
  } finally {
    await close()
    await chat.close()
  }
})

test.after(closeBrowser)
test.run()
