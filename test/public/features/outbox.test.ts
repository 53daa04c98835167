/** Messages that were written: sent in order, once, by person and chat; what refusals, lost replies, other pages and a new chat do to them. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ApiError, type ApiCall } from '../../../public/api.ts'
import {
  type Listed,
  type NewMessage,
  noChoice,
  Outbox,
  type Outgoing,
} from '../../../public/features/messages/outbox.ts'
import type { JsonStorage } from '../../../public/platform.ts'
import { createTestClock } from '../../_clock.ts'
import { fakeApi, fakeMemory, fakeRow, settle } from '../_page.ts'

const test = suite('outbox')

const START = 'POST /api/chat/start'
const QUEUE = 'POST /api/queue/add'
const NEW = 'POST /api/session/new'

type Answers = Parameters<typeof fakeApi>[0]

const refuse = (status: number, code: string) => () => {
  throw new ApiError(status, code, code ? { code } : {})
}
const lost = refuse(0, '')
const never = () => new Promise<never>(() => {})

/** A browser with its storage and locks, for all its tabs; and a server that knows the requests of before by their keys. */
const fakeBrowser = ({ hasLocks = true } = {}) => {
  const people = new Map<string, ReturnType<typeof fakeMemory>>()
  const memoryOf = (account: string) => {
    const memory = people.get(account) ?? fakeMemory()
    people.set(account, memory)
    return memory
  }
  const locks = new Map<string, Promise<unknown>>()
  const tabs = new Map<Outbox, string>()
  const replies = new Map<string, { input: string; reply: unknown }>()
  let ids = 0
  let sessions = 0
  const clock = createTestClock(1_000)
  const open = (account: string, answers: Answers = {}) => {
    const service = fakeApi({
      [START]: () => ({}),
      [QUEUE]: () => ({ ok: true }),
      [NEW]() {
        sessions += 1
        return { session: fakeRow(`new-${sessions}`) }
      },
      ...answers,
    })
    const api = (async (route: string, input: object, { key }: { key?: string } = {}) => {
      const known = key === undefined ? undefined : replies.get(`${route} ${key}`)
      const text = JSON.stringify(input)
      if (known && known.input !== text) throw new ApiError(422, 'Idempotency-Key was used', {})
      if (known) return known.reply
      const reply = await service.api(route as never, input as never)
      if (key !== undefined) replies.set(`${route} ${key}`, { input: text, reply })
      return reply
    }) as unknown as ApiCall
    const memory = memoryOf(account)
    /** Other tabs read again what this one has changed; the event comes later. */
    const changed = () =>
      queueMicrotask(() => {
        for (const [tab, owner] of tabs) if (owner === account && tab !== outbox) tab.reload()
      })
    const storage: JsonStorage = {
      ...memory,
      write(key, value) {
        memory.write(key, structuredClone(value))
        changed()
      },
      remove(key) {
        memory.remove(key)
        changed()
      },
    }
    const created: string[][] = []
    const unfollowed = new Set<string>()
    const outbox = new Outbox({
      ...{ api, storage, clock },
      newId() {
        ids += 1
        return `id-${ids}`
      },
      place: () => ({ profile: 'work', project: '' }),
      async exclusively(name, work) {
        if (!hasLocks) return work()
        const lock = `${account} ${name}`
        const before = locks.get(lock) ?? Promise.resolve()
        const done = before.then(work, work)
        locks.set(
          lock,
          done.catch(() => undefined),
        )
        return done
      },
      onCreated: (chat, { session_id }) => void created.push([chat, session_id]),
      beforeSend: async () => undefined,
      isFollowed: id => !unfollowed.has(id),
    })
    tabs.set(outbox, account)
    const notes: string[] = []
    outbox.onWaiting = () => void notes.push('waiting')
    const send = (text: string, session_id: string | null = 's1', more: Partial<NewMessage> = {}) =>
      outbox.send({
        ...{ session_id, chat: session_id ?? 'c', choice: noChoice, text, files: [] },
        ...more,
      })
    /** What the server was asked to start, also in vain. */
    const sent = () => service.of(START).map(({ message }) => message)
    const listed = () => outbox.list.value.map(({ text, state }) => `${text}: ${state}`)
    /** Writes messages while the server cannot be reached. */
    const writeOffline = async (...texts: (string | [string, string | null])[]) => {
      const { [START]: start, [NEW]: create } = service.answers
      Object.assign(service.answers, { [START]: lost, [NEW]: lost })
      for (const each of texts) {
        const [text, session] = typeof each === 'string' ? [each, 's1'] : each
        assert.is(await send(text, session), 'waiting')
      }
      Object.assign(service.answers, { [START]: start, [NEW]: create })
      service.calls.length = 0
    }
    return {
      ...{
        outbox,
        service,
        created,
        unfollowed,
        notes,
        send,
        sent,
        listed,
        storage,
        memory,
        writeOffline,
      },
      stored: () => storedIn(memory),
    }
  }
  /** Tabs end as if the browser had killed them: their locks are free. */
  const kill = () => {
    tabs.clear()
    locks.clear()
  }
  return { clock, open, kill, memoryOf }
}

