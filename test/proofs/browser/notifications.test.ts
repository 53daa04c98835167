/**
 * Notifications in a real browser: the settings, the switch of this device, and push messages whose buttons answer approvals.
 *
 * Headless Chromium has neither permission for notifications nor a push service, so these are replaced at the browser's edge: what
 * it asks the person, what `PushManager` returns, and what the system shows. The page, the worker, the server and the push
 * service (`_push-service.ts`) are real.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Page } from 'playwright-core'
import type { PushPayload } from '../../../lib/schema/notification.ts'
import { createAsset } from '../../../lib/http/static.ts'
import { startApp } from '../../_app.ts'
import { loadAssets } from '../../_assets.ts'
import { openBrowser, openPage } from '../../_browser.ts'
import { startPushService, startReceiver } from '../../_push-service.ts'
import { until } from '../../_wait.ts'

const test = suite('notifications in the page')

type Shot = { screenshot(options: object): Promise<unknown> }
const shot = async (page: Shot, name: string) => {
  if (process.env.SHOTS)
    await page.screenshot({ path: `${process.env.SHOTS}-${name}.png`, fullPage: true })
}

test('a service is added and tested; a chat is muted', async () => {
  const ntfy = await startReceiver()
  const app = await startApp({ env: {} })
  const { session_id } = (await app.post('/api/session/new', {})).body.session
  await app.post('/api/session/rename', { session_id, title: 'Deploy to production' })
  const opened = await openPage(`${app.url}/settings/notifications`)
  const { page } = opened
  try {
    await page.getByRole('heading', { name: 'Notifications', level: 2 }).waitFor()
    await page.getByRole('button', { name: 'Add service' }).click()
    await page.getByRole('textbox', { name: 'Address' }).fill(ntfy.url)
    await page.getByRole('textbox', { name: 'Topic' }).fill('agent-4711')
    await page.getByRole('textbox', { name: 'Access token' }).fill('tk_1234567890abcdef')
    await shot(page, 'add')
    await page.getByRole('button', { name: 'Add service' }).click()
    await page.getByRole('button', { name: 'Send test to ntfy' }).click()
    assert.is(JSON.parse((await ntfy.at(1)).body).topic, 'agent-4711')
    await page.getByText('Last sent').waitFor()
    await page.getByRole('switch', { name: 'Use quiet hours' }).check()
    await page.getByLabel('From', { exact: true }).fill('23:00')
    await page.getByRole('switch', { name: 'Finished tasks' }).check()
    await page
      .getByRole('switch', { name: 'Finished tasks' })
      .and(page.locator(':checked'))
      .waitFor()
    assert.equal(await opened.axe(), [])
    await shot(page, 'settings')
    const saved = (await app.get('/api/notifications')).body.settings
    assert.is(saved.base_url, `${app.url}/`)
    assert.ok(saved.quiet.enabled && saved.kinds.includes('task_done'))

    await page.goto(`${app.url}/session/${session_id}`)
    await page.getByRole('button', { name: 'Chat options' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.locator('.dialog-palette input').fill('Notifications…')
    await page.getByRole('option', { name: 'Notifications…' }).click()
    await page.getByRole('button', { name: 'Mute' }).click()
    await page.getByText('Chat muted').waitFor()
    assert.is((await app.get(`/api/notifications/mute?session_id=${session_id}`)).body.muted, true)
    assert.equal(opened.problems, [])
  } finally {
    await opened.close()
    await app.close()
    await ntfy.close()
  }
})

/** What the system would show is kept in a cache, because the worker may be stopped in between; a message presses a button of it. */
const SYSTEM = `
ServiceWorkerRegistration.prototype.showNotification = async (title, { data, ...options }) =>
  (await caches.open('shown')).put('/shown', Response.json({ title, data, ...options }))
addEventListener('message', event => {
  const { data, action, reply } = event.data
  const work = []
  const waitUntil = each => work.push(each)
  const notification = { data, close() {} }
  dispatchEvent(
    Object.assign(new Event('notificationclick'), { notification, action, reply, waitUntil }),
  )
  event.waitUntil(Promise.all(work).then(() => event.ports[0].postMessage('done')))
})
`

