/** What a person does in one chat stays there, in a real browser: requests are held or refused while another chat is opened. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page, Route } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPage, type TestPage } from '../../_browser.ts'
import { startChat } from '../../handlers/_chat.ts'

type World = { chat: Awaited<ReturnType<typeof startChat>>; opened: TestPage[] }
const test = suite<World>('chats stay apart')

test.before(async world => {
  world.chat = await startChat()
  world.chat.provider.otherwise = () => ({ text: 'An answer.' })
  world.opened = []
})
test.after(({ chat }) => chat.close())
test.after.each(async ({ chat, opened }) => {
  for (const each of opened.splice(0)) await each.close()
  // The next test finds its chats by their names.
  const { sessions } = (await chat.app.get('/api/sessions')).body
  for (const { session_id } of sessions)
    await chat.app.post('/api/session/delete', { session_id, permanent: true })
})

/** Two chats with a turn each; the first one is open, and the second has a draft. */
const openTwo = async ({ chat, opened }: World) => {
  const ids: string[] = []
  for (const title of ['Alpha', 'Beta']) {
    const id = await chat.newSession()
    await chat.app.post('/api/session/rename', { session_id: id, title })
    await chat.follow(await chat.send(id, `question for ${title}`))
    ids.push(id)
  }
  const [a, b] = ids as [string, string]
  await chat.app.post('/api/session/draft', { session_id: b, text: 'half of Beta' })
  const at = await openPage(`${chat.app.url}/session/${a}`)
  opened.push(at)
  const { page } = at
  await page.getByText('question for Alpha').first().waitFor()
  return { a, b, page }
}

const open = async (page: Page, name: string): Promise<void> => {
  await page.locator('.sidebar').getByRole('link', { name }).first().click()
  await page.locator('.head h1', { hasText: name }).waitFor()
}
const openBeta = async (page: Page): Promise<void> => {
  await open(page, 'Beta')
  await page.getByText('question for Beta').first().waitFor()
}
const files = (...names: string[]) =>
  names.map(name => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) }))
const attach = (page: Page, ...names: string[]) =>
  page.locator('.composer .attach-input').setInputFiles(files(...names))
const chips = (page: Page) => page.locator('.composer .file-name').allInnerTexts()
/** Holds the first request to this path; `route` resolves when it has been made. */
const holding = async (page: Page, path: string) => {
  const held = Promise.withResolvers<Route>()
  await page.route(
    url => url.pathname.endsWith(`/api/${path}`),
    route => held.resolve(route),
    {
      times: 1,
    },
  )
  return { route: held.promise }
}
const texts = async ({ chat }: World, id: string): Promise<string[]> =>
  (await chat.messages(id)).map(({ role, content }) => `${role}: ${content}`)
const BETA = ['user: question for Beta', 'assistant: An answer.']

const edit = async (page: Page, text: string) => {
  await page.locator('.user').first().hover()
  await page.getByRole('button', { name: 'Edit' }).first().click()
  await page.getByRole('textbox', { name: 'Edit message' }).fill(text)
  await page.getByRole('button', { name: 'Resend' }).click()
}

test('an edited message starts in its own chat, and both versions can be shown, also after a reload', async world => {
  const { a, b, page } = await openTwo(world)
  const { route } = await holding(page, 'chat/start')
  await edit(page, 'EDITED question')
  const held = await route
  await openBeta(page)
  await held.continue()
  await open(page, 'Alpha')
  await page.getByText('EDITED question').waitFor()
  await page.getByText('2/2').waitFor()
  assert.equal(await texts(world, b), BETA)
  await page.getByRole('button', { name: 'Previous version' }).click()
  await page.getByText('question for Alpha').waitFor()
  await page.reload()
  await page.getByText('1/2').waitFor()
  assert.is((await texts(world, a))[0], 'user: question for Alpha')
  await page.getByRole('button', { name: 'Next version' }).click()
  await page.getByText('EDITED question').waitFor()
})