const storedIn = ({ values }: { values: Map<string, unknown> }): Outgoing[] =>
  [...values].flatMap(([key, value]) => (key.startsWith('out:') ? [value as Outgoing] : []))

const idsOf = (list: readonly Listed[]): string[] => list.map(({ id }) => id)

/** A request that the test answers. */
const held = () => {
  const answer = Promise.withResolvers<object>()
  return { ...answer, reply: () => answer.promise }
}

test('a message is stored before it is sent, until the server has it, and listed until its event arrives', async () => {
  const start = held()
  const { send, outbox, listed, stored } = fakeBrowser().open('ann', { [START]: start.reply })
  const sending = send('one', 's1', { files: ['a.png'] })
  assert.equal(
    stored().map(({ text, files, session_id }) => [text, files, session_id]),
    [['one', ['a.png'], 's1']],
  )
  assert.equal(listed(), ['one: sending'])
  start.resolve({ effective_model: 'm' })
  assert.is(await sending, 'started')
  assert.equal([listed(), stored()], [['one: accepted'], []])
  assert.ok(outbox.confirm(idsOf(outbox.list.value)))
  assert.not(outbox.confirm(['id-1']))
  assert.equal(listed(), [])
})

test('an accepted message is listed only while its event is awaited', async () => {
  const { send, unfollowed, listed } = fakeBrowser().open('ann')
  unfollowed.add('s2').add('new-1')
  await send('one')
  await send('elsewhere', 's2')
  await send('of a new chat that was left', null)
  assert.equal(listed(), ['one: accepted'])
})

test('two messages on a slow connection are requested one after the other, also in the same millisecond', async () => {
  const starts = [held(), held()]
  let asked = 0
  const { send, sent, outbox } = fakeBrowser().open('ann', {
    [START]: () => starts[asked++]!.reply(),
  })
  const sending = [send('one'), send('two')]
  const [one, two] = outbox.list.value
  assert.ok(one!.at < two!.at)
  starts[1]!.resolve({})
  await settle()
  assert.equal(sent(), ['one'])
  starts[0]!.resolve({})
  await Promise.all(sending)
  assert.equal(sent(), ['one', 'two'])
})

test('messages of different chats do not wait for each other', async () => {
  const { send, sent } = fakeBrowser().open('ann', {
    [START]: ({ session_id }) => (session_id === 's1' ? never() : {}),
  })
  void send('one')
  await send('other', 's2')
  assert.equal(sent(), ['one', 'other'])
})

