/** The installed app in a real browser: read, write and queue without a network, once and in order; another person, sign-out, a revoked sign-in; a new build; shared content. `PROOF=full`: also what costs many page loads. */
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createAsset } from '../../../lib/http/static.ts'
import { loadAssets } from '../../_assets.ts'
import { startApp } from '../../_app.ts'
import { openPage } from '../../_browser.ts'
import { createNetwork, waitingIn, write } from '../../_network.ts'
import { startChat } from '../../handlers/_chat.ts'

const test = suite('page: offline')

const waitForWorker = (page: Page) =>
  page.evaluate(async () => {
    await navigator.serviceWorker.ready
    if (navigator.serviceWorker.controller) return
    await new Promise(resolve =>
      navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true }),
    )
  })

const stored = (page: Page) =>
  page.evaluate(async () => {
    const names = (await caches.keys()).filter(each => each.includes(' read '))
    const keys = await Promise.all(names.map(async name => (await caches.open(name)).keys()))
    return keys.flat().map(({ url }) => new URL(url).pathname + new URL(url).search)
  })

/** Waits until these paths are stored. */
const untilStored = async (page: Page, ...paths: string[]) => {
  for (;;) {
    const keys = await stored(page)
    if (paths.every(path => keys.includes(path))) return keys
    await page.evaluate(() => new Promise(resolve => requestAnimationFrame(resolve)))
  }
}

test('reads, writes and queues without a network; sends once and in order; another person sees and sends nothing of it', async () => {
  const chat = await startChat({ text: 'The first answer' }, { text: 'A title' })
  const other = await startApp()
  const { app } = chat
  let target = app.url
  const network = await createNetwork(() => target, '/tools/agent')
  const users = async (id: string) =>
    (await chat.messages(id)).filter(m => m.role === 'user').map(m => m.content)
  try {
    const id = await chat.newSession()
    await chat.turn(id, 'hello')
    const at = await openPage(`${network.url}/session/${id}`, { serviceWorkers: 'allow' })
    const { page } = at
    const context = page.context()
    await page.getByText('The first answer').first().waitFor()
    await waitForWorker(page)
    // Requested again under the worker, which was not there for the first load.
    await page.reload()
    const root = '/tools/agent/'
    const keys = await untilStored(page, root, `${root}api/session?session_id=${id}`)
    for (const key of keys) assert.not.match(key, /token|provider|auth|share/)
    assert.is(await page.getByText('Showing a copy from').count(), 0)

    await network.cut()
    await context.setOffline(true)
    await page.reload()
    await page.getByText('The first answer').first().waitFor()
    await page.locator('.session-link').first().waitFor()
    await page.locator('.pill', { hasText: 'Showing a copy from' }).waitFor()
    const waiting = waitingIn(page)
    await write(page, 'second')
    await waiting.filter({ hasText: 'second' }).waitFor()
    await write(page, 'third')
    await waiting.filter({ hasText: /^third/ }).waitFor()
    await page.locator('.pill', { hasText: 'You’re offline' }).waitFor()
    await page.getByRole('button', { name: 'New chat' }).first().click()
    await write(page, 'a new chat')
    await waiting.filter({ hasText: 'a new chat' }).waitFor()
    assert.is(await waiting.count(), 1)
    assert.equal(await users(id), ['hello'])

    // The same address is now the service of someone else.
    target = other.url
    await network.up()
    await context.setOffline(false)
    await page.waitForFunction(() => !document.querySelector('.pill, .session-link'))
    await untilStored(page, root, `${root}api/sessions`)
    assert.is(await waiting.count(), 0)
    assert.equal((await other.get('/api/sessions')).body.sessions, [])
    assert.not((await stored(page)).some(key => key.includes(id)))

    chat.provider.push({ text: 'ok' }, { text: 'ok' }, { text: 'ok' }, { text: 'ok' })
    network.lost.push('/api/chat/start')
    target = app.url
    await page.reload()
    await page.waitForURL(/\/session\/\w+$/)
    const created = new URL(page.url()).pathname.split('/').at(-1)!
    await page.locator(`.session-link[href$="${id}"]`).first().click()
    await page.getByText('third').first().waitFor()
    await page.waitForFunction(() => !document.querySelector('.pill'))
    assert.equal(await users(id), ['hello', 'second', 'third'])
    assert.equal(await users(created), ['a new chat'])

    // The browser ends the page while the connection is stalled.
    const arrived = new Promise<void>(resolve => network.stalled.set('/api/chat/start', resolve))
    await write(page, 'fourth')
    await arrived
    await page.close()
    network.stalled.clear()
    chat.provider.push({ text: 'The fourth answer' })
    const next = await context.newPage()
    await next.goto(`${network.url}/session/${id}`)
    await next.getByText('The fourth answer').first().waitFor()
    assert.equal(await users(id), ['hello', 'second', 'third', 'fourth'])
    assert.is(await next.locator('#composer').inputValue(), '')
    assert.is(await waitingIn(next).count(), 0)
    await at.close()
  } finally {
    await network.cut().catch(() => undefined)
    await chat.close()
    await other.close()
  }
})

