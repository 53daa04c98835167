/** Notifications over HTTP: what is sent to whom, how a notification is answered, and what survives a restart or a kill. */
import { createHmac } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { spawnApp, startApp, type TestApp } from '../../_app.ts'
import { createProvider, gate } from '../../_provider.ts'
import { startPushService, startReceiver } from '../../_push-service.ts'
import { startChat } from '../../handlers/_chat.ts'
import { create, runNow } from '../../handlers/_crons.ts'

const test = suite('notifications')

const HARMLESS = 'command that can change something'
const JOB = { prompt: 'look around', schedule: 'every 1h', name: 'Look' }
const BASE = 'https://agent.example/app/'

const onLoopback = { allowPush: (host: string) => host === '127.0.0.1', firstDelayMs: 20 }

type Api = Pick<TestApp, 'get' | 'post'>

const newSession = async (app: Api): Promise<string> =>
  (await app.post('/api/session/new', {})).body.session.session_id

const ask = (app: Api, session_id: string, command: string, pattern_key = HARMLESS) =>
  app.post('/api/approval/inject_test', { session_id, command, pattern_key })

const openApproval = async (app: Api, session_id: string) =>
  (await app.get(`/api/approval/pending?session_id=${session_id}`)).body.pending

const answer = (app: Api, token: string | undefined, text?: string) =>
  app.post('/api/notifications/answer', { token, ...(text && { text }) })

test('an approval reaches the browser encrypted, is denied from there once, and 410 removes the device', async () => {
  const push = await startPushService()
  const app = await startApp({ notificationTests: onLoopback })
  try {
    const { key } = (await app.get('/api/notifications/key')).body
    const subscription = push.subscribe(key)
    const { body } = await app.post('/api/notifications/devices', { subscription, name: 'Phone' })
    assert.is(body.devices[0].name, 'Phone')

    const id = await newSession(app)
    await ask(app, id, 'deploy --dry-run')
    const first = await push.message(1)
    assert.is(first.body, 'Needs approval: deploy --dry-run')
    assert.is(first.url, `session/${id}`)
    assert.is(first.waiting, 1)
    assert.equal(
      first.actions.map(({ title }) => title),
      ['Allow once', 'Deny'],
    )
    const [allow, deny] = first.actions
    assert.not.ok(
      readFileSync(join(app.state, 'notifications-outbox.json'), 'utf8').includes(allow!.token),
    )

    const denied = await answer(app, deny?.token)
    assert.equal([denied.status, denied.body.answer], [200, 'deny'])
    assert.is(await openApproval(app, id), null)
    for (const { token } of [allow!, deny!]) {
      const late = await answer(app, token)
      assert.is(late.status, 409)
      assert.is(late.body.error, 'Already denied in a notification (Phone).')
    }

    // Of the next question: a token of the first does not answer it.
    await ask(app, id, 'deploy --now', 'recursive delete')
    const risky = await push.message(2)
    assert.equal(
      risky.actions.map(({ title }) => title),
      ['Deny'],
      'a command that may do damage cannot be allowed from a lock screen',
    )
    assert.is((await answer(app, allow?.token)).status, 409)
    const { approval_id } = await openApproval(app, id)
    await app.post('/api/approval/respond', { session_id: id, approval_id, choice: 'once' })
    const slow = await answer(app, risky.actions[0]?.token)
    assert.equal([slow.status, slow.body.error], [409, 'Already allowed on the page (127.0.0.1).'])

    const over = await push.message(3)
    assert.equal(
      [over.body, over.tag, over.settled, over.actions, over.waiting],
      ['Allowed', risky.tag, true, [], 0],
      'what was answered elsewhere is replaced',
    )

    await app.post('/api/notifications', { settings: { allow_risky: true } })
    await ask(app, id, 'rm -r build', 'recursive delete')
    assert.is((await push.message(4)).actions.length, 2)
    await ask(app, id, `rm -r ${'x'.repeat(300)}`, 'recursive delete')
    assert.is((await push.message(5)).actions.length, 1, 'what is cut off is not allowed')

    await app.post('/api/clarify/inject_test', { session_id: id, question: 'Which port?' })
    const question = await push.message(6)
    assert.is(question.body, 'Asks: Which port?')
    assert.equal(
      question.actions.map(({ action }) => action),
      ['reply'],
    )
    assert.is((await answer(app, question.actions[0]?.token, '   ')).status, 400)
    assert.is((await answer(app, question.actions[0]?.token, '8080')).body.answer, '8080')
    const open = await app.get(`/api/clarify/pending?session_id=${id}`)
    assert.is(open.body.pending, null)

    for (let i = 0; i < 5; i += 1) assert.is((await answer(app, `awn_${i}`)).status, 404)
    assert.is((await answer(app, 'awn_6')).status, 429)

    push.replies.push({ status: 410 })
    await ask(app, id, 'deploy again')
    await push.at(7)
    while ((await app.get('/api/notifications')).body.devices.length > 0);
  } finally {
    await app.close()
    await push.close()
  }
})

