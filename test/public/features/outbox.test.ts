/** Messages that wait for the network: by person, in order, once; what the server's refusals do to those behind. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError } from '../../../public/api.ts'
import { createOutbox, type Kept, type Outbox } from '../../../public/features/offline/outbox.ts'
import { createSending } from '../../../public/features/offline/sending.ts'
import type { InFlight } from '../../../public/features/offline/in-flight.ts'
import {
  createTurnActions,
  type TurnActionsOptions,
} from '../../../public/features/chat/turn-actions.ts'
import { createQueue } from '../../../public/features/queue/queue.ts'
import { createLeases } from '../../../public/features/offline/leases.ts'
import { createTestClock } from '../../_clock.ts'
import { fakeApi, fakeMemory } from '../_page.ts'

const test = suite('outbox')

const NO_CHOICE = { model: '', workspace: '', personality: '' }

/** Of one person. */
const fakeInFlight = (all: Map<string, Kept>, account: string): InFlight => ({
  list: () =>
    [...all.values()].filter(each => each.account === account).sort((a, b) => a.at - b.at),
  put: message => void all.set(message.id, structuredClone(message)),
  remove: id => void all.delete(id),
})

/** The database and the locks of one browser, for all its tabs. */
const fakeBrowser = () => {
  const rows = new Map<string, Kept>()
  const inFlight = new Map<string, Kept>()
  const locks = new Map<string, Promise<unknown>>()
  const outboxes: Outbox[] = []
  let ids = 0
  const clock = createTestClock(1_000)
  const open = (account: string, answers: Parameters<typeof fakeApi>[0] = {}) => {
    const service = fakeApi({ 'POST /api/chat/start': () => ({}), ...answers })
    const created: string[][] = []
    const sending = createSending({
      account,
      inFlight: fakeInFlight(inFlight, account),
      clock,
      newId() {
        ids += 1
        return `id-${ids}`
      },
      place: () => ({ profile: 'work', project: '' }),
      async exclusively(name, work) {
        const before = locks.get(name) ?? Promise.resolve()
        const done = before.then(work, work)
        locks.set(
          name,
          done.catch(() => undefined),
        )
        return done
      },
    })
    const outbox = createOutbox({
      api: service.api,
      sending,
      store: {
        load: async () => structuredClone([...rows.values()]),
        put: async message => void rows.set(message.id, structuredClone(message)),
        remove: async id => void rows.delete(id),
      },
      onChange: () => void Promise.all(outboxes.map(each => each.reload())),
      onKept: () => undefined,
      onCreated: (...names) => created.push(names),
    })
    outboxes.push(outbox)
    const keep = (text: string, session_id: string | null = 's1') =>
      outbox.keep({ id: sending.newId(), session_id, choice: NO_CHOICE, text, files: [] })
    const sent = () => service.of('POST /api/chat/start').map(({ message }) => message)
    const texts = () => outbox.list.value.map(({ text }) => text)
    return { outbox, sending, service, created, keep, sent, texts }
  }
  /** Tabs end as if the browser had killed them: their locks are free. */
  const kill = () => {
    outboxes.length = 0
    locks.clear()
  }
  return { rows, inFlight, clock, open, kill }
}

const refuse = (status: number, code: string) => () => {
  throw new ApiError(status, code, code ? { code } : {})
}
const lost = refuse(0, '')

type Page = ReturnType<ReturnType<typeof fakeBrowser>['open']>

/** What sends the messages of the composer in the chat `s1`. */
const turnsOf = (
  { outbox, sending, service }: Page,
  late: Partial<Pick<TurnActionsOptions, 'outbox' | 'clock'>> = {},
) => {
  const choices = {
    choice: signal(NO_CHOICE),
    ensureSession: async () => 's1',
    importIfHostSession: async () => 's1',
  }
  return createTurnActions({
    api: service.api,
    toasts: { showError: assert.unreachable },
    route: { sessionId: signal('s1') },
    sessions: { row: () => undefined },
    chat: {
      addPending: () => () => undefined,
      patch: () => undefined,
      reload: async () => undefined,
    },
    queue: createQueue(service),
    choices,
    outbox: signal(outbox),
    sending,
    ...late,
    attempt: async (work: () => Promise<unknown>) => void (await work()),
  } as unknown as TurnActionsOptions)
}

