/** Pairing a phone, passkeys and two-step sign-in in real browsers, with the virtual authenticator of Chromium. */
import jsQrModule from 'jsqr'
import type { Locator, Page } from 'playwright-core'
import { TOTP } from 'otpauth'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { addAuthenticator } from '../../_authenticator.ts'
import { openPage, type TestPage } from '../../_browser.ts'

/** A CommonJS module, whose types describe its default export as a namespace. */
const jsQr = jsQrModule as unknown as (typeof jsQrModule)['default']

const PASSWORD = 'correct horse'
const ORIGIN = 'https://agent.example.net'

const test = suite<{ app: TestApp; root: string; desktop: TestPage }>('identity in the page')

const shot = async (page: Page, name: string) => {
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}-${name}.png` })
}

test.before(async context => {
  const env = { AGENT_WEBUI_PASSWORD: PASSWORD, AGENT_WEBUI_ALLOWED_ORIGINS: ORIGIN }
  context.app = await startApp({ env })
  // Passkeys need a host name.
  context.root = context.app.url.replace('127.0.0.1', 'localhost')
  context.desktop = await openPage(`${context.root}/settings/security`)
  const { page } = context.desktop
  await page.locator('#pw').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Signed-in devices' }).waitFor()
})
test.after(async ({ app, desktop }) => {
  await desktop.close()
  await app.close()
})

/** The text of the QR code that the page shows. */
const readCode = async (page: Page): Promise<string> => {
  const code = page.locator('.qr-code')
  await code.waitFor()
  const png = (await code.screenshot()).toString('base64')
  const { data, width, height } = await page.evaluate(async source => {
    const image = new Image()
    image.src = `data:image/png;base64,${source}`
    await image.decode()
    const canvas = document.createElement('canvas')
    const { naturalWidth, naturalHeight } = image
    canvas.width = naturalWidth
    canvas.height = naturalHeight
    const draw = canvas.getContext('2d')!
    draw.drawImage(image, 0, 0)
    const pixels = draw.getImageData(0, 0, naturalWidth, naturalHeight)
    return { data: [...pixels.data], width: naturalWidth, height: naturalHeight }
  }, png)
  return jsQr(Uint8ClampedArray.from(data), width, height)?.data ?? ''
}

test('a phone that scans the code is signed in, and listed at once', async ({ root, desktop }) => {
  const { page } = desktop
  await page.getByRole('button', { name: 'Pair another device' }).click()
  const link = new URL(await readCode(page))
  assert.is(link.origin, ORIGIN)
  assert.match(link.hash, /^#pair=[\w-]{27}$/)
  assert.equal(await desktop.axe(), [])
  await shot(page, 'pair')
  const address = `${root}/login${link.hash}`
  const phone = await openPage(address, { viewport: { width: 390, height: 844 } })
  assert.is(phone.page.url(), `${root}/login`)
  assert.equal(await phone.axe(), [])
  await phone.page.getByLabel('Device name').fill('My phone')
  await shot(phone.page, 'phone')
  await phone.page.getByRole('button', { name: 'Pair this device' }).click()
  await phone.page.locator('#composer').waitFor()
  await page.getByText('My phone is paired.').waitFor()
  await shot(page, 'paired')
  await page.getByRole('button', { name: 'Close' }).last().click()
  await page.getByText('My phone', { exact: true }).waitFor()
  await phone.page.goto('about:blank')
  await phone.page.goto(address)
  await phone.page.getByRole('button', { name: 'Pair this device' }).click()
  await phone.page.getByText('already used').waitFor()

  await page.getByRole('button', { name: 'Rename My phone' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Old phone')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Sign out Old phone' }).click()
  await page.getByText('Old phone', { exact: true }).waitFor({ state: 'detached' })
  await phone.page.goto(`${root}/tasks`)
  await phone.page.locator('#pw').waitFor()
  await phone.close()
})

test('a passkey signs in without the password, until it is deleted; a copied one is refused', async ({
  app,
  root,
  desktop,
}) => {
  const { page } = desktop
  const [cdp, authenticatorId] = await addAuthenticator(page)
  await page.getByRole('button', { name: 'Add passkey' }).click()
  await page.getByText('Passkey added', { exact: true }).first().waitFor()
  const keys = page.getByRole('region', { name: 'Passkeys' })
  await keys.getByRole('button', { name: /^Rename/ }).click()
  await page.getByLabel('Name', { exact: true }).fill('Key')
  await page.keyboard.press('Enter')
  await page.getByText('Key', { exact: true }).waitFor()
  assert.equal(await desktop.axe(), [])
  await shot(page, 'passkeys')
  await page.getByRole('button', { name: 'Add passkey' }).click()
  await page.getByText('already has a passkey').first().waitFor()

  const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
  const [credential] = credentials
  assert.ok(credential)
  const other = await openPage(`${root}/login`)
  const [otherCdp, otherId] = await addAuthenticator(other.page)
  const holdCopy = async (signCount: number) => {
    await otherCdp.send('WebAuthn.clearCredentials', { authenticatorId: otherId })
    await otherCdp.send('WebAuthn.addCredential', {
      authenticatorId: otherId,
      credential: { ...credential, signCount },
    })
    await other.page.goto(`${root}/login`)
  }
  /** The menu of the field may use it before the button; the one that does not happen fails when the page is closed. */
  const press = (button: Locator, done: Promise<void>) =>
    Promise.race([button.click(), done].map(each => each.catch(() => undefined)))
  const useCopy = async (signCount: number) => {
    await holdCopy(signCount)
    await press(
      other.page.getByRole('button', { name: 'Use a passkey' }),
      other.page.locator('#composer').waitFor(),
    )
  }
  const touch = (enabled: boolean) =>
    otherCdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId: otherId, enabled })
  await shot(other.page, 'login')
  await useCopy(100)
  await other.page.locator('#composer').waitFor()
  // The dialog of an expired sign-in offers it as well, and keeps the draft.
  await other.page.locator('#composer').fill('A draft')
  await touch(false)
  await page.evaluate(() =>
    fetch('api/auth/revoke', { method: 'POST', body: JSON.stringify({ others: true }) }),
  )
  const again = other.page.getByRole('dialog', { name: 'Sign in again' })
  const passkey = again.getByRole('button', { name: 'Use a passkey' })
  await passkey.waitFor()
  assert.equal(await other.axe(), [])
  await shot(other.page, 'again')
  await touch(true)
  await press(passkey, again.waitFor({ state: 'detached' }))
  await again.waitFor({ state: 'detached' })
  assert.is(await other.page.locator('#composer').inputValue(), 'A draft')
  await other.page.context().clearCookies()
  // The counter went backwards: a clone of the authenticator.
  await useCopy(5)
  await other.page.getByText('wasn’t accepted').waitFor()

  await page.getByRole('button', { name: 'Delete Key' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).last().click()
  await page.getByText('Passkey deleted').waitFor()
  await holdCopy(200)
  await other.page.locator('#pw').waitFor()
  assert.is(await other.page.locator('#passkey').isVisible(), false)
  assert.is((await app.post('/api/auth/passkey/options', {})).status, 400)
  await other.close()
})

test('codes are turned on with the password, asked for after it, and work once', async ({
  root,
  desktop,
}) => {
  const { page } = desktop
  await page.getByRole('button', { name: 'Ask for a code after the password' }).click()
  await page.getByLabel('Password', { exact: true }).fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByText('Incorrect password.').waitFor()
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.keyboard.press('Enter')
  const uri = await readCode(page)
  assert.match(uri, /^otpauth:\/\/totp\//)
  assert.equal(await desktop.axe(), [])
  await shot(page, 'codes')
  const secret = new URL(uri).searchParams.get('secret') ?? ''
  const generator = new TOTP({ secret })
  await page.getByLabel('Code', { exact: true }).fill(generator.generate())
  await page.keyboard.press('Enter')
  await page.getByText('Keep these somewhere safe').waitFor()
  const [recovery = ''] = await page.locator('.codes-recovery li').allTextContents()
  assert.match(recovery, /^[a-z0-9]{5}-[a-z0-9]{5}$/)
  assert.equal(await desktop.axe(), [])
  await shot(page, 'recovery')
  await page.getByRole('button', { name: 'I’ve saved them' }).click()
  await page.getByText('10 codes left').waitFor()

  await page.reload()
  await page.getByText('Two-step sign-in turned on', { exact: true }).scrollIntoViewIfNeeded()
  await shot(page, 'activity')
  await page.getByLabel('Show', { exact: true }).selectOption('Approvals')
  await page.getByText('Nothing yet').waitFor()

  const other = await openPage(`${root}/login`)
  await other.page.locator('#pw').fill(PASSWORD)
  await other.page.keyboard.press('Enter')
  await other.page.getByLabel('Code').fill('000000')
  await shot(other.page, 'login-code')
  assert.equal(await other.axe(), [])
  await other.page.keyboard.press('Enter')
  await other.page.getByText('Incorrect code.').waitFor()
  await other.page.getByLabel('Code').fill(recovery)
  await other.page.keyboard.press('Enter')
  await other.page.locator('#composer').waitFor()
  await other.close()
})

test.run()
