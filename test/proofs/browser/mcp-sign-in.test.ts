/** The sign-in to an MCP server on the page: in a tab that closes itself; on a phone in the same tab. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'
import { startProtected } from '../../lib/mcp/_protected-server.ts'

const test = suite('mcp sign-in on the page')

test('signs in and out in a second tab, and returns to the settings on a phone', async () => {
  const server = await startProtected()
  const app = await startApp()
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({ mcp_servers: { p: { url: server.url, auth: 'oauth' } } }),
  )
  // For the browser another site than the authorization server, which is at 127.0.0.1.
  const url = `${app.url.replace('127.0.0.1', 'localhost')}/settings/mcp`
  const desktop = await openPage(url)
  try {
    const { page } = desktop
    const [tab] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('button', { name: 'Sign in' }).click(),
    ])
    if (!tab.isClosed()) await tab.waitForEvent('close')
    const signOut = page.getByRole('button', { name: 'Sign out' })
    await signOut.waitFor()
    assert.equal([await desktop.axe(), desktop.problems], [[], []])
    await signOut.click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  } finally {
    await desktop.close()
  }

  server.state.denies = true
  const viewport = { width: 390, height: 844 }
  const phone = await openPage(url, { viewport, hasTouch: true, isMobile: true })
  try {
    const { page } = phone
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The sign-in was canceled or denied.').waitFor()
    assert.is(page.url(), url)
    assert.equal(await phone.axe(), [])
    assert.is(await page.evaluate(() => document.documentElement.scrollWidth), viewport.width)
  } finally {
    await phone.close()
    await app.close()
    await server.close()
  }
})

test.run()
