/** What a turn did, in a real browser: its summary, diffs, undo of a hunk and of all, and comments on lines; by keyboard and on a phone. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage, type TestPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

type World = { chat: Awaited<ReturnType<typeof startChat>>; dir: string; session: string }
const world = {} as World
const opened: TestPage[] = []

const show = async (options = {}): Promise<TestPage> => {
  const found = await openPage(`${world.chat.app.url}/session/${world.session}`, options)
  opened.push(found)
  return found
}
const call = (id: string, name: string, args: Record<string, unknown>) => ({
  id,
  name,
  arguments: args,
})
const at = (path: string) => join(world.dir, path)
/** Wider than the screen of a phone. */
const WIDE = ` // ${'wide '.repeat(16)}.`
const lines = (changed: Readonly<Record<number, string>>): string =>
  Array.from(
    { length: 30 },
    (_, n) => `const v${n + 1} = ${changed[n + 1] ?? 0}${n === 2 ? WIDE : ''}\n`,
  ).join('')
const summary = (page: Page) => page.getByRole('region', { name: 'Summary of this answer' })
const hunk = (page: Page, name: string) => page.getByRole('region', { name })

const test = suite('browser: a turn')

test.before(async () => {
  world.chat = await startChat()
  world.chat.enableCheckpoints()
  const { app, provider } = world.chat
  world.dir = join(app.userHome, 'project')
  mkdirSync(join(world.dir, 'src'), { recursive: true })
  await app.post('/api/workspaces/add', { path: world.dir })
  const { body } = await app.post('/api/session/new', { workspace: world.dir })
  world.session = String(body.session.session_id)
  writeFileSync(at('src/a.ts'), lines({}))
  writeFileSync(at('old.txt'), 'moves\n')
  provider.push(
    { toolCalls: [call('c0', 'read_file', { path: 'src/a.ts' })] },
    {
      toolCalls: [
        call('c1', 'write_file', { path: 'src/a.ts', content: lines({ 3: '1', 25: '2' }) }),
        call('c2', 'terminal', { command: 'mv old.txt new.txt; printf "\\0\\1" > data.bin' }),
        call('c3', 'terminal', { command: 'ls nowhere-at-all' }),
      ],
    },
    { text: 'Changed.' },
  )
  await world.chat.turn(world.session, 'Change the values')
})

test.after(async () => {
  for (const page of opened) await page.close()
  await world.chat.close()
})