test('a device that is signed out receives nothing more', async () => {
  const push = await startPushService()
  const app = await startApp({
    notificationTests: onLoopback,
    env: { AGENT_WEBUI_PASSWORD: 'correct horse' },
  })
  const signIn = async () => {
    const reply = await app.post('/api/auth/login', { password: 'correct horse' })
    return { headers: { cookie: (reply.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '' } }
  }
  try {
    const [phone, laptop] = [await signIn(), await signIn()]
    const { key } = (await app.get('/api/notifications/key', phone)).body
    for (const [path, device] of [
      ['/phone', phone],
      ['/laptop', laptop],
    ] as const)
      await app.post(
        '/api/notifications/devices',
        { subscription: push.subscribe(key, path), name: path },
        device,
      )
    const names = async () =>
      (await app.get('/api/notifications', laptop)).body.devices.map(
        (each: { name: string }) => each.name,
      )
    assert.equal(await names(), ['/phone', '/laptop'])
    // The browser lost its subscription, and does not know which one it was.
    const subscription = push.subscribe(key, '/phone/2')
    await app.post('/api/notifications/devices', { subscription }, phone)
    assert.equal(await names(), ['/laptop', '/phone'])
    assert.is((await app.get('/api/notifications')).status, 401)
    const { session_id } = (await app.post('/api/session/new', {}, laptop)).body.session
    await app.post(
      '/api/approval/inject_test',
      { session_id, command: 'deploy', pattern_key: HARMLESS },
      laptop,
    )
    await push.message(2)
    const tokenOf = (path: string) =>
      push.messages[push.received.findIndex(each => each.path === path)]?.actions[1]?.token
    await app.post('/api/auth/logout', {}, phone)
    assert.equal(await names(), ['/laptop'])
    assert.is((await answer(app, tokenOf('/phone/2'))).status, 404, 'a lost phone answers nothing')
    assert.is((await answer(app, tokenOf('/laptop'))).status, 200)
  } finally {
    await app.close()
    await push.close()
  }
})

test('ntfy, Gotify and a webhook receive the same fact, each in its own format', async () => {
  const [ntfy, gotify, hook] = [await startReceiver(), await startReceiver(), await startReceiver()]
  const app = await startApp({ notificationTests: onLoopback })
  const add = async (service: object, language = 'en') =>
    (
      await app.post('/api/notifications/services', service, {
        headers: { 'accept-language': language },
      })
    ).body
  try {
    await app.post('/api/notifications', { settings: { base_url: BASE } })
    const ntfyToken = 'tk_a1b2c3d4e5f6g7h8i9j0k1l2'
    await add({ type: 'ntfy', url: ntfy.url, topic: 'agent', secret: ntfyToken }, 'de-AT,en;q=0.5')
    const { id: gotifyId } = await add({ type: 'gotify', url: gotify.url, secret: 'AbCd.1' })
    const { secret } = await add({ type: 'webhook', url: `${hook.url}/hook` })
    assert.match(secret, /^whsec_[\w+/]{43}=$/)

    const from = Date.now() / 1_000
    const id = await newSession(app)
    await ask(app, id, `deploy ${ntfyToken}`)
    const text = JSON.parse((await ntfy.at(1)).body)
    assert.is(ntfy.received[0]?.headers.authorization, `Bearer ${ntfyToken}`)
    assert.is(ntfy.received[0]?.path, '/')
    assert.not.ok(text.message.includes(ntfyToken), 'secrets are masked')
    assert.equal(
      text.actions.map((each: { label: string }) => each.label),
      ['Ablehnen'],
      'a command with a hidden part is not allowed from here',
    )
    assert.match(text.message, /^Freigabe nötig: deploy /)
    assert.match(text.sequence_id, /^[\w-]{32}$/)
    assert.is(text.topic, 'agent')
    assert.is(text.click, `${BASE}session/${id}`)

    const message = JSON.parse((await gotify.at(1)).body)
    assert.is(gotify.received[0]?.path, '/message')
    assert.is(gotify.received[0]?.headers['x-gotify-key'], 'AbCd.1')
    assert.equal(
      [typeof message.title, typeof message.message, message.priority],
      ['string', 'string', 8],
    )

    const { headers, body } = await hook.at(1)
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const hmac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    assert.is(headers['webhook-signature'], `v1,${hmac.update(signed).digest('base64')}`)
    const sentAt = Number(headers['webhook-timestamp'])
    assert.ok(sentAt >= Math.floor(from) && sentAt <= Date.now() / 1_000)
    const { type, data } = JSON.parse(body)
    assert.equal(
      [type, data.session_id, data.answer_url],
      ['approval', id, `${BASE}api/notifications/answer`],
    )

    // The button of ntfy is a plain POST of what it says, without a cookie.
    const [button] = text.actions
    const pressed = await app.request('POST', '/api/notifications/answer', {
      headers: button.headers,
      body: button.body,
    })
    assert.equal([pressed.status, pressed.body.answer], [200, 'deny'])
    const again = await answer(app, JSON.parse(button.body).token)
    assert.is(again.body.error, 'Schon in einer Benachrichtigung abgelehnt (ntfy).')
    const [entry] = (await app.get('/api/auth/audit?kinds=approval')).body.entries
    assert.match(`${entry.detail} ${entry.device}`, new RegExp(`^deny ${id} notification: `))
    // What a service or device can answer ends with it.
    const { services } = (await app.get('/api/notifications')).body
    const webhook = services.find((each: { type: string }) => each.type === 'webhook')
    await app.post('/api/notifications/remove', { id: webhook.id })
    assert.is((await answer(app, data.actions[0].token)).status, 404)

    ntfy.replies.push({ status: 401 })
    const before = (await app.get('/api/notifications')).body.services
    const failed = await app.post('/api/notifications/test', { id: before[0].id })
    assert.equal([failed.status, failed.body.error], [503, 'It answered with status 401.'])
    await app.post('/api/notifications/test', { id: gotifyId })
    const [first, second] = (await app.get('/api/notifications')).body.services
    assert.equal(
      [first.problem, first.problem_code],
      ['It answered with status 401.', 'unauthorized'],
    )
    assert.equal([second.problem, typeof second.last_sent_at], [null, 'number'])
  } finally {
    await app.close()
    await Promise.all([ntfy.close(), gotify.close(), hook.close()])
  }
})

test('an answer with a secret, an approval that is allowed, a task that is done, and a reached budget', async () => {
  const hook = await startReceiver()
  const secret = `ghp_${'a1B2'.repeat(9)}`
  const usage = { prompt_tokens: 200, completion_tokens: 0 }
  const chat = await startChat(
    { text: `Use **${secret}** in \`the_file.txt\`.` },
    { text: 'ran' },
    { status: 401, body: { error: { message: 'No such key.' } } },
    { toolCalls: [{ id: 'c1', name: 'todo', arguments: {} }], usage },
  )
  const { app } = chat
  const next = async (count: number) => JSON.parse((await hook.at(count)).body)
  try {
    await app.post('/api/notifications/services', { type: 'webhook', url: hook.url })
    const id = await chat.newSession()
    await app.post('/api/session/rename', { session_id: id, title: 'Named' })
    await chat.turn(id, 'go')
    const finished = await next(1)
    assert.is(finished.type, 'finished')
    assert.match(finished.data.body, /^Use ghp_\S+ in the_file\.txt\.$/)
    assert.not.ok(finished.data.body.replaceAll('_', '').includes('a1B2'.repeat(3)))

    await ask(app, id, 'deploy --dry-run')
    const [allow] = (await next(2)).data.actions
    const both = await Promise.all([answer(app, allow.token), answer(app, allow.token)])
    assert.equal(both.map(({ status }) => status).sort(), [200, 409], 'one of two at once counts')
    assert.is(await openApproval(app, id), null)

    await app.post('/api/notifications', {
      settings: { kinds: ['budget', 'task_done', 'task_failed'] },
    })
    const job = await create(app)
    await runNow(app, job)
    const done = await next(3)
    assert.equal(
      [done.type, done.data.title, done.data.body],
      ['task_done', 'Look', 'A task is done'],
    )
    await runNow(app, job)
    const broken = await next(4)
    assert.equal([broken.type, broken.data.title], ['task_failed', 'Look'])
    assert.match(broken.data.body, /^Task failed: .+/)

    await app.post('/api/budgets', { turn: { tokens: 150 } })
    await chat.send(id, 'go on')
    const asked = await next(5)
    assert.is(asked.type, 'budget')
    const deny = asked.data.actions.find(({ title }: { title: string }) => title === 'Deny')
    assert.is((await answer(app, deny.token)).status, 200)
    const over = await next(6)
    assert.is(over.type, 'budget')
    assert.match(
      over.data.body,
      /^The budget for this message is used up: [\d,]+ tokens of 150 tokens\.$/,
    )
  } finally {
    await chat.close()
    await hook.close()
  }
})

test('a kill between the fact and its delivery loses and doubles nothing; a turn that continues after it is reported once', async () => {
  const hook = await startReceiver()
  const held = gate()
  const model = await createProvider({ gate: held.opened }, { text: 'Went on.' })
  const app = await spawnApp()
  try {
    await app.post('/api/notifications/services', { type: 'webhook', url: hook.url })
    hook.replies.push({ status: 200, hang: true })
    const id = await newSession(app)
    await app.post('/api/chat', { session_id: id, message: 'hello' })
    await hook.at(1)
    await app.kill()
    await app.start()
    const { body } = await hook.at(2)
    assert.equal(JSON.parse(body).data.session_id, id)
    const outbox = join(app.state, 'notifications-outbox.json')
    const items = () => JSON.parse(readFileSync(outbox, 'utf8')).items.length
    while (items() > 0) await app.get('/health')
    await app.kill()
    await app.start()
    await app.get('/health')
    assert.is(hook.received.length, 2)

    // Killed after the end of a turn and of a task were recorded, and before they were queued; another task is missed.
    const { id: job } = (await app.post('/api/crons/create', JOB)).body.job
    await app.kill()
    const sent = JSON.parse(readFileSync(outbox, 'utf8'))
    writeFileSync(outbox, JSON.stringify({ ...sent, seen: [] }))
    const live = join(app.state, 'live')
    for (const name of readdirSync(live)) {
      const lines = readFileSync(join(live, name), 'utf8').trimEnd().split('\n')
      writeFileSync(join(live, name), `${lines.slice(0, -1).join('\n')}\n`)
    }
    const cron = join(app.home, 'cron')
    const jobs = JSON.parse(readFileSync(join(cron, 'jobs.json'), 'utf8'))
    jobs.jobs[0].next_run_at = new Date(Date.now() - 200 * 60_000).toISOString()
    writeFileSync(join(cron, 'jobs.json'), JSON.stringify(jobs))
    const at = Date.now() / 1_000
    const history = [
      { t: 'claimed', run: 'r1', at, job, name: 'Build', trigger: 'schedule', due: at },
      { t: 'ended', run: 'r1', at, how: 'ran', status: 'error', error: 'It broke.' },
    ]
    for (const line of history)
      appendFileSync(join(cron, 'history.jsonl'), `${JSON.stringify(line)}\n`)
    await app.start()
    await hook.at(5)
    const texts = hook.received.slice(2).map(({ body: text }) => JSON.parse(text))
    assert.equal(texts.map(({ type, data }) => [type, data.title, data.body]).toSorted(), [
      [JSON.parse(body).type, JSON.parse(body).data.title, JSON.parse(body).data.body],
      ['task_failed', 'Build', 'Task failed: It broke.'],
      ['task_failed', 'Look', 'Task failed: The server wasn’t running the 4 times it was due.'],
    ])

    writeFileSync(
      join(app.home, 'config.yaml'),
      `model:\n  provider: custom\n  base_url: ${model.url}\n  default: test-model\n`,
    )
    await app.post('/api/chat/start', { session_id: id, message: 'wait' })
    await model.arrived(1)
    await app.kill()
    await app.start()
    const ended = JSON.parse((await hook.at(6)).body)
    assert.equal([ended.type, ended.data.session_id, ended.data.body], ['finished', id, 'Went on.'])
    assert.is(hook.received.length, 6)
  } finally {
    await app.close()
    await hook.close()
    held.open()
    await model.close()
  }
})

test.run()
