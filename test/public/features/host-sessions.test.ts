/** Host sessions, updates and dictation: import on first change, polling without live updates, messages. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../../public/api.ts'
import { Connection } from '../../../public/features/shell/connection.ts'
import {
  Dictation,
  type Recognition,
  type Voice,
} from '../../../public/features/composer/dictation.ts'
import { HostSessions } from '../../../public/features/sessions/host-sessions.ts'
import { isHostSession } from '../../../public/features/sessions/host-session.ts'
import { Sessions } from '../../../public/features/sessions/sessions.ts'
import { SettingsState } from '../../../public/features/settings/settings.ts'
import { Toasts } from '../../../public/features/shell/toast.ts'
import { checkForUpdatesOnce } from '../../../public/features/updates/update-check.ts'
import { Updates } from '../../../public/features/updates/updates.ts'
import { fakePlatform, fakeRow, settle } from '../_page.ts'

const test = suite('page: host sessions, updates, dictation')

const refuse = (status: number, message: string) => () => {
  throw new ApiError(status, message)
}

const gatewayWith = (answers: Parameters<typeof fakePlatform>[0] = {}, shown = true) => {
  const fake = fakePlatform({ 'POST /api/settings': input => input, ...answers })
  const toasts = new Toasts(fake.platform)
  const settings = new SettingsState(fake.platform, toasts)
  settings.current.value = { ...settings.current.value, show_cli_sessions: shown }
  const loads = { count: 0 }
  const reload = async () => {
    loads.count += 1
  }
  const connection = new Connection(fake.platform, reload)
  const profile = signal('default')
  const gateway = new HostSessions({ ...fake, settings, connection, toasts, profile, reload })
  const say = (data: { alive: boolean; profile?: string; changed?: boolean }) =>
    gateway.receive({ source: 'gateway', n: 1, type: 'gateway', data })
  return { ...fake, toasts, settings, loads, connection, gateway, say }
}

test('503 of the gateway stream: a toast, and polling every 30 seconds until it is alive again', async () => {
  const path = 'GET /api/sessions/gateway/stream'
  const { gateway, toasts, clock, loads, connection, service } = gatewayWith({
    [path]: refuse(503, 'watcher not started'),
  })
  await gateway.probe()
  assert.is(connection.watchesHostSessions.value, false)
  assert.is(toasts.list.value.length, 1)
  await clock.advance(30_000)
  await settle()
  assert.is(loads.count, 1)
  await clock.advance(30_000)
  await settle()
  assert.is(loads.count, 2)
  service.answers[path] = () => ({ ok: true })
  await gateway.probe()
  await clock.advance(60_000)
  await settle()
  assert.is(loads.count, 2)
})

test("makes no requests and doesn't poll while CLI sessions are hidden", async () => {
  const { gateway, service, say, toasts, connection, loads } = gatewayWith({}, false)
  await gateway.probe()
  say({ alive: false, profile: 'default', changed: true })
  assert.equal([service.calls.length, toasts.list.value.length, loads.count], [0, 0, 0])
  assert.is(connection.watchesHostSessions.value, true)
})

test('reloads the list on a change of this profile only', () => {
  const { say, loads } = gatewayWith()
  say({ alive: true, profile: 'other', changed: true })
  say({ alive: true, profile: 'default' })
  assert.is(loads.count, 0)
  say({ alive: true, profile: 'default', changed: true })
  assert.is(loads.count, 1)
})

test('showing CLI sessions saves the setting, reloads the list and probes', async () => {
  const { gateway, service, loads } = gatewayWith(
    { 'GET /api/sessions/gateway/stream': () => ({ ok: true }) },
    false,
  )
  await gateway.show(true)
  assert.equal(service.of('POST /api/settings'), [{ show_cli_sessions: true }])
  assert.is(service.of('GET /api/sessions/gateway/stream').length, 1)
  assert.is(loads.count, 1)
})

test('imports a host session on its first change, once', async () => {
  const cli = fakeRow('c', { is_cli_session: true, source_tag: 'cli' })
  const taken = { ...cli, _cli_origin: 'c' }
  const { platform, service } = fakePlatform({
    'GET /api/sessions': () => ({ sessions: [cli] }),
    'POST /api/session/import_cli': () => ({ session: { ...taken, messages: [] }, imported: true }),
    'POST /api/session/pin': () => ({ session: { ...taken, pinned: true } }),
  })
  const sessions = new Sessions({
    platform,
    toasts: new Toasts(platform),
    profile: signal('default'),
  })
  await sessions.load()
  assert.ok(isHostSession(sessions.row('c')))
  await sessions.pin('c', true)
  await sessions.pin('c', true)
  assert.not.ok(isHostSession(sessions.row('c')))
  assert.is(sessions.row('c')?.pinned, true)
  assert.equal(service.calls.map(({ route }) => route).slice(1), [
    'POST /api/session/import_cli',
    'POST /api/session/pin',
    'POST /api/session/pin',
  ])
  assert.is(await sessions.importHostSession('c'), false)
})

const updatesWith = (answers: Parameters<typeof fakePlatform>[0]) => {
  const fake = fakePlatform(answers)
  const reloads = { count: 0 }
  const reload = () => {
    reloads.count += 1
  }
  const updates = new Updates({ platform: fake.platform, simulate: false, reload })
  return { ...fake, updates, reloads }
}

test('shows a rejected update and offers a retry, or force', async () => {
  const refused = { ok: false, message: 'no', diverged: true as const }
  const { updates, service } = updatesWith({
    'POST /api/updates/apply': () => refused,
    'POST /api/updates/force': () => ({ ok: true, message: 'ok', restart_scheduled: false }),
    'GET /api/updates/check': () => ({ webui: null, agent: null }),
  })
  await updates.apply('agent')
  assert.equal(updates.results.value.agent, refused)
  assert.is(updates.applying.value.kind, 'idle')
  await updates.apply('agent', true)
  assert.is(updates.results.value.agent?.ok, true)
  assert.is(service.of('GET /api/updates/check').length, 1)
})

test('after the restart the page of the new version is loaded', async () => {
  const { updates, clock, service, reloads } = updatesWith({
    'POST /api/updates/apply': () => ({ ok: true, message: 'ok', restart_scheduled: true }),
    'GET /health': () => ({ uptime_seconds: 1_000 }),
  })
  await updates.apply('webui')
  assert.is(updates.applying.value.kind, 'restarting')
  const look = async () => {
    await clock.advance(2_500)
    await settle()
  }
  await look()
  assert.is(reloads.count, 0, 'the old one still answers')
  service.answers['GET /health'] = refuse(0, 'gone')
  await look()
  service.answers['GET /health'] = () => ({ uptime_seconds: 0.5 })
  await look()
  assert.is(reloads.count, 1)
})

test("reports a server that doesn't restart", async () => {
  const { updates, clock } = updatesWith({
    'POST /api/updates/apply': () => ({ ok: true, message: 'ok', restart_scheduled: true }),
    'GET /health': refuse(0, 'gone'),
  })
  await updates.apply('webui')
  for (let at = 0; at < 130; at += 1) {
    await clock.advance(500)
    await settle()
  }
  assert.is(updates.applying.value.kind, 'late')
})

test('a failed check is a sentence', async () => {
  const { updates } = updatesWith({ 'GET /api/updates/check': refuse(500, 'broken') })
  await updates.check(true)
  assert.equal([updates.problem.value, updates.checking.value], ['broken', false])
})

test('a tab looks for updates once, and never when that is switched off', async () => {
  const { platform, service } = fakePlatform({
    'GET /api/updates/check': () => ({ webui: { name: 'webui', behind: 2 }, agent: null }),
  })
  let received = 0
  const report = () => {
    received += 1
  }
  await checkForUpdatesOnce({ platform, enabled: false, simulate: false, notify: report })
  assert.is(service.calls.length, 0)
  await checkForUpdatesOnce({ platform, enabled: true, simulate: true, notify: report })
  await checkForUpdatesOnce({ platform, enabled: true, simulate: true, notify: report })
  assert.equal([service.of('GET /api/updates/check'), received], [[{ simulate: '1' }], 1])
})

const dictationWith = (voice: Partial<Voice>, answers: Parameters<typeof fakePlatform>[0] = {}) => {
  const { service } = fakePlatform(answers)
  const written: string[] = []
  const received: string[] = []
  const dictation = new Dictation({
    api: service.api,
    voice: { recognition: null, record: null, language: 'en', ...voice },
    write: text => written.push(text),
    notify: sentence => received.push(sentence),
    fail: error => received.push(String(error)),
  })
  return { dictation, written, received, service }
}

test('hides the button without microphone or transcription', async () => {
  const none = dictationWith({})
  await none.dictation.checkAvailability()
  assert.is(none.dictation.available.value, false)
  const record = async () => assert.unreachable() as never
  const deaf = dictationWith(
    { record },
    { 'GET /api/transcribe/capability': () => ({ available: false }) },
  )
  await deaf.dictation.checkAvailability()
  assert.is(deaf.dictation.available.value, false)
})

test('uses speech recognition and reports blocked microphone access', async () => {
  const made: Recognition[] = []
  const recognition = () => {
    const one = { start() {}, stop: () => one.onend?.() } as Recognition
    made.push(one)
    return one
  }
  const { dictation, written, received } = dictationWith({ recognition })
  assert.is(dictation.available.value, true)
  await dictation.toggle()
  assert.is(dictation.state.value, 'listening')
  const results = [
    { isFinal: true, 0: { transcript: 'old' } },
    { isFinal: true, 0: { transcript: ' hello ' } },
    { isFinal: false, 0: { transcript: 'wor' } },
  ]
  made[0]!.onresult?.({ resultIndex: 1, results })
  assert.equal(written, ['hello'])
  await dictation.toggle()
  assert.is(dictation.state.value, 'idle')
  await dictation.toggle()
  made[1]!.onerror?.({ error: 'not-allowed' })
  made[1]!.onend?.()
  assert.equal([received.length, dictation.state.value], [1, 'idle'])
})

test('otherwise sends a recording to the server and reports errors', async () => {
  let released = 0
  const recorder = {
    mimeType: 'audio/webm',
    start() {},
    stop: () => recorder.onstop?.(),
  } as never as {
    mimeType: string
    ondataavailable: ((event: { data: Blob }) => void) | null
    onstop: (() => void) | null
  }
  const record = async () => ({
    recorder: recorder as never,
    release: () => {
      released += 1
    },
  })
  const { dictation, written, received, service } = dictationWith(
    { record },
    {
      'GET /api/transcribe/capability': () => ({ available: true }),
      'POST /api/transcribe': () => ({ ok: true, transcript: 'hello' }),
    },
  )
  await dictation.checkAvailability()
  await dictation.toggle()
  recorder.ondataavailable?.({ data: new Blob(['x']) })
  await dictation.toggle()
  await settle()
  assert.equal([written, released, dictation.state.value], [['hello'], 1, 'idle'])
  const form = service.calls.at(-1)!.input as unknown as FormData
  assert.is((form.get('file') as File).name, 'voice-input.webm')
  service.answers['POST /api/transcribe'] = refuse(503, 'nobody hears')
  await dictation.toggle()
  await dictation.toggle()
  await settle()
  assert.match(received.join(), 'nobody hears')
  assert.is(dictation.state.value, 'idle')
})

test('when another chat is shown the microphone is closed, also if it is allowed only then', async () => {
  let stopped = 0
  const listening = dictationWith({
    recognition: () => ({ start() {}, stop: () => (stopped += 1) }) as never as Recognition,
  })
  await listening.dictation.toggle()
  listening.dictation.leave()
  assert.is(stopped, 1)

  const allowed = Promise.withResolvers<void>()
  let released = 0
  const recorder = { start: () => assert.unreachable('it records'), mimeType: 'audio/webm' }
  const asking = dictationWith({
    async record() {
      await allowed.promise
      return { recorder: recorder as never, release: () => (released += 1) }
    },
  })
  const toggled = asking.dictation.toggle()
  asking.dictation.leave()
  allowed.resolve()
  await toggled
  assert.equal([released, asking.dictation.state.value, asking.received], [1, 'idle', []])
})

test.run()
