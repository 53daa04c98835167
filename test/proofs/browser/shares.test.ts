/** Sharing a chat by link: from the menu of the chat to a page that needs no sign-in, and back to Settings. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'

const test = suite('share links in the page')

const CHAT = {
  title: 'Build fails on Windows',
  messages: [
    { role: 'user', content: 'Why does the build fail on Windows?', timestamp: 1_760_000_000 },
    {
      role: 'assistant',
      content: 'Let me look.',
      tool_calls: [
        {
          id: 'c1',
          type: 'function',
          function: { name: 'terminal', arguments: '{"command":"npm run build"}' },
        },
      ],
    },
    {
      role: 'tool',
      tool_call_id: 'c1',
      content: JSON.stringify({ output: 'Error: EPERM, rename dist', exit_code: 1 }),
    },
    {
      role: 'assistant',
      content:
        '## Cause\n\nA file is **still open**. See [the docs](https://example.com/docs).\n\n| Step | Time |\n|---|--:|\n| build | 4 s |\n\n```ts\nawait handle.close()\n```\n\n- [x] Found\n- [ ] Fixed',
      timestamp: 1_760_000_060,
    },
  ],
}

const shot = async (page: { screenshot(options: object): Promise<unknown> }, name: string) => {
  if (process.env.SHOTS)
    await page.screenshot({ path: `${process.env.SHOTS}-${name}.png`, fullPage: true })
}

test('a chat is shared, read without a sign-in on a phone, and revoked', async () => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: 'correct horse' } })
  const login = await app.post('/api/auth/login', { password: 'correct horse' })
  const cookie = (login.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
  const added = await app.post('/api/session/import', CHAT, { headers: { cookie } })
  const { session_id } = added.body.session
  const [name = '', value = ''] = cookie.split('=')
  const signedIn = {
    storageState: {
      cookies: [{ name, value, domain: '127.0.0.1', path: '/', expires: -1 } as const].map(
        each => ({ ...each, httpOnly: true, secure: false, sameSite: 'Lax' as const }),
      ),
      origins: [],
    },
  }
  const owner = await openPage(`${app.url}/session/${session_id}`, signedIn)
  try {
    const { page } = owner
    await page.getByRole('button', { name: 'Chat options' }).click()
    await page.getByRole('menuitem', { name: 'Share…' }).click()
    await page.getByRole('switch', { name: 'Include tool output' }).check()
    await shot(page, 'dialog')
    const [previewed] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Preview' }).click(),
    ])
    await previewed.getByRole('heading', { name: CHAT.title }).waitFor()
    await previewed.close()
    await page.getByRole('button', { name: 'Turn on and create link' }).click()
    const link = await page.locator('.share-made code').textContent()
    assert.match(link ?? '', /\/share\/awl_[\w-]{43}$/)
    assert.equal(await owner.axe(), [])
    await shot(page, 'made')

    const reader = await openPage(link ?? '', { viewport: { width: 390, height: 844 } })
    await reader.page.getByRole('heading', { level: 1, name: CHAT.title }).waitFor()
    await reader.page.getByText('Ran a command').click()
    await reader.page.getByText('Error: EPERM, rename dist').waitFor()
    const width = await reader.page.locator('main').evaluate(main => main.scrollWidth)
    assert.ok(width <= 390, `${width}`)
    assert.equal(reader.problems, [])
    assert.equal(await reader.page.context().cookies(), [])
    await shot(reader.page, 'page-phone')

    const said: string[] = []
    reader.page.on('console', message => said.push(message.text()))
    await reader.page.reload()
    await reader.page.getByText('Ran a command').waitFor()
    await page.getByRole('button', { name: /^Revoke link/ }).click()
    await page.getByText('Link revoked').waitFor()
    await reader.page.reload()
    await reader.page.getByRole('heading', { name: 'This link isn’t available' }).waitFor()
    // The 404 is said by the browser itself.
    assert.equal(
      said.filter(text => !text.includes('404')),
      [],
    )
    await shot(reader.page, 'gone')
    await reader.close()
    assert.equal(owner.problems, [])
  } finally {
    await owner.close()
    await app.close()
  }
})

test.run()