test('a draft that was written without a network is on the server once there is one again', async () => {
  const chat = await startChat({ text: 'An answer' }, { text: 'A title' })
  const network = await createNetwork(() => chat.app.url, '')
  try {
    const id = await chat.newSession()
    await chat.turn(id, 'hello')
    const at = await openPage(`${network.url}/session/${id}`)
    const { page } = at
    await page.getByText('An answer').first().waitFor()
    await network.cut()
    const failed = page.waitForEvent('requestfailed', request => /draft/.test(request.url()))
    await page.locator('#composer').fill('Half a thought')
    await failed
    const saved = page.waitForResponse(
      reply => /session\/draft/.test(reply.url()) && reply.status() === 200,
    )
    await network.up()
    await saved
    const { session } = (await chat.app.get(`/api/session?session_id=${id}`)).body
    assert.is(session.composer_draft.text, 'Half a thought')
    await at.close()
  } finally {
    await network.cut().catch(() => undefined)
    await chat.close()
  }
})

const fullOnly = process.env.PROOF === 'full' ? test : test.skip

fullOnly(
  'PROOF=full: is installable; unsent messages survive a killed worker, can be edited and removed; a sign-out asks and deletes them',
  async () => {
    const chat = await startChat({ text: 'The first answer' }, { text: 'A title' })
    const { app } = chat
    const network = await createNetwork(() => app.url, '/tools/agent')
    try {
      const id = await chat.newSession()
      await chat.turn(id, 'hello')
      await app.post('/api/settings', { _set_password: 'correct horse' })
      const at = await openPage(`${network.url}/session/${id}`, { serviceWorkers: 'allow' })
      const { page } = at
      const context = page.context()
      const devtools = await context.newCDPSession(page)
      const signIn = async () => {
        await page.locator('#pw').fill('correct horse')
        await page.keyboard.press('Enter')
        await page.getByText('The first answer').first().waitFor()
      }
      await signIn()
      await waitForWorker(page)
      const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors')
      assert.equal(
        installabilityErrors.map(({ errorId }) => errorId).filter(name => name !== 'in-incognito'),
        [],
      )
      const manifest = await devtools.send('Page.getAppManifest')
      assert.equal(manifest.errors, [])
      assert.is(manifest.url, `${network.url}/manifest.webmanifest`)
      await page.reload()
      const chatKey = `/tools/agent/api/session?session_id=${id}`
      await untilStored(page, '/tools/agent/', chatKey)

      await network.cut()
      await context.setOffline(true)
      const waiting = waitingIn(page)
      await write(page, 'a mistake')
      await write(page, 'third, with an error')
      await waiting.filter({ hasText: 'third' }).waitFor()
      await waiting.filter({ hasText: 'a mistake' }).getByLabel('Remove message').click()
      await waiting.filter({ hasText: 'a mistake' }).waitFor({ state: 'detached' })
      await waiting.filter({ hasText: 'third' }).getByLabel('Edit message').click()
      await page.waitForFunction(
        () =>
          document.querySelector<HTMLTextAreaElement>('#composer')?.value ===
          'third, with an error',
      )
      await write(page, 'third')
      await waiting.filter({ hasText: /^third/ }).waitFor()
      assert.equal(await at.axe(), [])
      // The worker was killed before.
      await devtools.send('ServiceWorker.enable')
      await devtools.send('ServiceWorker.stopAllWorkers')
      await page.goto(`${network.url}/session/${id}`)
      await waiting.filter({ hasText: /^third/ }).waitFor()

      // The chat is gone: the message is rejected, and stays.
      await app.post('/api/session/delete', { session_id: id }, { headers: await cookieOf(page) })
      await network.up()
      await context.setOffline(false)
      await page.goto(`${network.url}/settings/security`)
      await page.getByRole('button', { name: 'Sign out' }).first().click()
      const dialog = page.getByRole('dialog', { name: 'Sign out and delete unsent messages?' })
      await dialog.getByText('1 message hasn’t been sent yet.').waitFor()
      await dialog.getByRole('button', { name: 'Sign out' }).click()
      await page.waitForURL(/\/login$/)
      assert.equal(await stored(page), [])
      const written = () => Object.keys(localStorage).filter(key => /^agent-webui:\w*:/.test(key))
      assert.equal(await page.evaluate(written), [], 'drafts, messages that were being sent')
      await network.cut()
      await context.setOffline(true)
      await page.goto(`${network.url}/session/${id}`)
      await page.getByRole('heading', { name: 'You’re offline' }).waitFor()
      assert.not.match(await page.content(), /The first answer|hello/)
      await at.close()
    } finally {
      await network.cut().catch(() => undefined)
      await chat.close()
    }
  },
)