const withReplacedWorker = async (run: () => Promise<void>): Promise<void> => {
  const assets = (await loadAssets()) as Map<string, ReturnType<typeof createAsset>>
  const [name, asset] = [...assets].find(([each]) => each.endsWith('sw.js'))!
  const raw = Buffer.from(SYSTEM + asset.raw.toString())
  assets.set(name, createAsset(name, raw, { immutable: asset.immutable }))
  try {
    await run()
  } finally {
    assets.set(name, asset)
  }
}

/** Runs in the page: what the browser would ask, and its push service. The state is in localStorage. */
const replaceEdge = (): void => {
  type Stored = { endpoint: string; keys: Record<string, string> }
  const found = (): Stored | null => JSON.parse(localStorage.getItem('subscription') ?? 'null')
  const toSubscription = (stored: Stored) => ({
    endpoint: stored.endpoint,
    toJSON: () => stored,
    unsubscribe: async () => localStorage.removeItem('subscription'),
  })
  Object.defineProperty(Notification, 'permission', {
    get: () => localStorage.getItem('permission') ?? 'default',
  })
  Notification.requestPermission = async () => {
    const answer = (localStorage.getItem('answer') ?? 'default') as NotificationPermission
    localStorage.setItem('permission', answer)
    return answer
  }
  const { subscribeAt } = window as unknown as { subscribeAt(key: string): Promise<Stored> }
  Object.assign(PushManager.prototype, {
    async getSubscription() {
      const stored = found()
      return stored && toSubscription(stored)
    },
    async subscribe({ applicationServerKey }: { applicationServerKey: string }) {
      if (localStorage.getItem('offline'))
        throw new DOMException('Registration failed', 'AbortError')
      const stored = await subscribeAt(applicationServerKey)
      localStorage.setItem('subscription', JSON.stringify(stored))
      return toSubscription(stored)
    },
  })
}

/** Delivers messages to the worker as the browser does, and presses their buttons. */
const openWorker = async (page: Page, origin: string) => {
  const scope = await page.evaluate(async () => (await navigator.serviceWorker.ready).scope)
  const cdp = await page.context().newCDPSession(page)
  const registered = new Promise<string>(resolve =>
    cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const found = registrations.find(each => each.scopeURL === scope)
      if (found) resolve(found.registrationId)
    }),
  )
  await cdp.send('ServiceWorker.enable')
  const registrationId = await registered
  const shown = (): Promise<{ data: PushPayload; actions: { action: string; title: string }[] }> =>
    page.evaluate(async () => (await (await caches.open('shown')).match('/shown'))?.json())
  return {
    async deliver(payload: PushPayload) {
      const data = JSON.stringify(payload)
      await cdp.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data })
      await until(
        async () => JSON.stringify((await shown())?.data) === data,
        `a notification of ${data}`,
      )
      return shown()
    },
    /** `reply`: what the person wrote into the notification. */
    press: (action: string, reply: string | null = null): Promise<void> =>
      page.evaluate(
        async given => {
          const stored = await (await caches.open('shown')).match('/shown')
          const { data } = (await stored?.json()) ?? {}
          const { active } = await navigator.serviceWorker.ready
          const { port1, port2 } = new MessageChannel()
          const done = new Promise<void>(resolve => {
            port1.onmessage = () => resolve()
          })
          active?.postMessage({ data, ...given }, [port2])
          await done
        },
        { action, reply },
      ),
  }
}