test('a message that was written behind one without a reply waits with it, in order, although the connection is back', async () => {
  const start = held()
  const page = fakeBrowser().open('ann', { [START]: start.reply })
  const { send, sent, listed, service, outbox, notes } = page
  const sending = [send('one'), send('two'), send('three', 's1', { behind: true })]
  await settle()
  service.answers[START] = () => ({})
  start.reject(new ApiError(0, ''))
  assert.equal(await Promise.all(sending), ['waiting', 'waiting', 'waiting'])
  assert.equal(listed(), ['one: waiting', 'two: waiting', 'three: waiting'])
  assert.equal([sent(), service.of(QUEUE), notes.length], [['one'], [], 3])
  assert.ok(await outbox.flush())
  assert.equal(sent(), ['one', 'one', 'two'])
  assert.equal(
    service.of(QUEUE).map(({ message }) => message),
    ['three'],
  )
  const ids = service.of(START).map(({ client_message_id: id }) => id)
  assert.equal([ids[0] === ids[1], new Set(ids).size], [true, 2])
})

test('a stalled connection is one without a reply', async () => {
  const { send } = fakeBrowser().open('ann', {
    [START]() {
      throw new DOMException('', 'TimeoutError')
    },
  })
  assert.is(await send('one'), 'waiting')
})

test('a refused message is given back: nothing of it is stored or listed, and the one behind it is sent', async () => {
  for (const [status, code] of [
    [413, 'body_too_large'],
    [429, 'too_many_requests'],
    [500, 'internal_error'],
    [409, 'other_account'],
    [400, 'queue_full'],
  ] as const) {
    const { send, sent, listed, stored } = fakeBrowser().open('ann', {
      [START]: ({ message }) => (message === 'one' ? refuse(status, code)() : {}),
    })
    const sending = [send('one'), send('two')]
    const [refused, other] = await Promise.allSettled(sending)
    assert.is(refused?.status === 'rejected' && refused.reason.code, code)
    assert.is(other?.status, 'fulfilled')
    assert.equal([sent(), listed(), stored()], [['one', 'two'], ['two: accepted'], []])
  }
})

test('a chat that is busy or compacting has the message queued by the server; one behind a turn is queued at once', async () => {
  const { send, service, listed } = fakeBrowser().open('ann', {
    [START]: refuse(409, 'session_busy'),
  })
  assert.is(await send('one'), 'queued')
  service.answers[START] = refuse(409, 'session_compacting')
  assert.is(await send('two'), 'queued')
  assert.is(await send('three', 's1', { behind: true }), 'queued')
  assert.equal(
    service.of(QUEUE).map(({ message, client_message_id: id }) => [message, id]),
    [
      ['one', 'id-1'],
      ['two', 'id-2'],
      ['three', 'id-3'],
    ],
  )
  assert.equal([service.of(START).length, listed()], [2, []])
  service.answers[QUEUE] = refuse(400, 'queue_full')
  const refused = await send('four').catch(({ code }) => code)
  assert.equal([refused, listed()], ['queue_full', []])
})

test('an edited message is sent as a replacement, also when it had to wait; it is never queued', async () => {
  const { send, service, outbox, writeOffline, listed } = fakeBrowser().open('ann')
  await writeOffline('before')
  assert.is(await send('new', 's1', { replace: 'm1' }), 'waiting')
  assert.ok(await outbox.flush())
  assert.equal(
    service.of(START).map(({ message, replace }) => [message, replace]),
    [
      ['before', undefined],
      ['new', 'm1'],
    ],
  )
  outbox.confirm(idsOf(outbox.list.value))
  service.answers[START] = refuse(409, 'session_busy')
  const code = await send('newer', 's1', { replace: 'm1' }).catch(error => error.code)
  assert.equal([code, service.of(QUEUE), listed()], ['session_busy', [], []])
})