test('two messages on a slow connection are requested one after the other', async () => {
  const answers = [Promise.withResolvers<object>(), Promise.withResolvers<object>()]
  let asked = 0
  const page = fakeBrowser().open('ann', {
    'POST /api/chat/start': () => answers[asked++]!.promise,
  })
  await page.outbox.reload()
  const turns = turnsOf(page)
  const sent = [turns.startTurn('one', []), turns.startTurn('two', [])]
  answers[1]!.resolve({})
  await Promise.race([sent[1], new Promise(resolve => setTimeout(resolve))])
  assert.equal(page.sent(), ['one'])
  answers[0]!.resolve({})
  assert.equal(await Promise.all(sent), [true, true])
  assert.equal(page.sent(), ['one', 'two'])
})

test('a message that was written behind one without a reply waits with it, in order', async () => {
  const page = fakeBrowser().open('ann', {
    'POST /api/chat/start': lost,
    'POST /api/queue/add': lost,
  })
  await page.outbox.reload()
  const turns = turnsOf(page)
  const written = [turns.startTurn('one', []), turns.startTurn('two', [])]
  assert.equal(await Promise.all([...written, turns.enqueue('s1', 'three', [])]), [
    true,
    true,
    true,
  ])
  assert.equal(page.texts(), ['one', 'two', 'three'])
})

test('the messages of one person are neither shown nor sent nor deleted by another, and come back', async () => {
  const browser = fakeBrowser()
  const ann = browser.open('ann')
  await ann.outbox.reload()
  await ann.keep('of Ann')
  await ann.keep('a new chat', null)
  const bea = browser.open('bea')
  await bea.outbox.reload()
  assert.equal([bea.texts(), bea.outbox.of('s1'), bea.outbox.of(null)], [[], [], []])
  assert.ok(await bea.outbox.flush())
  const [{ id }] = ann.outbox.of('s1') as [Kept]
  assert.not(await bea.outbox.remove(id))
  await bea.outbox.retry(id)
  await bea.keep('of Bea')
  await bea.outbox.clear()
  assert.equal(bea.service.calls, [])
  const again = browser.open('ann', {
    'POST /api/session/new': () => ({ session: { session_id: 's2' } }),
  })
  await again.outbox.reload()
  assert.equal(again.texts(), ['of Ann', 'a new chat'])
  assert.ok(await again.outbox.flush())
  assert.equal(again.sent(), ['of Ann', 'a new chat'])
  assert.equal([...browser.rows.keys()], [])
})

test('a message of a build that knew one person belongs to the first person who opens the page', async () => {
  const browser = fakeBrowser()
  const old = {
    id: 'old-1',
    session_id: 's1',
    chat: 'c',
    choice: NO_CHOICE,
    text: 'old',
    files: [],
    at: 1,
  }
  browser.rows.set('old-1', old)
  const ann = browser.open('ann')
  await ann.outbox.flush()
  assert.equal(ann.sent(), ['old'])
})

test('after a refusal the ones behind it in the chat wait, others are sent; a retry sends them in order', async () => {
  for (const [status, code] of [
    [413, 'body_too_large'],
    [404, 'session_not_found'],
    [409, 'conflict'],
  ] as const) {
    const browser = fakeBrowser()
    const { outbox, service, keep, sent } = browser.open('ann')
    await outbox.reload()
    for (const text of ['first', 'second']) await keep(text)
    await keep('elsewhere', 's2')
    service.answers['POST /api/chat/start'] = ({ message }) =>
      message === 'first' ? refuse(status, code)() : {}
    assert.ok(await outbox.flush(), 'nothing to send later')
    assert.equal(sent(), ['first', 'elsewhere'])
    assert.equal(
      outbox.of('s1').map(({ error }) => error),
      [code, undefined],
    )
    assert.ok(await outbox.flush())
    assert.equal(sent().length, 2, 'not by itself')
    service.answers['POST /api/chat/start'] = () => ({})
    await outbox.retry(outbox.of('s1')[0]!.id)
    assert.equal(sent().slice(2), ['first', 'second'])
    assert.equal(outbox.list.value, [])
  }
})

