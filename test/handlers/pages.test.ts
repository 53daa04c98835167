/** What the address bar opens: the shell with its base and theme, the login page, files; everything else is 404. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'

const pages = suite('pages')

const SHELL = [
  '/',
  '/index.html',
  '/session/abcdef012345',
  '/settings',
  '/settings/general',
  '/tasks',
  '/tasks/abc',
  '/skills',
  '/skills/deploy',
  '/skills?tab=commands&skill=review',
  '/memory',
  '/usage?days=7',
  '/profiles',
]

pages('the shell is served for its views only', async () => {
  const app = await startApp()
  try {
    for (const path of SHELL) {
      const { status, headers, text } = await app.get(path)
      assert.equal([path, status], [path, 200])
      assert.is(headers['content-type'], 'text/html; charset=utf-8')
      assert.match(text, '<base href="/">')
      assert.match(text, 'data-theme="dark"')
    }
    for (const path of [
      '/nope',
      '/session/a/b',
      '/session/',
      '/settings/a/b',
      '/static/',
      '/SETTINGS',
    ])
      assert.equal([path, (await app.get(path)).status], [path, 404])
  } finally {
    await app.close()
  }
})

pages('the document has no inline script or style, and every file it names exists', async () => {
  const app = await startApp()
  try {
    for (const path of ['/', '/session/abcdef012345']) {
      const { text, headers } = await app.get(path)
      assert.not.match(text, /<script(?![^>]*\ssrc=)/)
      assert.not.match(text, /<style|\sstyle=|\son\w+=/)
      assert.not.match(String(headers['content-security-policy']), 'unsafe-inline')
      const names = [...text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(match => match[1])
      assert.ok(names.length >= 2)
      for (const name of names) {
        const asset = await app.request('GET', `/${name}`, { headers: { 'accept-encoding': 'br' } })
        assert.equal([name, asset.status], [name, 200])
      }
    }
  } finally {
    await app.close()
  }
})

pages(
  'the page of a chat and the first page ask at once for what they show, each for one file',
  async () => {
    const app = await startApp()
    try {
      const preloads = async (path: string) =>
        [...(await app.get(path)).text.matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(
          ([, name]) => name!,
        )
      assert.equal(await preloads('/settings/general'), [])
      const transcript = await preloads('/session/abcdef012345')
      assert.match(transcript.join(' '), /^static\/transcript-\w+\.js$/)
      const home = await preloads('/')
      assert.match(home.join(' '), /^static\/lazy-home-\w+\.js$/)
      // A chunk that only one of them imports would otherwise be requested after it.
      for (const name of [...transcript, ...home]) {
        const { text } = await app.get(`/${name}`)
        const imports = [...text.matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g)]
        for (const [, from] of imports) assert.match(from!, /^main-/, `${name}: ${from}`)
      }
    } finally {
      await app.close()
    }
  },
)

pages(
  'behind a trusted proxy the base has its prefix; the first paint has the stored theme',
  async () => {
    const app = await startApp()
    try {
      await app.post('/api/settings', { theme: 'nord', accent: 'blue', font_size: 'large' })
      const { text } = await app.request('GET', '/settings', {
        headers: { 'x-forwarded-prefix': '/any/path', 'x-forwarded-for': '203.0.113.9' },
      })
      assert.match(text, '<base href="/any/path/">')
      assert.match(
        text,
        'data-theme="nord" data-accent="blue" data-font-size="large" data-density=',
      )
      const hostile = await app.request('GET', '/', {
        headers: { 'x-forwarded-prefix': '"><script>', 'x-forwarded-for': '203.0.113.9' },
      })
      assert.not.match(hostile.text, '"><script>')
    } finally {
      await app.close()
    }
  },
)

pages.run()