test('the event of a message may arrive before its reply, and the reply may be lost: it is sent and shown once', async () => {
  for (const end of ['accepted', 'lost', 'refused'] as const) {
    const start = held()
    const page = fakeBrowser().open('ann', { [START]: start.reply })
    const { outbox, send, listed, stored } = page
    const sending = send('one')
    await settle()
    outbox.confirm(idsOf(outbox.list.value))
    assert.equal([listed(), stored()], [[], []])
    if (end === 'accepted') start.resolve({})
    else start.reject(end === 'lost' ? new ApiError(0, '') : new ApiError(500, 'failed'))
    const kind = await sending
    assert.is(kind, end === 'accepted' ? 'started' : 'queued')
    assert.equal([listed(), stored(), page.notes], [[], [], []])
  }
})

test('the event of a waiting message arrives while it is sent again: it is not listed as refused', async () => {
  for (const [status, code] of [
    [400, 'invalid'],
    [500, 'internal_error'],
    [0, ''],
  ] as const) {
    const start = held()
    const page = fakeBrowser().open('ann')
    const { outbox, listed, stored, writeOffline, service } = page
    await writeOffline('one', 'two')
    service.answers[START] = ({ message }) => (message === 'one' ? start.reply() : {})
    const flushing = outbox.flush()
    await settle()
    outbox.confirm(['id-1'])
    start.reject(new ApiError(status, '', { code }))
    await flushing
    await outbox.flush()
    assert.equal([listed(), stored()], [['two: accepted'], []])
  }
})

test('a snapshot settles what had been accepted before it was requested, and nothing else', async () => {
  const { outbox, send, listed } = fakeBrowser().open('ann')
  await send('before')
  await send('elsewhere', 's2')
  const mark = outbox.mark()
  await send('since')
  outbox.settle('s1', mark)
  assert.equal(listed(), ['elsewhere: accepted', 'since: accepted'])
  outbox.settle('s1', outbox.mark())
  assert.equal(listed(), ['elsewhere: accepted'])
})

test('the messages of one person are neither shown nor sent nor deleted by another, and come back', async () => {
  const browser = fakeBrowser()
  const ann = browser.open('ann')
  await ann.writeOffline('of Ann', ['a new chat', null])
  const bea = browser.open('bea')
  assert.equal([bea.listed(), bea.outbox.of('s1', 's1'), bea.outbox.of('c', null)], [[], [], []])
  assert.ok(await bea.outbox.flush())
  await bea.outbox.takeOver()
  const [{ id }] = ann.stored() as [Outgoing]
  assert.not(await bea.outbox.remove(id))
  await bea.outbox.retry(id)
  bea.outbox.clear()
  assert.equal(bea.service.calls, [])
  browser.kill()
  const again = browser.open('ann')
  assert.equal(again.listed(), ['of Ann: waiting', 'a new chat: waiting'])
  assert.ok(await again.outbox.flush())
  assert.equal(again.sent(), ['of Ann', 'a new chat'])
  assert.equal(again.stored(), [])
})

test('after a refusal the ones behind it in the chat wait, others are sent; a retry sends them in order', async () => {
  for (const [status, code] of [
    [413, 'body_too_large'],
    [404, 'session_not_found'],
    [409, 'conflict'],
  ] as const) {
    const { outbox, service, send, sent, writeOffline, stored } = fakeBrowser().open('ann')
    await writeOffline('first', 'second', ['elsewhere', 's2'])
    service.answers[START] = ({ message }) => (message === 'first' ? refuse(status, code)() : {})
    assert.ok(await outbox.flush(), 'nothing to send later')
    assert.equal(sent(), ['first', 'elsewhere'])
    assert.equal(
      outbox.of('s1', 's1').map(({ error }) => error),
      [code, undefined],
    )
    assert.ok(await outbox.flush())
    assert.equal(sent().length, 2, 'not by itself')
    // Written now, and not sent before those that wait.
    assert.is(await send('third'), 'waiting')
    await send('elsewhere too', 's2')
    assert.equal(sent().slice(2), ['elsewhere too'])
    service.answers[START] = () => ({})
    await outbox.retry(outbox.of('s1', 's1')[0]!.id)
    assert.equal(sent().slice(3), ['first', 'second', 'third'])
    assert.equal(stored(), [])
  }
})