test('of two chats side by side, a dropped file goes to the one under the pointer', async world => {
  const { a, b, page } = await openTwo(world)
  await page.goto(`${world.chat.app.url}/session/${a}?beside=${b}`)
  const right = page.locator('.side-second')
  await right.getByText('question for Beta').first().waitFor()
  const data = await page.evaluateHandle(() => {
    const transfer = new DataTransfer()
    transfer.items.add(new File(['x'], 'dropped.txt', { type: 'text/plain' }))
    return transfer
  })
  const target = right.locator('.chat-body')
  for (const type of ['dragenter', 'dragover', 'drop'])
    await target.dispatchEvent(type, { dataTransfer: data })
  await right.locator('.file-name', { hasText: 'dropped.txt' }).waitFor()
  assert.is(await page.locator('.side:not(.side-second) .file-name').count(), 0)
})

test('a draft that is only a file stays, and a message of another device does not erase a draft', async world => {
  const { a, page } = await openTwo(world)
  const saved = page.waitForResponse('**/api/session/draft')
  await attach(page, 'contract.txt')
  await saved
  await page.reload()
  await page.locator('.composer .file-name', { hasText: 'contract.txt' }).waitFor()
  await world.chat.follow(await world.chat.send(a, 'from the phone'))
  await page.getByText('from the phone').first().waitFor()
  assert.equal(await chips(page), ['contract.txt'])
  await page.reload()
  await page.locator('.composer .file-name', { hasText: 'contract.txt' }).waitFor()
})

/** A repository with a remote and a hook that runs before a push. */
const createRepository = (work: string) => {
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
      cwd,
      encoding: 'utf8',
    }).trim()
  const remote = `${work}.git`
  mkdirSync(work)
  writeFileSync(join(work, 'app.ts'), 'one\n')
  git(work, 'init', '-q', '-b', 'main')
  git(work, 'add', '.')
  git(work, 'commit', '-qm', 'first')
  git(work, 'init', '-q', '--bare', remote)
  git(work, 'remote', 'add', 'origin', remote)
  const hook = join(work, '.git/hooks/pre-push')
  mkdirSync(join(hook, '..'), { recursive: true })
  writeFileSync(hook, '#!/bin/sh\nexit 0\n')
  chmodSync(hook, 0o755)
  return { work, pushed: () => git(remote, 'branch', '--format=%(refname:short)') }
}

test('a question about hooks waits in its own chat, and pushes the repository of that chat', async world => {
  const { app } = world.chat
  const alpha = createRepository(join(app.userHome, 'alpha'))
  const beta = createRepository(join(app.userHome, 'beta'))
  const { a, b, page } = await openTwo(world)
  await app.post('/api/session/update', { session_id: a, workspace: alpha.work })
  await app.post('/api/session/update', { session_id: b, workspace: beta.work })
  await page.reload()
  await openBeta(page)
  await page.keyboard.press('Control+Shift+E')
  await page.getByRole('tab', { name: 'Changes' }).click()
  const tools = page.getByRole('button', { name: 'More Git actions' })
  await tools.waitFor()
  await open(page, 'Alpha')
  await page.getByRole('tab', { name: 'Changes' }).click()
  const { route } = await holding(page, 'git/push')
  await tools.click()
  await page.getByRole('menuitem', { name: 'Push' }).click()
  const held = await route
  const question = page.getByRole('heading', { name: 'Run the repository’s hooks?' })
  await openBeta(page)
  await tools.waitFor()
  const asked = page.waitForResponse('**/api/git/push')
  await held.continue()
  assert.is((await asked).status(), 409)
  assert.is(await question.count(), 0)
  await open(page, 'Alpha')
  await question.waitFor()
  await page.goBack()
  await question.waitFor({ state: 'detached' })
  await page.getByText('question for Beta').first().waitFor()
  assert.equal([alpha.pushed(), beta.pushed()], ['', ''])
  await page.goForward()
  await page.getByRole('button', { name: 'Continue without hooks' }).click()
  await page.getByText('Pushed', { exact: true }).waitFor()
  assert.equal([alpha.pushed(), beta.pushed()], ['main', ''])
})

test.run()