test('what is not the fault of the message is sent later by itself, in order, and says why', async () => {
  for (const [status, code] of [
    [500, 'internal_error'],
    [503, 'unavailable'],
    [429, 'too_many_requests'],
    [400, 'queue_full'],
    [507, 'disk_full'],
  ] as const) {
    const browser = fakeBrowser()
    const { outbox, service, keep, sent } = browser.open('ann')
    await outbox.reload()
    for (const text of ['first', 'second']) await keep(text)
    service.answers['POST /api/chat/start'] = refuse(status, code)
    assert.not(await outbox.flush())
    assert.equal(
      outbox.of('s1').map(({ error, reason }) => [error, reason]),
      [
        [undefined, code],
        [undefined, undefined],
      ],
    )
    service.answers['POST /api/chat/start'] = () => ({})
    assert.ok(await outbox.flush())
    assert.equal(sent(), ['first', 'first', 'second'])
    const [one, other] = service.of('POST /api/chat/start')
    assert.is(one!.client_message_id, other!.client_message_id)
  }
})

test('a request without a reply ends the round; a busy chat queues on the server', async () => {
  const browser = fakeBrowser()
  const { outbox, service, keep, sent } = browser.open('ann', { 'POST /api/queue/add': () => ({}) })
  await outbox.reload()
  for (const text of ['first', 'second']) await keep(text)
  for (const nothing of [lost, refuse(502, ''), refuse(503, 'shutting_down')]) {
    service.answers['POST /api/chat/start'] = nothing
    assert.not(await outbox.flush())
    assert.is(outbox.of('s1').length, 2)
  }
  assert.equal(sent(), ['first', 'first', 'first'])
  service.answers['POST /api/chat/start'] = refuse(409, 'session_busy')
  assert.ok(await outbox.flush())
  assert.equal(
    service.of('POST /api/queue/add').map(({ message }) => message),
    ['first', 'second'],
  )
  assert.equal([...browser.rows], [])
})

test('someone else has signed in: nothing is sent, queued, or marked', async () => {
  const browser = fakeBrowser()
  const { outbox, service, keep } = browser.open('ann')
  await outbox.reload()
  await keep('of Ann')
  service.answers['POST /api/chat/start'] = refuse(409, 'other_account')
  assert.not(await outbox.flush())
  assert.equal(service.of('POST /api/queue/add'), [])
  assert.is([...browser.rows.values()][0]!.error, undefined)
})

test('two tabs send once; a message that is being sent can no longer be taken back for editing', async () => {
  const browser = fakeBrowser()
  let release = () => {}
  const slow = () => new Promise<object>(resolve => (release = () => resolve({})))
  const one = browser.open('ann', { 'POST /api/chat/start': slow })
  const two = browser.open('ann')
  await one.outbox.reload()
  await one.keep('once')
  const { id } = one.outbox.list.value[0]!
  const flushes = [one.outbox.flush(), two.outbox.flush()]
  while (one.service.calls.length === 0) await new Promise(resolve => setImmediate(resolve))
  const taken = two.outbox.remove(id)
  release()
  assert.not(await taken)
  assert.equal(await Promise.all(flushes), [true, true])
  assert.equal([one.sent(), two.sent()], [['once'], []])
})

test('a new chat is made once, where it was written, for all its messages; the clock does not change their order', async () => {
  const browser = fakeBrowser()
  const answers = { 'POST /api/session/new': () => ({ session: { session_id: 's9' } }) }
  const { outbox, service, keep, sent, created } = browser.open('ann', answers)
  await outbox.reload()
  await keep('first', null)
  browser.clock.set(5)
  await keep('second', null)
  service.answers['POST /api/chat/start'] = lost
  assert.not(await outbox.flush())
  service.answers['POST /api/chat/start'] = () => ({})
  assert.ok(await outbox.flush())
  assert.equal(sent(), ['first', 'first', 'second'])
  assert.equal(service.of('POST /api/session/new'), [{ profile: 'work' }])
  assert.is(created.length, 1)
})