test('when the refused message is removed, those behind it are sent', async () => {
  const { outbox, service, sent, writeOffline, notes } = fakeBrowser().open('ann')
  await writeOffline('first', 'second')
  service.answers[START] = refuse(413, 'body_too_large')
  await outbox.flush()
  service.answers[START] = () => ({})
  notes.length = 0
  outbox.onWaiting = () => void outbox.flush()
  assert.ok(await outbox.remove(outbox.list.value[0]!.id))
  await settle()
  assert.equal(sent(), ['first', 'second'])
})

test('what is not the fault of the message is sent later by itself, in order, and says why', async () => {
  for (const [status, code] of [
    [500, 'internal_error'],
    [503, 'unavailable'],
    [429, 'too_many_requests'],
    [400, 'queue_full'],
    [507, 'disk_full'],
    [401, 'sign_in_required'],
    [409, 'other_account'],
  ] as const) {
    const { outbox, service, sent, writeOffline, stored } = fakeBrowser().open('ann')
    await writeOffline('first', 'second')
    service.answers[START] = refuse(status, code)
    assert.not(await outbox.flush())
    assert.equal(
      outbox.of('s1', 's1').map(({ error, reason }) => [error, reason]),
      [
        [undefined, code],
        [undefined, undefined],
      ],
    )
    assert.equal(
      stored().map(({ error }) => error),
      [undefined, undefined],
    )
    assert.equal(service.of(QUEUE), [])
    service.answers[START] = () => ({})
    assert.ok(await outbox.flush())
    assert.equal(sent(), ['first', 'first', 'second'])
    const [one, other] = service.of(START)
    assert.is(one!.client_message_id, other!.client_message_id)
  }
})

test('a request without a reply ends the round; a busy chat queues on the server', async () => {
  const { outbox, service, sent, writeOffline, stored } = fakeBrowser().open('ann')
  await writeOffline('first', 'second')
  const unanswered = [
    ...[lost, refuse(502, ''), refuse(503, 'shutting_down')],
    // Of a forwarder: the owner was killed, is not there yet, or waits for its database.
    ...[refuse(502, 'bad_gateway'), refuse(503, 'server_starting')],
    refuse(503, 'database_unavailable'),
  ]
  for (const nothing of unanswered) {
    service.answers[START] = nothing
    assert.not(await outbox.flush())
    assert.equal(
      outbox.list.value.map(({ reason }) => reason),
      [undefined, undefined],
    )
  }
  assert.equal(
    sent(),
    unanswered.map(() => 'first'),
  )
  service.answers[START] = refuse(409, 'session_busy')
  assert.ok(await outbox.flush())
  assert.equal(
    service.of(QUEUE).map(({ message }) => message),
    ['first', 'second'],
  )
  assert.equal(stored(), [])
})

test('the order is that of writing, also when the clock was set back', async () => {
  const browser = fakeBrowser()
  const { outbox, sent, writeOffline } = browser.open('ann')
  await writeOffline('first')
  browser.clock.set(5)
  await writeOffline('second')
  browser.kill()
  const next = browser.open('ann')
  await next.writeOffline('third')
  assert.ok(await next.outbox.flush())
  assert.equal([sent(), next.sent()], [[], ['first', 'second', 'third']])
  assert.is(outbox.list.value.length, 2, 'closed')
})

