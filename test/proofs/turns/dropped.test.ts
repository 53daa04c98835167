/** A model stream that breaks during a turn: same text for every reader, a visible and stoppable wait, nothing lost. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type SpawnedApp, spawnApp } from '../../_app.ts'
import { broken, createProvider, type Step } from '../../_provider.ts'
import { startChat, startChatAt, textOf, types } from '../../handlers/_chat.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite('dropped streams')

const listing: Step = {
  text: 'I look.',
  toolCalls: [{ id: 'c1', name: 'todo', arguments: {} }],
}

type Data = Record<string, unknown>
type Frame = { event: string; data: Data }

/** What a reader has on its screen of the turn's last message. */
const shown = (frames: Frame[]): string => {
  const said = new Map<unknown, string>()
  for (const { event, data } of frames) {
    if (event === 'retry') said.delete(data.message_id)
    if (event === 'token')
      said.set(data.message_id, (said.get(data.message_id) ?? '') + String(data.text))
  }
  return [...said.values()].at(-1) ?? ''
}

test('two readers, one of them reconnecting, end with the transcript’s text; the tool ran once', async () => {
  const words = ['One ', 'two ', 'three.']
  const chat = await startChat(
    listing,
    broken(['One ', 'tw'], '30ms'),
    broken(['Something ', 'else ', 'altogether'], '20ms'),
    { text: words },
    { text: 'A title' },
  )
  try {
    const id = await chat.newSession()
    const { cursor } = (await chat.app.get(`/api/session?session_id=${id}`)).body.session
    const stream = await chat.send(id, 'go')
    const inPieces = async (): Promise<Frame[]> => {
      const seen: Frame[] = []
      while (seen.at(-1)?.event !== 'stream_end') {
        let taken = 0
        for await (const event of chat.app.events(
          `/api/chat/stream?stream_id=${stream}&after=${seen.length}`,
        )) {
          seen.push(event)
          if (++taken === 2) break
        }
      }
      return seen
    }
    const overEvents = async (): Promise<Frame[]> => {
      const events = chat.app.events(`/api/events?watch=${id}@${cursor}`)
      const seen = await events.until(({ event }) => event === 'stream_end')
      events.close()
      return seen.map(({ event, data }) => ({ event, data: data.data as Data }))
    }
    const [whole, pieces, frames] = await Promise.all([
      chat.follow(stream),
      inPieces(),
      overEvents(),
    ])
    const stored = (await chat.messages(id)).at(-1)
    assert.is(stored?.content, words.join(''))
    for (const reader of [whole, pieces, frames]) assert.is(shown(reader), words.join(''))
    // A client that ignores `retry` receives more text, and the right text at the end.
    assert.match(textOf(whole), 'tw')
    const done = whole.find(({ event }) => event === 'done')?.data.session as {
      messages: { content: string }[]
    }
    assert.is(done.messages.at(-1)?.content, words.join(''))
    assert.is(types(whole).filter(type => type === 'tool').length, 1)
    assert.equal(
      whole
        .filter(({ event }) => event === 'retry')
        // At least as long as the provider asks.
        .map(({ data }, at) => [
          data.attempt,
          data.attempts,
          Number(data.delay_ms) >= [30, 20][at]!,
        ]),
      [
        [1, 6, true],
        [2, 6, true],
      ],
    )
  } finally {
    await chat.close()
  }
})

test('a page opened during the wait sees the reason; Stop ends the wait at once and keeps the text', async () => {
  const clock = createTestClock(Date.now())
  const chat = await startChatAt(clock, listing, broken(['Half ', 'an answer'], '90s'))
  try {
    const id = await chat.newSession()
    const stream = await chat.send(id, 'go')
    await chat.follow(stream, 'retry')
    const { live } = (await chat.app.get(`/api/session?session_id=${id}`)).body.session
    assert.is(live.text, '')
    assert.equal([live.retry.attempt, live.retry.attempts], [1, 6])
    assert.is(live.retry.until, (clock.now() + 90_000) / 1_000)
    assert.is((await chat.app.get(`/api/chat/cancel?stream_id=${stream}`)).body.cancelled, true)
    const seen = await chat.follow(stream)
    assert.ok(types(seen).includes('cancel'))
    const stored = await chat.messages(id)
    assert.equal(
      stored
        .map(({ role, content, _partial, _error }) => [role, content, _partial, _error])
        .slice(3),
      [
        ['assistant', 'Half an answer', true, undefined],
        ['assistant', '*Task cancelled.*', undefined, true],
      ],
    )
    assert.is(chat.provider.requests.length, 2)
  } finally {
    await chat.close()
  }
})

test('kill -9 during the wait: the message is streamed again at once, after the results that are stored', async () => {
  const provider = await createProvider(listing, broken(['Half ', 'an answer'], '90s'), {
    text: 'A whole answer',
  })
  const app: SpawnedApp = await spawnApp()
  try {
    writeFileSync(
      join(app.home, 'config.yaml'),
      `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`,
    )
    const { body } = await app.post('/api/session/new', {})
    const id: string = body.session.session_id
    const { stream_id } = (await app.post('/api/chat/start', { session_id: id, message: 'go' }))
      .body
    const path = `/api/chat/stream?stream_id=${stream_id}`
    const before = await app.events(path).until(({ event }) => event === 'retry')
    await app.kill()
    await app.start()
    const rest = await app
      .events(`${path}&after=${before.length}`)
      .until(({ event }) => event === 'stream_end')
    const kinds = rest.map(({ event }) => event)
    assert.equal([kinds.includes('retry'), kinds.includes('apperror')], [true, false])
    const { messages } = (await app.get(`/api/session?session_id=${id}`)).body.session
    assert.equal(
      messages.map(({ role, _partial }: Data) => [role, _partial]),
      ['user', 'assistant', 'tool', 'assistant'].map(role => [role, undefined]),
    )
    assert.is(messages[3].content, 'A whole answer')
  } finally {
    await app.close()
    await provider.close()
  }
})

test.run()