const cookieOf = async (page: Page) => {
  const cookies = await page.context().cookies()
  return { Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') }
}

fullOnly(
  'PROOF=full: a sign-in that is revoked on another device removes what the browser has stored, also in a second tab',
  async () => {
    const chat = await startChat({ text: 'The first answer' }, { text: 'A title' })
    const { app } = chat
    try {
      const id = await chat.newSession()
      await chat.turn(id, 'hello')
      await app.post('/api/settings', { _set_password: 'correct horse' })
      const at = await openPage(`${app.url}/session/${id}`, { serviceWorkers: 'allow' })
      const { page } = at
      await page.locator('#pw').fill('correct horse')
      await page.keyboard.press('Enter')
      await page.getByText('The first answer').first().waitFor()
      await waitForWorker(page)
      await page.reload()
      const second = await page.context().newPage()
      await second.goto(`${app.url}/session/${id}`)
      await untilStored(page, '/', `/api/session?session_id=${id}`)
      const login = await app.post('/api/auth/login', { password: 'correct horse' })
      const Cookie = String(login.headers['set-cookie']).split(';')[0]!
      await app.post('/api/auth/revoke', { others: true }, { headers: { Cookie } })
      for (const tab of [page, second])
        await tab.getByRole('dialog', { name: 'Sign in again' }).waitFor()
      assert.equal(await stored(page), [])
      await at.close()
    } finally {
      await chat.close()
    }
  },
)

fullOnly(
  'PROOF=full: a stalled connection shows what is stored; where nothing can be stored the text stays; full storage changes nothing online',
  async () => {
    const chat = await startChat({ text: 'The first answer' }, { text: 'A title' })
    const network = await createNetwork(() => chat.app.url, '/tools/agent')
    try {
      const id = await chat.newSession()
      await chat.turn(id, 'hello')
      const at = await openPage(`${network.url}/session/${id}`, { serviceWorkers: 'allow' })
      const { page } = at
      const answer = page.getByText('The first answer').first()
      await answer.waitFor()
      await waitForWorker(page)
      await page.reload()
      await untilStored(page, '/tools/agent/', `/tools/agent/api/session?session_id=${id}`)
      network.state.isStalled = true
      await network.cut()
      await network.up()
      await page.reload()
      await answer.waitFor()
      await page.locator('.pill', { hasText: 'Showing a copy from' }).waitFor()
      network.state.isStalled = false
      await network.cut()
      await network.up()
      await page.waitForFunction(() => !document.querySelector('.pill'))

      const devtools = await page.context().newCDPSession(page)
      const { origin } = new URL(network.url)
      await devtools.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1 })
      const full = await chat.newSession()
      chat.provider.push({ text: 'With full storage' }, { text: 'Another title' })
      await chat.turn(full, 'hello')
      await page.goto(`${network.url}/session/${full}`)
      await page.getByText('With full storage').first().waitFor()
      await page.locator('a[href$="/usage"]').click()
      await page.getByRole('heading', { name: 'Usage' }).waitFor()
      assert.is(await page.locator('.pill, .toast').count(), 0)

      await page.addInitScript(() => {
        Storage.prototype.setItem = () => {
          throw new DOMException('full', 'QuotaExceededError')
        }
      })
      await page.goto(`${network.url}/session/${id}`)
      await answer.waitFor()
      await page.waitForFunction(() => navigator.serviceWorker.controller)
      await network.cut()
      await write(page, 'is not lost')
      await page.locator('.toast').first().waitFor()
      await page.waitForFunction(
        () => document.querySelector<HTMLTextAreaElement>('#composer')?.value === 'is not lost',
      )
      await at.close()
    } finally {
      await network.cut().catch(() => undefined)
      await chat.close()
    }
  },
)

