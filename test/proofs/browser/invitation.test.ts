/** Joining by an invitation in a real browser: with a password, a passkey, or the provider, and straight into the app. */
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { addAuthenticator } from '../../_authenticator.ts'
import { openPage } from '../../_browser.ts'
import { CLIENT, startProvider, type TestProvider } from '../../_oidc-provider.ts'
import { PASSWORD, peopleIn, signIn } from '../../_people.ts'

type Context = {
  app: TestApp
  provider: TestProvider
  root: string
  owner: { headers: { cookie: string } }
}

const test = suite<Context>('joining by an invitation')
const PHONE = { width: 390, height: 844 }

test.before(async context => {
  // Passkeys need a host name.
  const rootOf = ({ url }: TestApp) => url.replace('127.0.0.1', 'localhost')
  context.provider = await startProvider(() => [
    `${rootOf(context.app)}/api/auth/oidc/callback`,
    `${context.app.url}/api/auth/oidc/callback`,
  ])
  context.app = await startApp({
    env: {
      AGENT_WEBUI_PASSWORD: PASSWORD,
      AGENT_WEBUI_OIDC_ISSUER: context.provider.issuer,
      AGENT_WEBUI_OIDC_CLIENT_ID: CLIENT.id,
      AGENT_WEBUI_OIDC_CLIENT_SECRET: CLIENT.secret,
      AGENT_WEBUI_OIDC_NAME: 'Example ID',
    },
  })
  context.root = rootOf(context.app)
  context.owner = await signIn(context.app)
})
test.after(async ({ app, provider }) => {
  await app.close()
  await provider.close()
})

const invite = async ({ app, owner, root }: Context, name: string) => {
  const given = { name, role: 'member', profiles: ['default'] }
  const { code, id } = (await app.post('/api/people/invite', given, owner)).body
  return { link: `${root}/login#invite=${code}`, id }
}
const shot = async (page: Page, name: string) => {
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}-${name}.png` })
}
const nameIn = (page: Page) =>
  page.evaluate(async () => (await (await fetch('api/settings')).json()).person?.name)
const withPasskey = (page: Page) => page.getByRole('button', { name: 'Join with a passkey' })
const withProvider = (page: Page) => page.getByRole('button', { name: 'Join with Example ID' })

test('a code that was never given joins by no way', async ({ app, root }) => {
  const before = peopleIn(app).length
  const link = `${root}/login#invite=${'x'.repeat(27)}`
  const { page, close } = await openPage(link, { viewport: PHONE })
  await addAuthenticator(page)
  const problem = page.getByText('This invitation has expired or was already used.')
  for (const press of [
    () => withPasskey(page).click(),
    () => withProvider(page).click(),
    async () => {
      await page.getByLabel('New password').fill('long enough')
      await page.keyboard.press('Enter')
    },
  ]) {
    await press()
    await problem.waitFor()
    await page.goto('about:blank')
    await page.goto(link)
    await problem.waitFor({ state: 'detached' })
  }
  assert.is(peopleIn(app).length, Math.max(before, 1))
  await close()
})

test('a passkey joins without a password, signs in again, and the link is used up', async context => {
  const { link, id } = await invite(context, 'Nina')
  const { page, axe, close } = await openPage(link, { viewport: PHONE })
  await addAuthenticator(page)
  assert.is(page.url(), `${context.root}/login`)
  await page.getByText('Choose how you want to sign in.').waitFor()
  assert.equal(await axe(), [])
  await shot(page, 'join')
  // The connection is cut: the page says so, and the code still works.
  await page.route('**/accept/passkey', route => route.abort())
  await withPasskey(page).click()
  await page.getByText('Can’t reach the server.').waitFor()
  await page.unroute('**/accept/passkey')
  assert.equal(peopleIn(context.app).find(each => each.id === id)?.passkeys, [])
  // The reply is lost, or the page is loaded again: the code is still there.
  await page.reload()
  await page.getByText('Choose how you want to sign in.').waitFor()
  await withPasskey(page).click()
  await page.locator('#composer').waitFor()
  assert.is(await nameIn(page), 'Nina')
  await page.context().clearCookies()
  await page.goto(`${context.root}/login`)
  const button = page.getByRole('button', { name: 'Use a passkey' })
  const isIn = page.locator('#composer').waitFor()
  // The menu of the field may use it before the button.
  await Promise.race([button.click(), isIn].map(each => each.catch(() => undefined)))
  await isIn
  assert.is(await nameIn(page), 'Nina')
  await page.context().clearCookies()
  await page.goto('about:blank')
  await page.goto(link)
  await withProvider(page).click()
  await page.getByText('already used').waitFor()
  await close()
})

test('a person who cancels at the provider comes back to the invitation and joins with the account', async context => {
  const { app, provider } = context
  const { link, id } = await invite(context, 'Otto')
  const { page, close } = await openPage(link)
  provider.signInAs(null)
  await withProvider(page).click()
  await page.getByText('Example ID didn’t sign you in.').waitFor()
  await page.getByText('Choose how you want to sign in.').waitFor()
  await shot(page, 'cancelled')
  provider.signInAs({ sub: 'otto', name: 'Otto at work' })
  await withProvider(page).click()
  await page.locator('#composer').waitFor()
  assert.is(await nameIn(page), 'Otto')
  const otto = peopleIn(app).find(each => each.id === id)
  assert.equal([otto?.invitation, otto?.password], [null, null])
  await page.context().clearCookies()
  await page.goto(`${context.root}/settings/security`)
  await page.getByRole('button', { name: 'Sign in with Example ID' }).click()
  await page.getByText('Otto at work', { exact: true }).waitFor()

  // The account of one person joins no other.
  const second = await invite(context, 'Paul')
  await page.context().clearCookies()
  await page.goto(second.link)
  await withProvider(page).click()
  await page.getByText('Example ID didn’t sign you in.').waitFor()
  assert.ok(peopleIn(app).find(each => each.id === second.id)?.invitation)
  await page.getByLabel('New password').fill('paul secret')
  await page.keyboard.press('Enter')
  await page.locator('#composer').waitFor()
  assert.is(await nameIn(page), 'Paul')
  // Nothing of the invitation is left in the tab.
  await page.context().clearCookies()
  await page.goto(`${context.root}/login`)
  await page.reload()
  await page.getByLabel('Name', { exact: true }).waitFor()
  await close()
})

test('an address without a host name offers no passkey', async context => {
  const { link } = await invite(context, 'Quinn')
  const { page, close } = await openPage(link.replace(context.root, context.app.url))
  await withProvider(page).waitFor()
  assert.is(await withPasskey(page).count(), 0)
  await close()
})

test.run()