test('two tabs send once; a message that is being sent can no longer be taken back for editing', async () => {
  const browser = fakeBrowser()
  const start = held()
  const one = browser.open('ann')
  const two = browser.open('ann')
  await one.writeOffline('once', 'removed')
  const [once, removed] = two.outbox.list.value
  assert.equal(two.listed(), ['once: waiting', 'removed: waiting'])
  one.service.answers[START] = start.reply
  const flushes = [one.outbox.flush(), two.outbox.flush()]
  await settle()
  const taken = two.outbox.remove(once!.id)
  assert.ok(await two.outbox.remove(removed!.id))
  start.resolve({})
  assert.not(await taken)
  assert.equal(await Promise.all(flushes), [true, true])
  assert.equal([one.sent(), two.sent(), one.stored()], [['once'], [], []])
  assert.equal([one.listed(), two.listed()], [['once: accepted'], []])
})

test('a message that an open page is sending is not taken over, and those behind it wait', async () => {
  const browser = fakeBrowser()
  const start = held()
  const one = browser.open('ann', { [START]: start.reply })
  const two = browser.open('ann')
  const sending = one.send('first')
  await settle()
  assert.equal(two.listed(), ['first: elsewhere'])
  const taking = two.outbox.takeOver()
  assert.is(await two.send('second'), 'waiting')
  assert.not(await two.outbox.flush(), 'later')
  assert.equal(one.listed(), ['first: sending', 'second: waiting'])
  start.resolve({})
  await Promise.all([sending, taking])
  assert.ok(await two.outbox.flush())
  assert.equal([one.sent(), two.sent(), two.stored()], [['first'], ['second'], []])
})

test('messages of a page that was closed while sending are sent by the next one of the same person, once, in order, with the same ids', async () => {
  const browser = fakeBrowser()
  const closed = browser.open('ann', { [START]: never })
  void closed.send('first', 's1', { files: ['a.png'] })
  void closed.send('second')
  await closed.send('queued', 's2', { behind: true })
  browser.kill()
  const bea = browser.open('bea')
  await bea.outbox.takeOver()
  assert.equal([bea.listed(), closed.stored().length], [[], 2])
  const next = browser.open('ann')
  assert.equal(next.listed(), ['first: elsewhere', 'second: elsewhere'])
  await next.outbox.takeOver()
  assert.equal([next.listed(), next.notes.length], [['first: waiting', 'second: waiting'], 2])
  assert.ok(await next.outbox.flush())
  await next.outbox.takeOver()
  assert.equal(
    next.service.of(START).map(sent => [sent.client_message_id, sent.attachments]),
    [
      ['id-1', ['a.png']],
      ['id-2', undefined],
    ],
  )
  assert.equal(next.stored(), [])
})

test('a page that is open while another one is closed takes its messages over, too', async () => {
  const browser = fakeBrowser()
  const two = browser.open('ann')
  await two.outbox.takeOver()
  // The page of the other tab ends during its request: its lock is released, and nobody has the reply.
  const start = held()
  const one = browser.open('ann', { [START]: start.reply })
  void one.send('first')
  await settle()
  const taking = [two.outbox.takeOver(), two.outbox.takeOver()]
  await settle()
  assert.equal(two.listed(), ['first: elsewhere'])
  start.reject(new ApiError(0, ''))
  await Promise.all(taking)
  assert.equal([two.listed(), two.notes.length], [['first: waiting'], 1])
  assert.ok(await two.outbox.flush())
  assert.equal(two.sent(), ['first'])
})

test('without locks, a page that takes over what another one sends repeats the request with its id', async () => {
  const browser = fakeBrowser({ hasLocks: false })
  const start = held()
  const one = browser.open('ann', { [START]: start.reply })
  const sending = one.send('first')
  await settle()
  const two = browser.open('ann')
  await two.outbox.takeOver()
  assert.ok(await two.outbox.flush())
  start.resolve({})
  await sending
  const ids = [one, two].map(({ service }) => service.of(START).map(each => each.client_message_id))
  assert.equal(ids, [['id-1'], ['id-1']])
  for (const page of [one, two]) {
    page.outbox.confirm(['id-1'])
    assert.equal([page.stored(), page.listed()], [[], []])
  }
})

