import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate } from '../_provider.ts'
import { startChat } from './_chat.ts'

const events = suite('events')

type Frame = {
  id: string
  event: string
  data: { source?: string; n: number; pos?: number; data?: Record<string, unknown> }
}
const path = (watch: string, after = '') =>
  `/api/events?watch=${watch}${after && `&after=${after}`}`

events('a first connection receives "ready" and then rows, the turn and its end', async () => {
  await using chat = await startChat({ text: ['Hel', 'lo'] }, { text: 'A title' })
  const id = await chat.newSession()
  const seen: Frame[] = []
  const stream = chat.app.events(path(id))
  for await (const event of stream) {
    seen.push(event as unknown as Frame)
    if (event.event === 'ready') await chat.send(id, 'hi')
    if (event.event === 'stream_end') break
  }
  assert.is(seen[0]!.event, 'ready')
  const kinds = seen.map(frame => frame.event)
  for (const kind of ['row', 'turn_started', 'message', 'token', 'done', 'stream_end'])
    assert.ok(kinds.includes(kind), kind)
  const mine = seen.filter(frame => frame.data.source === `session:${id}`)
  assert.ok(mine.every((frame, i) => Number(frame.data.pos) > Number(mine[i - 1]?.data.pos ?? 0)))
  assert.ok(seen.every((frame, i) => i === 0 || Number(frame.data.n) > Number(seen[i - 1]!.data.n)))
  // No transcript travels here: what `done` carries does not grow with the session.
  assert.equal(Object.keys(mine.find(frame => frame.event === 'done')!.data.data!).toSorted(), [
    'message_ids',
    'usage',
  ])
  const row = seen.findLast(frame => frame.event === 'row')!.data.data!.row as Record<
    string,
    unknown
  >
  assert.equal([row.session_id, row.is_streaming], [id, false])
})

events('cut anywhere and resumed by Last-Event-ID: every frame once, in order', async () => {
  const words = Array.from({ length: 120 }, (_, i) => `w${i} `)
  await using chat = await startChat({ text: words }, { text: 'A title' })
  const id = await chat.newSession()
  const { session } = (await chat.app.get(`/api/session?session_id=${id}`)).body
  await chat.send(id, 'hi')
  const got = new Map<number, string>()
  let last = ''
  let ended = false
  for (let round = 0; !ended; round++) {
    const headers: Record<string, string> = last ? { 'last-event-id': last } : {}
    // Every third cut falls into the opening batch, whose frames move no cursor; the others after it.
    let count = round % 3 === 0 ? 0 : Number.NEGATIVE_INFINITY
    for await (const event of chat.app.events(path(`${id}@${session.cursor}`), { headers })) {
      const frame = event as unknown as Frame
      assert.is.not(frame.event, 'reset')
      if (frame.id) last = frame.id
      if (frame.event === 'ready') count = Math.max(count, 0)
      if (frame.data.source === `session:${id}`) {
        if (!got.has(frame.data.n))
          got.set(frame.data.n, frame.event === 'token' ? String(frame.data.data!.text) : '')
        if (frame.event === 'stream_end') ended = true
      }
      count += 1
      if (ended || count > round % 7) break
    }
  }
  assert.is([...got.values()].join(''), words.join(''))
  const order = [...got.keys()]
  assert.ok(order.every((n, i) => i === 0 || n > order[i - 1]!))
})

events(
  'replies and events with a row carry its number, and a restore is newer than the deletion',
  async () => {
    await using chat = await startChat()
    const { app } = chat
    const id = await chat.newSession()
    const seqOf = async (path: string, input: object = {}): Promise<number> =>
      (await app.post(`/api/session/${path}`, { session_id: id, ...input })).body.session.seq
    const { cursor } = (await app.get('/api/sessions?limit=5')).body
    const replies = [
      await seqOf('rename', { title: 'Named' }),
      await seqOf('pin', { pinned: true }),
      await seqOf('archive', { archived: true }),
      await seqOf('update', { model: 'other' }),
    ]
    const { session } = (await app.get(`/api/session?session_id=${id}&limit=5`)).body
    assert.is(session.seq, replies.at(-1))
    await app.post('/api/session/delete', { session_id: id })
    const restored = await seqOf('restore')
    const rows: number[] = []
    let gone = 0
    for await (const event of app.events(path('', cursor))) {
      const { data = {} } = (event as unknown as Frame).data
      if (event.event === 'row') rows.push((data.row as { seq: number }).seq)
      if (event.event === 'gone') gone = Number(data.seq)
      if (event.event === 'ready') break
    }
    assert.equal(rows, [...replies, restored])
    const all = [...replies, gone, restored]
    assert.equal(
      all,
      [...new Set(all)].toSorted((a, b) => a - b),
    )
    const list = (await app.get('/api/sessions?limit=5')).body.sessions
    assert.is(list[0].seq, restored)
  },
)

events('after a restart every source is reset, and the session sends its state', async () => {
  await using chat = await startChat({ text: 'one' }, { text: 'A title' })
  const id = await chat.newSession()
  await chat.turn(id, 'hi')
  const { session } = (await chat.app.get(`/api/session?session_id=${id}`)).body
  await chat.app.restart()
  const resets: string[] = []
  for await (const event of chat.app.events(path(`${id}@${session.cursor}`, session.cursor))) {
    if (event.event === 'reset') resets.push(String((event as unknown as Frame).data.source))
    if (event.event === 'ready') break
  }
  assert.equal(resets.toSorted(), ['gateway', 'inbox', 'list', 'notices', `session:${id}`])
})

events(
  'during an answer the session has the streamed text, and its cursor continues without a gap',
  async () => {
    const hold = gate()
    const chat = await startChat(
      { text: ['first half ', 'second half'], middle: hold.opened, portion: 50 },
      { text: 'A title' },
    )
    try {
      const id = await chat.newSession()
      const stream = await chat.send(id, 'hi')
      await chat.follow(stream, 'token')
      const { session } = (await chat.app.get(`/api/session?session_id=${id}&limit=20`)).body
      assert.is(session.live.stream_id, stream)
      assert.is(session.is_streaming, true)
      let text: string = session.live.text
      assert.ok('first half second half'.startsWith(text))
      hold.open()
      for await (const event of chat.app.events(path(`${id}@${session.cursor}`))) {
        if (event.event === 'token') text += (event as unknown as Frame).data.data!.text
        if (event.event === 'stream_end') break
      }
      assert.is(text, 'first half second half')
      const after = (await chat.app.get(`/api/session?session_id=${id}`)).body.session
      assert.is(after.live, null)
    } finally {
      hold.open()
      await chat.close()
    }
  },
)

events.run()