const never = () => new Promise<never>(() => {})

test('messages of a page that was closed while sending are sent by the next one of the same person, once, in order, with the same ids', async () => {
  const browser = fakeBrowser()
  const closed = browser.open('ann')
  await closed.outbox.reload()
  const message = { choice: NO_CHOICE, session_id: 's1', files: ['a.png'] }
  void closed.sending.sending({ ...message, id: 'one', text: 'first' }, never)
  assert.is(browser.inFlight.get('one')?.text, 'first', 'stored before anything else happens')
  void closed.sending.sending({ ...message, id: 'two', text: 'second' }, never)
  await closed.sending.sending({ ...message, id: 'done', text: 'answered' }, async () => true)
  browser.kill()
  const bea = browser.open('bea')
  await bea.outbox.takeOver()
  assert.equal([bea.texts(), browser.inFlight.size], [[], 2])
  const next = browser.open('ann')
  await next.outbox.takeOver()
  assert.equal(next.texts(), ['first', 'second'])
  assert.ok(await next.outbox.flush())
  await next.outbox.takeOver()
  assert.equal(
    next.service.of('POST /api/chat/start').map(sent => [sent.client_message_id, sent.attachments]),
    [
      ['one', ['a.png']],
      ['two', ['a.png']],
    ],
  )
  assert.equal([browser.inFlight.size, browser.rows.size], [0, 0])
})

test('a message that an open page is sending is not taken over, and those behind it wait', async () => {
  const browser = fakeBrowser()
  const { outbox, sending, keep, sent } = browser.open('ann')
  await outbox.reload()
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const one = { id: 'one', choice: NO_CHOICE, session_id: 's1', text: 'first', files: [] }
  const inProgress = sending.sending(one, () => promise)
  const other = browser.open('ann')
  const taking = other.outbox.takeOver()
  await keep('second')
  assert.not(await outbox.flush(), 'later')
  assert.equal([sent(), other.texts()], [[], ['second']])
  resolve(true)
  assert.ok(await inProgress)
  await taking
  assert.ok(await outbox.flush())
  assert.equal([sent(), other.sent(), other.texts()], [['second'], [], []])
})

test('a message keeps its chat and its place in the order: the new chat that was created for it, and the time at which it was written', async () => {
  const browser = fakeBrowser()
  const { outbox, sending, keep } = browser.open('ann')
  await outbox.reload()
  const one = { id: 'one', choice: NO_CHOICE, session_id: null, text: 'first', files: [] }
  void sending.sending(one, async inSession => {
    inSession('s7')
    return await never()
  })
  await keep('second', 's7')
  browser.kill()
  const next = browser.open('ann')
  await next.outbox.takeOver()
  await next.outbox.flush()
  assert.equal(next.sent(), ['first', 'second'])
  assert.equal(next.service.of('POST /api/session/new'), [])
})

test('a message that is written before the outbox is loaded is stored at once, waits behind earlier ones, and is kept when it fails', async () => {
  const browser = fakeBrowser()
  const page = browser.open('ann')
  await page.keep('from before')
  page.service.answers['POST /api/chat/start'] = () => {
    throw new ApiError(0, 'unreachable')
  }
  const clock = createTestClock()
  const loading = signal<Outbox | undefined>(undefined)
  const turns = turnsOf(page, { outbox: loading, clock })
  const started = turns.startTurn('early', [])
  assert.equal(
    [...browser.inFlight.values()].map(({ text }) => text),
    ['early'],
  )
  assert.equal(page.sent(), [])
  await page.outbox.reload()
  loading.value = page.outbox
  assert.ok(await started)
  assert.equal([page.texts(), browser.inFlight.size], [['from before', 'early'], 0])

  // Closed before that: the next page takes it over, in the new chat it was written in.
  const closed = turnsOf(browser.open('ann'), { outbox: signal(undefined), clock })
  void closed.startTurn('closed too soon', [])
  browser.kill()
  const next = browser.open('ann')
  await next.outbox.takeOver()
  assert.equal(next.texts(), ['from before', 'early', 'closed too soon'])
})

