/** Configuration problems: chats of a deleted profile and unsupported security settings. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'

const trouble = suite('page: configuration problems')

trouble(
  'a chat of a deleted profile shows a bar and is moved to the active profile with one click',
  async () => {
    const app = await startApp()
    try {
      await app.post('/api/profile/create', { name: 'gone' })
      const { session } = (await app.post('/api/session/new', { profile: 'gone' })).body
      const { session_id } = session
      await app.post('/api/session/rename', { session_id, title: 'Left behind' })
      assert.is((await app.post('/api/profile/delete', { name: 'gone' })).status, 200)
      const { page } = await openPage(`${app.url}/session/${session_id}`)
      const bar = page.locator('.trouble')
      await bar.getByText('“gone”').waitFor()
      await bar.getByRole('button').click()
      await bar.waitFor({ state: 'detached' })
      const after = await app.get(`/api/session?session_id=${session_id}`)
      assert.is(after.body.session.profile, 'default')
      await page.reload()
      await page.getByText('Left behind').first().waitFor()
      assert.is(await bar.count(), 0)
    } finally {
      await app.close()
    }
  },
)

trouble('an unsupported security setting is listed, accepted and revoked', async () => {
  const app = await startApp()
  try {
    writeFileSync(join(app.home, 'config.yaml'), 'terminal:\n  backend: modal\n')
    const at = await openPage(app.url, { viewport: { width: 390, height: 844 } })
    const { page } = at
    const bar = page.locator('.trouble')
    await bar.getByRole('link', { name: 'Review' }).click()
    const list = page.getByRole('region', { name: 'Safety' })
    await list.getByText('terminal.backend: modal').waitFor()
    assert.match((await list.textContent()) ?? '', 'Blocked: commands and scripts.')
    assert.equal(await at.axe(), [])
    await list.getByRole('button', { name: 'Accept value: terminal.backend' }).click()
    const stop = list.getByRole('button', { name: 'Stop accepting: terminal.backend' })
    await stop.waitFor()
    await bar.waitFor({ state: 'detached' })
    assert.match((await list.textContent()) ?? '', 'Allowed without this safeguard')
    assert.equal(await at.axe(), [])
    await stop.click()
    await bar.waitFor()
    assert.equal(at.problems, [])
    await at.close()
  } finally {
    await app.close()
  }
})

trouble.run()
