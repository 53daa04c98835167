/** The ten flows that a person would miss first, in a real browser. Everything else about the page is in `proofs/browser`. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from './_app.ts'
import { openPage, type TestPage } from './_browser.ts'
import { startChat } from './handlers/_chat.ts'
import { createNetwork, waitingIn, write } from './_network.ts'
import { gate } from './_provider.ts'

type World = { chat: Awaited<ReturnType<typeof startChat>>; opened: TestPage[] }

const test = suite<World>('flows')

test.before(async world => {
  world.chat = await startChat()
  world.opened = []
})
test.after(({ chat }) => chat.close())
/** `expected`: what the browser reports in this flow, such as requests that were refused. */
const flow = (name: string, run: (world: World) => Promise<void>, expected = /^$/) =>
  test(name, async world => {
    try {
      await run(world)
      const problems = world.opened.flatMap(each => each.problems)
      assert.equal(
        problems.filter(text => !expected.test(text)),
        [],
      )
    } finally {
      for (const each of world.opened.splice(0)) await each.close()
    }
  })

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

/** Opens a session that has a title, so that no title is requested from the model. */
const openChat = async (
  { chat, opened }: World,
  options: BrowserContextOptions & { base?: string; title?: string } = {},
): Promise<{ page: Page; id: string; at: TestPage }> => {
  const { base = chat.app.url, title = 'Named', ...context } = options
  const id = await chat.newSession()
  await chat.app.post('/api/session/rename', { session_id: id, title })
  const at = await openPage(`${base}/session/${id}`, context)
  opened.push(at)
  await at.page.locator('#composer').waitFor()
  return { page: at.page, id, at }
}
const sendButton = (page: Page) => page.getByRole('button', { name: 'Send' })
const contents = async ({ chat }: World, id: string) =>
  (await chat.messages(id)).map(({ role, content }) => `${role}: ${content}`)
const call = (name: string, args: object) => ({ id: 'c1', name, arguments: { ...args } })

flow(
  'a first message: the answer streams in as Markdown, the tool wrote the file, axe finds nothing',
  async world => {
    const { page, id, at } = await openChat(world)
    const rest = gate()
    world.chat.provider.push(
      { toolCalls: [call('write_file', { path: 'notes.txt', content: 'hello' })] },
      { text: ['I wrote **one', ' file**.'], middle: rest.opened },
    )
    await write(page, 'write a note')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    rest.open()
    await page.locator('strong', { hasText: 'one file' }).waitFor()
    await sendButton(page).waitFor()
    const { body } = await world.chat.app.get(`/api/session?session_id=${id}`)
    assert.is(readFileSync(join(body.session.workspace, 'notes.txt'), 'utf8'), 'hello')
    assert.equal(await at.axe(), [])
  },
)

flow(
  'a command that could destroy waits: the question survives a reload, Deny keeps the files, Allow runs it',
  async world => {
    const { page, id } = await openChat(world)
    const { body } = await world.chat.app.get(`/api/session?session_id=${id}`)
    const victim = join(body.session.workspace, 'victim')
    mkdirSync(victim, { recursive: true })
    const remove = { toolCalls: [call('terminal', { command: 'rm -rf victim' })] }
    world.chat.provider.push(remove, { text: 'It stays.' }, remove, { text: 'It is gone.' })
    await write(page, 'remove it')
    await page.getByText('Approval needed').waitFor()
    await page.reload()
    await page.getByRole('button', { name: /Deny/ }).click()
    await page.getByText('It stays.').waitFor()
    assert.ok(existsSync(victim))
    await sendButton(page).waitFor()
    await write(page, 'remove it after all')
    await page.getByText('Approval needed').waitFor()
    await page
      .getByRole('button', { name: /^Allow/ })
      .first()
      .click()
    await page.getByText('It is gone.').waitFor()
    assert.not.ok(existsSync(victim))
  },
)

flow('a reload in the middle of an answer continues it; Stop keeps what was there', async world => {
  const { page, id } = await openChat(world)
  world.chat.provider.push({ text: ['The beginning. ', 'The end.'], middle: new Promise(() => {}) })
  await write(page, 'tell me')
  await page.getByText('The beginning.').waitFor()
  await page.reload()
  await page.getByText('The beginning.').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await sendButton(page).waitFor()
  await page.getByText('The beginning.').waitFor()
  assert.match((await contents(world, id)).join('\n'), 'assistant: The beginning.')
})

flow(
  'another chat is opened while one answers: the answer and the draft stay where they belong',
  async world => {
    const { page, id } = await openChat(world, { title: 'First chat' })
    const other = await world.chat.newSession()
    await world.chat.app.post('/api/session/rename', { session_id: other, title: 'Second chat' })
    const rest = gate()
    world.chat.provider.push({ text: ['Begun. ', 'Done here.'], middle: rest.opened })
    await write(page, 'work')
    await page.getByText('Begun.').waitFor()
    const saved = page.waitForResponse(reply => reply.url().endsWith('/api/session/draft'))
    await page.locator('#composer').fill('for the first')
    await saved
    await page.goto(`${world.chat.app.url}/session/${other}`)
    await page.locator('#composer').waitFor()
    assert.is(await page.locator('#composer').inputValue(), '')
    rest.open()
    await page
      .getByRole('link', { name: /First chat/ })
      .first()
      .click()
    await page.getByText('Done here.').waitFor()
    await page.waitForFunction(() => document.querySelector('textarea')?.value === 'for the first')
    assert.equal(await contents(world, id), ['user: work', 'assistant: Begun. Done here.'])
    assert.equal(await contents(world, other), [])
  },
)