test('an outbox that does not load in time holds no message back', async () => {
  const page = fakeBrowser().open('ann')
  const clock = createTestClock()
  const turns = turnsOf(page, { outbox: signal(undefined), clock })
  const started = turns.startTurn('early', [])
  await clock.advance(2_000)
  assert.ok(await started)
  assert.equal(page.sent(), ['early'])
})

test('leases: one tab after the other; a closed or killed tab holds nothing, also when the clock is set back', async () => {
  const storage = fakeMemory()
  const clock = createTestClock()
  const open = (tab: string) => createLeases({ storage, tab, clock })
  const [a, b] = [open('a'), open('b')]
  const order: string[] = []
  const works = ['a1', 'a2', 'b1'].map(() => Promise.withResolvers<void>())
  const run = (tab: typeof a, name: string, at: number) =>
    tab.exclusively('chat', async () => {
      order.push(name)
      await works[at]!.promise
    })
  const done = [run(a, 'a1', 0), run(a, 'a2', 1), run(b, 'b1', 2)]
  assert.equal(order, ['a1'], 'in the same tick')
  // Longer than a lease: it is renewed while the work runs.
  await clock.advance(20_000)
  assert.equal(order, ['a1'])
  works[0]!.resolve()
  await done[0]
  works[1]!.resolve()
  await done[1]
  assert.equal(order, ['a1', 'a2'])
  await clock.advance(300)
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(order, ['a1', 'a2', 'b1'])
  // Closed while its work runs.
  b.dropAll()
  await a.exclusively('chat', async () => void order.push('a3'))
  // Killed: what it stored stays.
  storage.write('lease:chat', { tab: 'killed', until: clock.now() + 6_000 })
  const last = a.exclusively('chat', async () => void order.push('a4'))
  await clock.advance(3_000)
  assert.is(order.at(-1), 'a3')
  await clock.advance(3_300)
  await last
  storage.write('lease:chat', { tab: 'ahead', until: clock.now() + 1e9 })
  await a.exclusively('chat', async () => void order.push('a5'))
  assert.equal(order.slice(3), ['a3', 'a4', 'a5'])
})

test('leases: one that was waited for is renewed, also when other work of its tab has ended', async () => {
  const storage = fakeMemory()
  const clock = createTestClock()
  const settled = () => new Promise(resolve => setImmediate(resolve))
  const leases = createLeases({ storage, tab: 'a', clock })
  const other = Promise.withResolvers<void>()
  const work = Promise.withResolvers<void>()
  const done = leases.exclusively('other', () => other.promise)
  storage.write('lease:chat', { tab: 'killed', until: clock.now() + 5_000 })
  const waited = leases.exclusively('chat', () => work.promise)
  other.resolve()
  await done
  await clock.advance(5_400)
  await settled()
  await clock.advance(20_000)
  const lease = storage.read<{ tab: string; until: number } | null>('lease:chat', null)
  assert.is(lease?.tab, 'a')
  assert.ok(lease!.until > clock.now(), 'another tab may not take it')
  work.resolve()
  await waited
  assert.is(storage.read('lease:chat', null), null)
})

test('without a database the text stays in the composer', async () => {
  const outbox = createOutbox({
    api: fakeApi({}).api,
    sending: createSending({
      ...{ account: 'ann', clock: createTestClock(), newId: () => 'a' },
      inFlight: fakeInFlight(new Map(), 'ann'),
      place: () => ({ profile: '', project: '' }),
      exclusively: (_, work) => work(),
    }),
    store: {
      load: async () => [],
      put: () => Promise.reject(new DOMException('full', 'QuotaExceededError')),
      remove: async () => undefined,
    },
    ...{ onChange() {}, onKept() {}, onCreated() {} },
  })
  const message = { id: 'a', session_id: 's', choice: NO_CHOICE, text: 'kept', files: [] }
  assert.not(await outbox.keep(message))
})

test.run()
