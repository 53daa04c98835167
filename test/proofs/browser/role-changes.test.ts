/** Pages that are open while an owner changes what their person may do, and what people choose for themselves. */
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { openPage, type TestPage } from '../../_browser.ts'
import { PASSWORD, setPerson, signIn } from '../../_people.ts'

type Context = {
  app: TestApp
  owner: { headers: { cookie: string } }
  chat: string
  mia: TestPage
}

const test = suite<Context>('changed roles in open pages')

test.before(async context => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['team', 'other'] })
  const owner = await signIn(app)
  const create = (name: string) => app.post('/api/profile/create', { name }, owner)
  await create('team')
  await create('other')
  const headers = { cookie: `${owner.headers.cookie}; agent_profile=team` }
  const messages = [{ role: 'user', content: 'Hello' }]
  const made = await app.post('/api/session/import', { title: 'Greeting', messages }, { headers })
  Object.assign(context, { app, owner, chat: made.body.session.session_id })
  const mia = await openPage(`${app.url}/session/${context.chat}`)
  context.mia = mia
  await mia.page.locator('#person').fill('Mia')
  await mia.page.locator('#pw').fill('Mia password')
  await mia.page.keyboard.press('Enter')
  await mia.page.locator('#composer').waitFor()
})
test.after(async ({ app, mia }) => {
  await mia.close()
  await app.close()
})

const change = ({ app, owner }: Context, given: object) =>
  app.post('/api/people/change', { id: 'mia', ...given }, owner)

/** Set in the page, and gone after a reload. */
const mark = (page: Page) =>
  page.evaluate(() => {
    document.body.dataset.mark = 'same page'
  })
const isSamePage = (page: Page) => page.evaluate(() => document.body.dataset.mark === 'same page')

test('a refused change leaves the pages as they are', async context => {
  const { page } = context.mia
  const given = { id: 'mia', role: 'viewer' }
  const { status } = await page.evaluate(async body => {
    const { status } = await fetch('api/people/change', { method: 'POST', body })
    return { status }
  }, JSON.stringify(given))
  assert.is(status, 403)
  assert.ok(await page.locator('#composer').isVisible())
})

test('a demotion and a promotion show in every open tab without a reload, and a draft stays', async context => {
  const { page } = context.mia
  const settings = await page.context().newPage()
  await settings.goto(`${context.app.url}/settings/general`)
  await settings.getByRole('link', { name: 'Access' }).first().waitFor()
  assert.is(await settings.getByRole('link', { name: 'Permissions' }).count(), 0)
  await page.bringToFront()
  await page.locator('#composer').fill('A draft')
  for (const each of [page, settings]) await mark(each)

  await change(context, { role: 'viewer' })
  await page.locator('#composer').waitFor({ state: 'detached' })
  await page.locator('.chat-viewer').waitFor()
  await change(context, { role: 'member' })
  await page.locator('#composer').waitFor()
  assert.is(await page.locator('#composer').inputValue(), 'A draft')
  await change(context, { role: 'owner' })
  await settings.getByRole('link', { name: 'Permissions' }).first().waitFor()
  await settings.getByRole('link', { name: 'Models' }).first().waitFor()
  await change(context, { role: 'member', profiles: ['team', 'other'] })
  await settings.getByRole('link', { name: 'Permissions' }).first().waitFor({ state: 'detached' })
  for (const each of [page, settings]) assert.ok(await isSamePage(each))
  // The profile in which the page stays does not become that of the server.
  assert.is((await context.app.get('/api/profile/active', context.owner)).body.name, 'default')
  await settings.close()
})

test('a profile that is taken away goes with its chats, and comes back', async context => {
  const { page } = context.mia
  await page.getByText('Greeting').first().waitFor()
  await change(context, { profiles: ['other'] })
  await page.getByText('Greeting').first().waitFor({ state: 'detached' })
  await change(context, { profiles: ['team'] })
  await page.getByText('Greeting').first().waitFor()
})

test('a member chooses theme, size, and language; the owner and the server keep theirs', async context => {
  const { app, owner, mia } = context
  const { page } = mia
  await page.goto(`${app.url}/settings/appearance`)
  // The radio itself is not visible, its picture is.
  await page.getByText('Nord', { exact: true }).click()
  await page.locator('html[data-theme="nord"]').waitFor()
  await page.getByText('Large', { exact: true }).click()
  await page.locator('html[data-font-size="large"]').waitFor()
  await page.getByText('Saved').first().waitFor()
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}-appearance.png` })
  await page.goto(`${app.url}/settings/general`)
  await page.getByLabel('Language').selectOption('de')
  await page.locator('html[lang="de"][data-theme="nord"][data-font-size="large"]').waitFor()
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}-general.png` })
  const { body } = await app.get('/api/settings', owner)
  assert.equal([body.theme, body.font_size, body.language], ['dark', 'default', 'en'])
  assert.equal(await mia.axe(), [])
})

test.run()
