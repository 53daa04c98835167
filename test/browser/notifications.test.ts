/** Notifications in a real browser: the settings, and a push message whose button answers an approval. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { PushPayload } from '../../lib/schema/notification.ts'
import { startApp } from '../_app.ts'
import { openPage } from '../_browser.ts'
import { startReceiver } from '../_push-service.ts'

const test = suite('notifications in the page')

type Shot = { screenshot(options: object): Promise<unknown> }
const shot = async (page: Shot, name: string) => {
  if (process.env.SHOTS)
    await page.screenshot({ path: `${process.env.SHOTS}-${name}.png`, fullPage: true })
}

test('a service is added, tested and removed; a chat is muted; a pushed approval is denied by its button', async () => {
  const ntfy = await startReceiver()
  const app = await startApp({ env: {} })
  const { session_id } = (await app.post('/api/session/new', {})).body.session
  await app.post('/api/session/rename', { session_id, title: 'Deploy to production' })
  const opened = await openPage(`${app.url}/settings/notifications`, {
    serviceWorkers: 'allow',
  })
  const { page } = opened
  page.setDefaultTimeout(30_000)
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
    await app.post('/api/notifications', {
      settings: { quiet: { ...saved.quiet, enabled: false } },
    })

    // The worker's own events, as the browser's push service would send them.
    const worker = await page.evaluate(async () => {
      const { scope } = await navigator.serviceWorker.ready
      return scope
    })
    const cdp = await page.context().newCDPSession(page)
    const registered = new Promise<string>(resolve =>
      cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const found = registrations.find(each => each.scopeURL === worker)
        if (found) resolve(found.registrationId)
      }),
    )
    await cdp.send('ServiceWorker.enable')
    const registrationId = await registered
    await app.post('/api/approval/inject_test', {
      session_id,
      command: 'deploy --now',
      pattern_key: 'program not recognized: deploy',
    })
    const sent = JSON.parse((await ntfy.at(2)).body)
    const button = sent.actions.find(({ label }: { label: string }) => label === 'Deny')
    const payload: PushPayload = {
      version: 1,
      kind: 'approval',
      title: sent.title,
      body: sent.message,
      tag: 'q',
      url: `session/${session_id}`,
      waiting: 1,
      actions: [{ action: 'deny', title: 'Deny', token: JSON.parse(button.body).token }],
      failed: 'Couldn’t send your answer.',
    }
    // Headless Chromium grants no permission to show notifications: that error is the last step of the message's way.
    const reached = new Promise<string>(resolve =>
      cdp.on('ServiceWorker.workerErrorReported', ({ errorMessage }) =>
        resolve(errorMessage.errorMessage),
      ),
    )
    await cdp.send('ServiceWorker.deliverPushMessage', {
      origin: new URL(app.url).origin,
      registrationId,
      data: JSON.stringify(payload),
    })
    assert.match(await reached, 'No notification permission has been granted')

    const press = (data: PushPayload) =>
      page
        .context()
        .serviceWorkers()[0]
        ?.evaluate(async given => {
          const work: Promise<unknown>[] = []
          const click = {
            notification: { data: given, close: () => undefined },
            action: 'answer-0',
            waitUntil: (each: Promise<unknown>) => work.push(each),
          }
          globalThis.dispatchEvent(Object.assign(new Event('notificationclick'), click))
          await Promise.all(work)
        }, data)
    // Delivering a message restarts the worker for the debugger.
    await press(payload)?.catch(() => press(payload))
    while ((await app.get(`/api/approval/pending?session_id=${session_id}`)).body.pending);
    assert.equal((await app.get('/api/inbox')).body.questions, [])

    await page.goto(`${app.url}/session/${session_id}`)
    await page.getByRole('button', { name: 'Chat options' }).click()
    await page.getByRole('menuitem', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Notifications…' }).click()
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

test.run()
