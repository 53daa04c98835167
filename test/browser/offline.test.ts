/** The installed app in a real browser: read, write and queue without a network, once and in order; sign-out; a new build; shared content. */
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createAsset } from '../../lib/http/static.ts'
import { loadAssets } from '../_assets.ts'
import { openPage } from '../_browser.ts'
import { startChat } from '../handlers/_chat.ts'

const test = suite('page: offline')

/** A proxy that serves below a path, and can be cut like a network. */
const createNetwork = async (target: () => string, prefix: string) => {
  const sockets = new Set<Socket>()
  /** Paths whose next request arrives, while its reply is lost. */
  const lost: string[] = []
  let port = 0
  let server: Server
  const up = async () => {
    server = createServer((req, res) => {
      const path = req.url?.startsWith(`${prefix}/`) ? req.url.slice(prefix.length) : '/nowhere'
      const headers = { ...req.headers, 'x-forwarded-prefix': prefix }
      const onward = request(`${target()}${path}`, { method: req.method, headers }, answer => {
        const at = lost.indexOf(path)
        if (at >= 0) {
          lost.splice(at, 1)
          answer.resume().on('end', () => res.destroy())
          return
        }
        res.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
        answer.pipe(res)
      })
      onward.on('error', () => res.destroy())
      res.on('close', () => onward.destroy())
      req.pipe(onward)
    })
    server.on('connection', socket => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    })
    await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  }
  await up()
  return {
    url: `http://127.0.0.1:${port}${prefix}`,
    lost,
    up,
    async cut() {
      const closed = new Promise(resolve => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

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
    const name = (await caches.keys()).find(each => each.endsWith(' read'))
    const keys = name ? await (await caches.open(name)).keys() : []
    return keys.map(({ url }) => new URL(url).pathname + new URL(url).search)
  })

const write = async (page: Page, text: string) => {
  await page.locator('#composer').fill(text)
  await page.keyboard.press('Enter')
}

test('reads, writes and queues without a network; sends once and in order; keeps nothing after sign-out', async () => {
  const chat = await startChat({ text: 'The first answer' }, { text: 'A title' })
  const { app } = chat
  const network = await createNetwork(() => app.url, '/tools/agent')
  const users = async (id: string) =>
    (await chat.messages(id)).filter(m => m.role === 'user').map(m => m.content)
  try {
    const id = await chat.newSession()
    await chat.turn(id, 'hello')
    const at = await openPage(`${network.url}/session/${id}`, { serviceWorkers: 'allow' })
    const { page } = at
    const context = page.context()
    const devtools = await context.newCDPSession(page)
    await page.getByText('The first answer').first().waitFor()
    await waitForWorker(page)

    const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors')
    assert.equal(
      installabilityErrors.map(({ errorId }) => errorId).filter(name => name !== 'in-incognito'),
      [],
    )
    const manifest = await devtools.send('Page.getAppManifest')
    assert.equal(manifest.errors, [])
    assert.is(manifest.url, `${network.url}/manifest.webmanifest`)

    // Requested again under the worker, which was not there for the first load.
    await page.reload()
    await page.getByText('The first answer').first().waitFor()
    const has = async (key: string) => (await stored(page)).includes(key)
    while (
      !(await has('/tools/agent/')) ||
      !(await has(`/tools/agent/api/session?session_id=${id}`))
    )
      await page.evaluate(() => new Promise(resolve => requestAnimationFrame(resolve)))
    for (const key of await stored(page)) assert.not.match(key, /token|provider|auth|share/)

    await network.cut()
    await context.setOffline(true)
    await page.reload()
    await page.getByText('The first answer').first().waitFor()
    await page.locator('.session-link').first().waitFor()
    const waiting = page.getByRole('list', { name: /waiting to be sent/ }).getByRole('listitem')
    await write(page, 'second')
    await waiting.filter({ hasText: 'second' }).waitFor()
    await write(page, 'a mistake')
    await write(page, 'third, with an error')
    await waiting.filter({ hasText: 'third' }).waitFor()
    await waiting.filter({ hasText: 'a mistake' }).getByLabel('Remove message').click()
    await waiting.filter({ hasText: 'a mistake' }).waitFor({ state: 'detached' })
    await waiting.filter({ hasText: 'third' }).getByLabel('Edit message').click()
    await page.waitForFunction(
      () =>
        document.querySelector<HTMLTextAreaElement>('#composer')?.value === 'third, with an error',
    )
    await write(page, 'third')
    await waiting.filter({ hasText: /^third/ }).waitFor()
    await page
      .getByText(/Disconnected/)
      .first()
      .waitFor()
    assert.equal(await at.axe(), [])

    // A new chat, by its address; the worker was killed before.
    await devtools.send('ServiceWorker.enable')
    await devtools.send('ServiceWorker.stopAllWorkers')
    await page.goto(`${network.url}/`)
    await page.locator('#composer').waitFor()
    await page.evaluate(() => navigator.serviceWorker.ready)
    await waiting.first().waitFor({ state: 'detached' })
    await write(page, 'a new chat')
    await waiting.filter({ hasText: 'a new chat' }).waitFor()
    await page.reload()
    await waiting.filter({ hasText: 'a new chat' }).waitFor()
    assert.equal(await users(id), ['hello'])

    chat.provider.push({ text: 'ok' }, { text: 'ok' }, { text: 'ok' }, { text: 'ok' })
    network.lost.push('/api/chat/start')
    await network.up()
    await context.setOffline(false)
    await waiting.first().waitFor({ state: 'detached' })
    await page.waitForURL(/\/session\/\w+$/)
    const created = new URL(page.url()).pathname.split('/').at(-1)!
    await page.goto(`${network.url}/session/${id}`)
    await page.getByText('third').first().waitFor()
    assert.equal(await users(id), ['hello', 'second', 'third'])
    assert.equal(await users(created), ['a new chat'])

    await app.post('/api/settings', { _set_password: 'correct horse' })
    await page.goto(`${network.url}/session/${id}`)
    await page.locator('#pw').fill('correct horse')
    assert.equal(await stored(page), [])
    await page.keyboard.press('Enter')
    await page.getByText('The first answer').first().waitFor()
    while ((await stored(page)).length === 0)
      await page.evaluate(() => new Promise(resolve => requestAnimationFrame(resolve)))
    await page.goto(`${network.url}/settings/security`)
    await page.getByRole('button', { name: 'Sign out' }).first().click()
    await page.waitForURL(/\/login$/)
    assert.equal(await stored(page), [])
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
})

/** Turns the assets into those of another build: every hash in a name is another one. Returns what brings the first ones back. */
const deploy = async () => {
  const assets = (await loadAssets()) as Map<string, ReturnType<typeof createAsset>>
  const before = [...assets]
  const hashes = [...assets.keys()].flatMap(name => /-([A-Z0-9]{8})\.\w+$/.exec(name)?.[1] ?? [])
  const pattern = new RegExp(`-(?:${hashes.join('|')})\\.`, 'g')
  const rename = (text: string) => text.replace(pattern, found => `-9${found.slice(2)}`)
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

test('a new build leaves open pages whole and is offered; shared text and files wait in the composer', async () => {
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
      const files = Object.assign(document.createElement('input'), { type: 'file', name: 'files' })
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
})

test.run()
