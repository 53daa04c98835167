/** The installable app: manifest and service worker, before a sign-in and in the color of each theme. */
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { THEME_COLORS } from '../../lib/base/theme-color.ts'
import { startApp } from '../_app.ts'

const test = suite('installable app')

test('the colors of the manifest are those of the themes', () => {
  for (const [theme, color] of Object.entries(THEME_COLORS)) {
    const css = readFileSync(`public/style/themes/${theme}.css`, 'utf8')
    assert.is(/--bg: (#\w+);/.exec(css)?.[1], color, theme)
  }
})

test('manifest and worker need no sign-in, are never stale, and name only files that exist', async () => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: 'correct horse' } })
  try {
    assert.is((await app.get('/api/sessions')).status, 401)
    const manifest = await app.get('/manifest.webmanifest')
    assert.is(manifest.status, 200)
    assert.is(manifest.headers['cache-control'], 'no-cache')
    const { icons, share_target, ...addresses } = JSON.parse(manifest.text)
    for (const name of ['id', 'start_url', 'scope']) assert.is(addresses[name], './')
    assert.is(share_target.action, 'share-target')
    for (const { src } of icons) assert.is((await app.get(`/${src}`)).status, 200, src)

    const worker = await app.get('/sw.js')
    assert.is(worker.status, 200)
    assert.is(worker.headers['cache-control'], 'no-cache')
    assert.match(worker.headers['content-type'] ?? '', /javascript/)
    const list = /files: ?(\[[^\]]*\])/.exec(worker.text)?.[1] ?? ''
    const files: string[] = JSON.parse(list)
    assert.ok(files.length > 50, `${files.length}`)
    for (const file of files) assert.is((await app.get(`/${file}`)).status, 200, file)
  } finally {
    await app.close()
  }
})

test.run()