test('the lines of steps and the end line name files and failures; a diff opens; a hunk and the turn are undone and come back', async () => {
  const { page, axe, problems } = await show()
  const line = summary(page).getByRole('button', { expanded: false })
  await line.getByText('3 files changed').waitFor()
  // Nothing is said twice: what failed is in the words of the steps.
  const words = page.locator('.act-words', { hasText: 'ls nowhere-at-all' })
  assert.match(
    (await words.textContent()) ?? '',
    /^Read a\.ts · wrote a\.ts · ran mv old\.txt.*ls nowhere-at-all\s*2exit 2$/,
  )
  assert.not.match((await summary(page).textContent()) ?? '', /nowhere|step/)
  await line.press('Enter')
  assert.match((await summary(page).textContent()) ?? '', /data\.binbinary/)
  await summary(page).getByRole('button', { name: 'a.ts src', exact: true }).press('Enter')
  const second = hunk(page, 'Lines 22–28')
  await second.waitFor()
  assert.equal(await axe(), [])

  // The lines changed since: nothing is overwritten.
  const mine = lines({ 3: '1', 25: '7' })
  writeFileSync(at('src/a.ts'), mine)
  await second.getByRole('button', { name: /^Undo/ }).click()
  await page.getByText('These lines of src/a.ts have changed since.').waitFor()
  assert.is(readFileSync(at('src/a.ts'), 'utf8'), mine)

  await hunk(page, 'Lines 1–6').getByRole('button', { name: /^Undo/ }).click()
  await summary(page).getByText('Partly undone').waitFor()
  assert.is(readFileSync(at('src/a.ts'), 'utf8'), lines({ 25: '7' }))
  // Nothing of it is left to undo.
  const undoFirst = hunk(page, 'Lines 1–6').getByRole('button', { name: /^Undo/ })
  await undoFirst.waitFor({ state: 'detached' })
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).last().click()
  await summary(page).getByText('Partly undone').waitFor({ state: 'detached' })
  await undoFirst.waitFor()
  assert.is(readFileSync(at('src/a.ts'), 'utf8'), mine)

  writeFileSync(at('src/a.ts'), lines({ 3: '1', 25: '2' }))
  await page.getByRole('button', { name: 'Undo the changes of this answer' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Undo changes' }).click()
  await summary(page).getByText('Undone', { exact: true }).waitFor()
  assert.is(readFileSync(at('src/a.ts'), 'utf8'), lines({}))
  assert.equal([existsSync(at('data.bin')), existsSync(at('old.txt'))], [false, true])
  await page.getByRole('button', { name: 'Redo the changes of this answer' }).click()
  await summary(page).getByText('Undone', { exact: true }).waitFor({ state: 'detached' })
  assert.is(readFileSync(at('src/a.ts'), 'utf8'), lines({ 3: '1', 25: '2' }))
  assert.equal(
    problems.filter(text => !/status of 409/.test(text)),
    [],
  )
})

test('comments on lines are kept in the draft, and become the next message, by keyboard', async () => {
  const { app, provider } = world.chat
  const bad = { session_id: world.session, comments: [{ path: '', from: 0 }] }
  assert.is((await app.post('/api/session/draft', bad)).status, 400)
  const [{ page }] = opened as [TestPage]
  const first = hunk(page, 'Lines 1–6')
  await first.getByRole('button', { name: /^Comment/ }).press('Enter')
  const field = page.locator('.review-form textarea:focus')
  await field.waitFor()
  await page.keyboard.type('Nothing')
  await page.keyboard.press('Escape')
  await page.locator('.review-form').waitFor({ state: 'detached' })
  await first.getByRole('button', { name: /^Comment/ }).press('Enter')
  await field.waitFor()
  await page.keyboard.type('Read it from the settings')
  await page.getByLabel('From line').selectOption({ label: '2' })
  await page.getByLabel('To line').press('Control+Enter')
  const second = hunk(page, 'Lines 22–28')
  await second.locator('.diff-added').click({ position: { x: 16, y: 8 } })
  await field.waitFor()
  await page.keyboard.type('Why 2?')
  const drafted = page.waitForResponse(
    reply =>
      reply.url().includes('/api/session/draft') &&
      (reply.request().postData() ?? '').includes('Why 2?'),
  )
  await page.getByRole('button', { name: 'Add comment' }).click()
  await drafted
  await page.reload()
  const chips = page.locator('.review-chip')
  await chips.nth(1).waitFor()
  assert.match((await chips.first().textContent()) ?? '', 'a.ts, lines 2–3')

  provider.push({ text: 'Fixed.' })
  await page.locator('#composer').press('Enter')
  await page.getByText('Fixed.').first().waitFor()
  assert.match(JSON.stringify(provider.requests.at(-1)?.body.messages), 'Why 2?')
  const sent = (await world.chat.messages(world.session)).at(-2)?.content
  assert.is(
    sent,
    `[Comment on src/a.ts, lines 2-3]
>  const v2 = 0
> -const v3 = 0${WIDE}
> +const v3 = 1${WIDE}

Read it from the settings
[End of comment]

[Comment on src/a.ts, line 25]
> +const v25 = 2

Why 2?
[End of comment]`,
  )
  const shown = page.getByRole('list', { name: 'Comments' })
  assert.match((await shown.textContent()) ?? '', 'Read it from the settings')
  assert.not.match((await page.locator('main').textContent()) ?? '', 'End of comment')
  await chips.first().waitFor({ state: 'detached' })
})

test('on a phone the diff opens in a sheet, a tap picks a line, and a comment can be removed', async () => {
  const { page, axe, problems } = await show({
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  })
  const quote = page.locator('.review-quote').first()
  await quote.waitFor()
  const { x, width: wide } = (await quote.boundingBox())!
  assert.ok(x + wide <= 390)
  const line = summary(page).getByRole('button', { expanded: false })
  await line.getByText('3 files changed').waitFor()
  const cut = await page
    .locator('.turn-sum-parts *, .chip-value')
    .evaluateAll(all =>
      all
        .filter(
          each =>
            each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== 'inline',
        )
        .map(each => each.textContent),
    )
  assert.equal(cut, [])
  await line.tap()
  await summary(page).getByRole('button', { name: 'a.ts src', exact: true }).tap()
  const sheet = page.getByRole('dialog', { name: 'Workspace' })
  await hunk(page, 'Lines 22–28').locator('.diff-added').waitFor()
  const signs = await hunk(page, 'Lines 22–28')
    .locator('.diff-removed, .diff-added')
    .evaluateAll(all => all.map(each => getComputedStyle(each, '::before').content))
  assert.match(signs.join(' '), /−.*\+/)
  await hunk(page, 'Lines 22–28').locator('.diff-added').tap()
  await sheet.locator('textarea').fill('On the phone')
  const width = () => document.documentElement.scrollWidth
  assert.is(await page.evaluate(width), 390)
  assert.equal(await axe(), [])
  await sheet.getByRole('button', { name: 'Add comment' }).tap()
  await page.getByText('Added to your next message').waitFor()
  await page.keyboard.press('Escape')
  const chip = page.locator('.review-chip')
  await chip.waitFor()
  assert.equal(await axe(), [])
  assert.is(await page.evaluate(width), 390)
  await chip.getByRole('button', { name: /^Remove/ }).tap()
  await chip.waitFor({ state: 'detached' })
  assert.equal(problems, [])
})

test.run()