flow(
  'without a connection a message waits, and is sent once when the connection is back',
  async world => {
    const network = await createNetwork(() => world.chat.app.url, '/agent')
    try {
      const { page, id } = await openChat(world, { base: network.url })
      world.chat.provider.push({ text: 'Have a good trip.' })
      await write(page, 'hello')
      await page.getByText('Have a good trip.').waitFor()
      await sendButton(page).waitFor()
      await network.cut()
      await write(page, 'written on the train')
      await waitingIn(page).filter({ hasText: 'written on the train' }).waitFor()
      world.chat.provider.push({ text: 'It arrived.' })
      await network.up()
      await page.getByText('It arrived.').waitFor()
      assert.equal((await contents(world, id)).slice(2), [
        'user: written on the train',
        'assistant: It arrived.',
      ])
    } finally {
      await network.cut()
    }
  },
  /ERR_|Failed to fetch/,
)

flow('a provider that refuses shows why; the message can be sent again', async world => {
  const { page, id } = await openChat(world)
  world.chat.provider.push({ status: 400, body: { error: { message: 'The tea is cold.' } } })
  await write(page, 'hello')
  await page.getByText('The tea is cold.').first().waitFor()
  await sendButton(page).waitFor()
  world.chat.provider.push({ text: 'Now it works.' })
  await page
    .getByRole('button', { name: /^(Retry|Try again)/ })
    .first()
    .click()
  await page.getByText('Now it works.').waitFor()
  const users = (await contents(world, id)).filter(text => text.startsWith('user'))
  assert.equal(users, ['user: hello'])
})

flow('a file of the workspace is opened, changed and saved', async world => {
  const { page, id } = await openChat(world)
  const { body } = await world.chat.app.get(`/api/session?session_id=${id}`)
  const path = join(body.session.workspace, 'plan.txt')
  writeFileSync(path, 'first line\n')
  await page.keyboard.press('Control+Shift+E')
  await page.getByRole('treeitem', { name: 'plan.txt' }).click()
  await page.locator('.preview').getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByRole('textbox', { name: 'Editor for plan.txt' }).waitFor()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('second line')
  await page.locator('.preview-dirty').waitFor()
  await page.keyboard.press('Control+s')
  await page.locator('.preview-state', { hasText: 'Saved' }).waitFor()
  assert.is(readFileSync(path, 'utf8'), 'first line\nsecond line')
})

flow('a chat is found by its words, renamed, and deleted', async world => {
  const { page, id } = await openChat(world, { title: 'Groceries' })
  world.chat.provider.push({ text: 'Buy marzipan.' })
  await write(page, 'what do I need?')
  await page.getByText('Buy marzipan.').waitFor()
  await sendButton(page).waitFor()
  await page.keyboard.press('Control+k')
  await page.locator('.dialog-palette input').fill('marzipan')
  await page
    .getByRole('option', { name: /Groceries/ })
    .first()
    .waitFor()
  await page.keyboard.press('Escape')
  await world.chat.app.post('/api/session/rename', { session_id: id, title: 'Sweets' })
  await page
    .getByRole('link', { name: /Sweets/ })
    .first()
    .waitFor()
  await world.chat.app.post('/api/session/delete', { session_id: id })
  await page
    .getByRole('link', { name: /Sweets/ })
    .first()
    .waitFor({ state: 'detached' })
})

flow(
  'with a password: a wrong one is refused, the right one opens the page that was asked for',
  async world => {
    await using app = await startApp({ env: { AGENT_WEBUI_PASSWORD: 'correct horse' } })
    const at = await openPage(`${app.url}/settings/appearance`)
    world.opened.push(at)
    await at.page.locator('#pw').fill('wrong')
    await at.page.keyboard.press('Enter')
    await at.page.getByRole('alert').filter({ hasText: /\w/ }).waitFor()
    await at.page.locator('#pw').fill('correct horse')
    await at.page.keyboard.press('Enter')
    const saved = at.page.waitForResponse(reply => reply.request().method() === 'POST')
    await at.page.getByText('Nord', { exact: true }).click()
    await at.page.locator('html[data-theme="nord"]').waitFor()
    assert.is((await saved).status(), 200)
    await at.page.reload()
    await at.page.locator('html[data-theme="nord"]').waitFor()
  },
  /status of 401/,
)

flow(
  'on a phone: the chats open and close, a message is sent, nothing scrolls sideways',
  async world => {
    const { page, at } = await openChat(world, { ...PHONE, title: 'On the way' })
    world.chat.provider.push({ text: `A ${'very '.repeat(40)}wide \`${'word'.repeat(60)}\`.` })
    await page.locator('#composer').fill('hello')
    await sendButton(page).click()
    await page.getByText(/wide/).last().waitFor()
    const overflow = () =>
      document.documentElement.scrollWidth - document.documentElement.clientWidth
    assert.is(await page.evaluate(overflow), 0)
    await page
      .getByRole('button', { name: /sidebar|chats|menu/i })
      .first()
      .click()
    await page
      .getByRole('link', { name: /On the way/ })
      .first()
      .waitFor()
    assert.is(await page.evaluate(overflow), 0)
    assert.equal(await at.axe(), [])
  },
)

test.run()
