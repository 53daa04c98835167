/** Signing in with a provider in a real browser: linking the account, the sign-in page, and the dialog of an expired sign-in. */
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'
import { CLIENT, startProvider, type TestProvider } from '../../_oidc-provider.ts'

const PASSWORD = 'correct horse'

const test = suite<{ app: TestApp; provider: TestProvider }>('single sign-on in the page')

const shot = async (page: Page, name: string) => {
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}-${name}.png` })
}

test.before(async context => {
  context.provider = await startProvider(() => [`${context.app.url}/api/auth/oidc/callback`])
  context.provider.signInAs({ sub: '7', name: 'Ada Lovelace', email: 'ada@example.com' })
  context.app = await startApp({
    env: {
      AGENT_WEBUI_PASSWORD: PASSWORD,
      AGENT_WEBUI_OIDC_ISSUER: context.provider.issuer,
      AGENT_WEBUI_OIDC_CLIENT_ID: CLIENT.id,
      AGENT_WEBUI_OIDC_CLIENT_SECRET: CLIENT.secret,
      AGENT_WEBUI_OIDC_NAME: 'Example ID',
    },
  })
})
test.after(async ({ app, provider }) => {
  await app.close()
  await provider.close()
})

test('the owner links an account, signs out, signs in with it at the wanted page, and again from the dialog', async ({
  app,
}) => {
  const { page, axe, close } = await openPage(`${app.url}/settings/security`)
  const button = page.getByRole('button', { name: 'Sign in with Example ID' })
  await button.click()
  await page.getByText('This account has no access here.').waitFor()
  assert.equal(await axe(), [])
  await shot(page, 'login')
  await page.locator('#pw').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Link Example ID' }).click()
  await page.getByText('Ada Lovelace', { exact: true }).waitFor()
  assert.equal(await axe(), [])
  await shot(page, 'linked')

  await page.context().clearCookies()
  await page.goto(`${app.url}/settings/usage`)
  await button.click()
  await page.waitForURL(`${app.url}/settings/usage`)

  // Signed out elsewhere: the page stays as it is, another tab signs in.
  await page.goto(`${app.url}/settings/security`)
  await page.getByText('Ada Lovelace', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Remove Ada Lovelace' }).click()
  const remove = page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true })
  await remove.waitFor()
  await page.context().clearCookies()
  // Without the pointer: a request of the page itself may have opened the dialog already, above this one.
  await remove.dispatchEvent('click')
  await button.waitFor()
  await shot(page, 'dialog')
  const [tab] = await Promise.all([page.waitForEvent('popup'), button.click()])
  await tab.waitForEvent('close')
  await page.getByText('Account removed').waitFor()
  await close()
})

test.run()