test('the switch asks, subscribes and unsubscribes; a lost subscription is renewed; Allow, Deny, and a reply in a notification answer', () =>
  withReplacedWorker(async () => {
    const push = await startPushService()
    const app = await startApp({ notificationTests: { allowPush: host => host === '127.0.0.1' } })
    const context = await (await openBrowser()).newContext({ reducedMotion: 'reduce' })
    let subscriptions = 0
    await context.exposeFunction('subscribeAt', (key: string) => {
      subscriptions += 1
      return push.subscribe(key, `/push/${subscriptions}`)
    })
    await context.addInitScript(replaceEdge)
    const page = await context.newPage()
    const store = (key: string, value: string | null) =>
      page.evaluate(
        given =>
          given.value === null
            ? localStorage.removeItem(given.key)
            : localStorage.setItem(given.key, given.value),
        { key, value },
      )
    const power = page.getByRole('switch', { name: 'Notifications on this device' })
    const says = (text: string) => page.getByText(text).first().waitFor()
    const devices = async (): Promise<{ id: string; name: string }[]> =>
      (await app.get('/api/notifications')).body.devices
    try {
      await page.goto(`${app.url}/settings/notifications`)
      await power.click()
      await says('The browser needs your permission to show notifications.')
      await store('answer', 'denied')
      await power.click()
      await says('Notifications are blocked for this site.')
      assert.ok(await power.isDisabled())
      await store('permission', 'default')
      await store('answer', 'granted')
      await store('offline', '1')
      await page.reload()
      await power.click()
      await says('The browser couldn’t reach its push service.')
      assert.equal(await devices(), [])
      await store('offline', null)
      await power.click()
      await says('Notifications are on')
      await says('(this device)')
      const [device] = await devices()
      assert.match(device?.name ?? '', 'Chrome')
      await page.getByRole('button', { name: /^Send test to/ }).click()
      assert.is((await push.message(1)).title, 'Test notification')

      const worker = await openWorker(page, new URL(app.url).origin)
      const { session_id } = (await app.post('/api/session/new', {})).body.session
      for (const [at, [action, answer]] of [
        ['answer-0', 'once'],
        ['answer-1', 'deny'],
      ].entries()) {
        await app.post('/api/approval/inject_test', {
          session_id,
          command: `deploy ${at}`,
          pattern_key: 'command that can change something',
        })
        const { actions } = await worker.deliver(await push.message(at + 2))
        assert.equal(
          actions.map(({ title }) => title),
          ['Allow once', 'Deny'],
        )
        await worker.press(action!)
        assert.equal((await app.get('/api/inbox')).body.questions, [])
        const { entries } = (await app.get('/api/auth/audit?kinds=approval')).body
        assert.match(entries[0].detail, new RegExp(`^${answer} `))
      }

      await app.post('/api/clarify/inject_test', { session_id, question: 'Which port?' })
      const asked = await worker.deliver(await push.message(4))
      assert.equal(
        asked.actions.map(({ title }) => title),
        ['Reply'],
      )
      await worker.press('answer-0', 'Port 8080')
      assert.equal((await app.get('/api/inbox')).body.questions, [])

      // By keyboard: toasts cover it where the test button was scrolled to.
      await power.press('Space')
      await says('Notifications are off on this device')
      assert.equal(await devices(), [])
      assert.is(await page.evaluate(() => localStorage.getItem('subscription')), null)
      await power.press('Space')
      await says('(this device)')

      // The browser lost its subscription without a word.
      const [before] = await devices()
      await store('subscription', null)
      await page.reload()
      await until(async () => (await devices())[0]?.id !== before?.id, 'the new subscription')
      const [after, ...others] = await devices()
      assert.is(others.length, 0)

      // Removed elsewhere: the browser ends its subscription.
      await app.post('/api/notifications/remove', { id: after?.id })
      await page.reload()
      await page.waitForFunction(() => localStorage.getItem('subscription') === null)
    } finally {
      await context.close()
      await app.close()
      await push.close()
    }
  }))

test.run()