test('a new chat is made once, where it was written, for all its messages; they keep their order', async () => {
  const browser = fakeBrowser()
  const create = held()
  const { outbox, service, send, sent, created, stored } = browser.open('ann', {
    [NEW]: create.reply,
  })
  const choice = { ...noChoice, model: 'm1', workspace: '/w' }
  const sending = [send('first', null, { choice }), send('second', null, { choice })]
  const session = outbox.sessionOf('c', choice)
  await settle()
  assert.ok(outbox.isCreating('c'))
  assert.equal([service.of(NEW).length, sent()], [1, []])
  create.resolve({ session: fakeRow('s9') })
  assert.is(await session, 's9')
  assert.equal(
    stored().map(({ session_id }) => session_id),
    ['s9', 's9'],
  )
  // Written when the chat has its session, while the first ones are still being sent.
  const third = send('third', 's9', { chat: 'c' })
  await Promise.all([...sending, third])
  assert.equal(
    service.of(START).map(({ session_id, message }) => [session_id, message]),
    [
      ['s9', 'first'],
      ['s9', 'second'],
      ['s9', 'third'],
    ],
  )
  assert.equal(service.of(NEW), [{ model: 'm1', workspace: '/w', profile: 'work' }])
  assert.equal([created, outbox.isCreating('c')], [[['c', 's9']], false])
  assert.is(outbox.of('c', 's9').length, 3)
})

test('a new chat that could not be created is created later, once, for all that waits in it', async () => {
  const browser = fakeBrowser()
  const page = browser.open('ann')
  const { outbox, service, sent, created, writeOffline } = page
  await writeOffline(['first', null], ['second', null])
  service.answers[START] = lost
  assert.not(await outbox.flush())
  browser.kill()
  const next = browser.open('ann')
  assert.ok(await next.outbox.flush())
  assert.equal([sent(), next.sent()], [['first'], ['first', 'second']])
  assert.equal([service.of(NEW), next.service.of(NEW)], [[{ profile: 'work' }], []])
  assert.is(created.length, 1)
})

test('a new chat whose reply was lost is not created twice, also with other choices since', async () => {
  const { outbox, send, service, sent, created } = fakeBrowser().open('ann')
  const create = service.answers[NEW]!
  service.answers['POST /api/personality/set'] = lost
  const choice = { ...noChoice, personality: 'calm' }
  assert.is(await send('first', null, { choice }), 'waiting')
  assert.equal(created, [])
  service.answers['POST /api/personality/set'] = () => ({ ok: true })
  service.answers[NEW] = create
  // A file is attached, and another model was chosen: the session is that of the first message.
  const id = await outbox.sessionOf('c', { ...noChoice, model: 'm2' })
  assert.ok(await outbox.flush())
  assert.equal([id, sent(), service.of(NEW).length], ['new-1', ['first'], 1])
  assert.equal(created, [['c', 'new-1']])
})

test('when the creation of a new chat was refused in part, other choices are no reuse of its request', async () => {
  const { send, service, created, listed } = fakeBrowser().open('ann', {
    'POST /api/personality/set': refuse(404, 'personality_not_found'),
  })
  const choice = { ...noChoice, personality: 'gone' }
  const code = await send('first', null, { choice }).catch(error => error.code)
  assert.equal([code, listed()], ['personality_not_found', []])
  const receipt = await send('first', null, { choice: { ...noChoice, model: 'm2' } })
  assert.is(receipt, 'started')
  assert.equal(created.length, 1)
  assert.is(service.of(NEW).at(-1)?.model, 'm2')
})