/** Turns the assets into those of another build: every hash in a name is another one. Returns what brings the first ones back. */
const deploy = async () => {
  const assets = (await loadAssets()) as Map<string, ReturnType<typeof createAsset>>
  const before = [...assets]
  const hashes = [...assets.keys()].flatMap(name => /-([A-Z0-9]{8})\.\w+$/.exec(name)?.[1] ?? [])
  const pattern = new RegExp(`-(?:${hashes.join('|')})\\.`, 'g')
  // Another first digit, whatever it was: a hash may begin with a 9.
  const rename = (text: string) =>
    text.replace(pattern, found => `-${found[1] === '9' ? 8 : 9}${found.slice(2)}`)
  assets.clear()
  for (const [name, asset] of before) {
    const isText = /\.(js|css|html)$/.test(name)
    const raw = isText ? Buffer.from(rename(asset.raw.toString())) : asset.raw
    assets.set(rename(name), createAsset(name, raw, { immutable: asset.immutable }))
  }
  return () => {
    assets.clear()
    for (const [name, asset] of before) assets.set(name, asset)
  }
}

fullOnly(
  'PROOF=full: a new build leaves open pages whole and is offered; shared text and files wait in the composer',
  async () => {
    const chat = await startChat()
    const { app } = chat
    const at = await openPage(app.url, { serviceWorkers: 'allow' })
    const { page } = at
    let undeploy = () => {}
    try {
      await waitForWorker(page)
      await page.reload()
      const main = () => page.locator('script[type=module]').getAttribute('src')
      const old = await main()
      undeploy = await deploy()
      await page.evaluate(async () => (await navigator.serviceWorker.ready).update())
      const notice = page.getByText('A new version is ready')
      await notice.waitFor()
      // A view that was not loaded before: its file is no longer on the server.
      await page.locator('a[href$="/usage"]').click()
      await page.getByRole('heading', { name: 'Usage' }).waitFor()
      assert.is(await main(), old)
      await page.getByRole('button', { name: 'Reload' }).click()
      await page.waitForFunction(
        name => !document.querySelector(`script[src="${name}"]`) && document.querySelector('nav'),
        old,
      )
      assert.equal(at.problems, [])

      await page.evaluate(() => {
        const form = document.createElement('form')
        Object.assign(form, {
          method: 'post',
          action: 'share-target',
          enctype: 'multipart/form-data',
        })
        for (const [name, value] of [
          ['title', 'A page'],
          ['text', 'Read this'],
          ['url', 'https://example.com/a'],
        ])
          form.append(Object.assign(document.createElement('input'), { name, value }))
        const files = Object.assign(document.createElement('input'), {
          type: 'file',
          name: 'files',
        })
        const held = new DataTransfer()
        held.items.add(new File(['content'], 'shared.txt', { type: 'text/plain' }))
        files.files = held.files
        form.append(files)
        document.body.append(form)
        form.submit()
      })
      await page.getByRole('dialog').getByText('shared.txt').waitFor()
      assert.is(
        await page.locator('#composer').inputValue(),
        'A page\nRead this\nhttps://example.com/a',
      )
      assert.equal((await app.get('/api/sessions')).body.sessions, [])
      await page.getByRole('button', { name: 'Add files' }).click()
      await page.locator('.composer').getByText('shared.txt').waitFor()
      assert.not.match(page.url(), /shared/)
    } finally {
      undeploy()
      await at.close()
      await chat.close()
    }
  },
)

test.run()