test('a chat that two pages begin together is one session for what waited; what one of them begins later is another chat', async () => {
  const browser = fakeBrowser()
  const one = browser.open('ann')
  await one.writeOffline(['first', null])
  // As a page does that is opened now: it shows the new chat with its waiting message.
  const two = browser.open('ann')
  const { chat } = two.outbox.list.value[0]!
  await Promise.all([one.outbox.flush(), two.outbox.flush()])
  await settle()
  assert.is(one.created.length + two.created.length, 1)
  const [[, session]] = [...one.created, ...two.created] as [[string, string]]
  await two.send('another subject', null, { chat, choice: { ...noChoice, model: 'm2' } })
  const other = two.service.of(START).at(-1)
  assert.is(other?.message, 'another subject')
  assert.is.not(other?.session_id, session)
})

test('two pages that send the messages of one new chat at the same time create one session', async () => {
  const browser = fakeBrowser()
  const create = held()
  const one = browser.open('ann', { [NEW]: create.reply })
  const two = browser.open('ann')
  const first = one.send('first', null)
  await settle()
  assert.is(await two.send('second', null), 'waiting')
  assert.not(await two.outbox.flush())
  create.resolve({ session: fakeRow('s9') })
  await first
  await settle()
  assert.ok(await two.outbox.flush())
  assert.equal(
    [...one.service.of(START), ...two.service.of(START)].map(({ session_id }) => session_id),
    ['s9', 's9'],
  )
  assert.equal(two.service.of(NEW), [])
})

test('a message of a new chat is held by an earlier one, before and after its session was created', async () => {
  const browser = fakeBrowser()
  const page = browser.open('ann')
  await page.writeOffline(['first', null])
  page.service.answers[START] = refuse(413, 'body_too_large')
  assert.ok(await page.outbox.flush())
  browser.kill()
  // The next page knows the chat by its session.
  const next = browser.open('ann')
  assert.is(await next.send('second', 'new-1'), 'waiting')
  assert.ok(await next.outbox.flush())
  assert.equal(next.sent(), [])
  await next.outbox.retry('id-1')
  assert.equal(next.sent(), ['first', 'second'])
})

test('what cannot be stored is sent, and given back when it is not accepted', async () => {
  const full = () => {
    const browser = fakeBrowser()
    const page = browser.open('ann')
    page.storage.write = () => undefined
    return page
  }
  const { send, listed, outbox } = full()
  const sending = send('one')
  outbox.reload()
  await sending
  assert.equal(listed(), ['one: accepted'])

  const other = full()
  other.service.answers[START] = lost
  const status = await other.send('one').catch(error => error.status)
  assert.equal([status, other.listed(), other.notes], [0, [], []])

  // Behind one that waits, while another page changes the store.
  const behind = fakeBrowser().open('ann')
  await behind.writeOffline('first')
  behind.storage.write = () => undefined
  const start = held()
  behind.service.answers[START] = start.reply
  const given = behind.send('second').catch(error => error.status)
  await settle()
  behind.outbox.reload()
  start.reject(new ApiError(0, ''))
  assert.equal([await given, behind.listed()], [0, ['first: waiting']])
})

test('a sign-out removes what waits and what is in line, and nothing comes back when a request ends', async () => {
  const start = held()
  const page = fakeBrowser().open('ann', { [START]: start.reply })
  const sending = [page.send('sent'), page.send('in line')]
  await settle()
  page.outbox.clear()
  assert.equal([page.listed(), page.stored()], [[], []])
  start.reject(new ApiError(0, ''))
  await Promise.all(sending)
  assert.equal([page.sent(), page.listed(), page.stored()], [['sent'], [], []])

  for (const status of [0, 401, 413, 503]) {
    const other = fakeBrowser().open('ann')
    await other.writeOffline('one', 'two')
    const late = held()
    other.service.answers[START] = late.reply
    const flushing = other.outbox.flush()
    await settle()
    other.outbox.clear()
    late.reject(new ApiError(status, 'too late'))
    await flushing
    assert.equal([other.sent(), other.listed(), other.stored()], [['one'], [], []], `${status}`)
  }
})

test.run()
