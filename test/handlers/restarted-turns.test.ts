/** A turn that a restart cut in its answer: what had streamed is shown, and kept however the turn ends. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../_provider.ts'
import { startChat } from './_chat.ts'

const test = suite('restarted turns')

const usage = { prompt_tokens: 10, completion_tokens: 2 }
const call: Step = {
  text: 'I look first.',
  toolCalls: [{ id: 'c1', name: 'todo', arguments: {} }],
  usage,
}
const cut: Step = { reasoning: 'Let me think.', text: ['before', ' restart'], end: 'body' }
const silent: Step = { end: 'headers' }
const refused: Step = { status: 401, body: { error: { message: 'Wrong key.' } } }

type Chat = Awaited<ReturnType<typeof startChat>>
type Message = Record<string, unknown>

/** The service is restarted when this text has streamed. */
const restartIn = async (
  text: string,
  script: Step[],
  run: (chat: Chat, at: Restarted) => unknown,
) => {
  await using chat = await startChat(...script)
  const id = await chat.newSession()
  await chat.app.post('/api/session/rename', { session_id: id, title: 'Named' })
  const stream = await chat.send(id, 'Go.')
  let streamed = ''
  for await (const { event, data } of chat.app.events(`/api/chat/stream?stream_id=${stream}`)) {
    if (event === 'token' || event === 'reasoning') streamed += (data as { text: string }).text
    if (streamed.endsWith(text)) break
  }
  await chat.app.restart()
  await run(chat, { id, stream })
}
type Restarted = { id: string; stream: string }

const sessionOf = async ({ app }: Chat, id: string) =>
  (await app.get(`/api/session?session_id=${id}&limit=50`)).body.session

const partials = (messages: Message[]) =>
  messages.filter(({ _partial }) => _partial).map(({ content, reasoning }) => [content, reasoning])

const kept = [['before restart', 'Let me think.']]

test('the session shows what had streamed, and Stop keeps it with its usage', () =>
  restartIn('restart', [call, cut, silent], async (chat, { id, stream }) => {
    await chat.provider.arrived(3)
    const { live } = await sessionOf(chat, id)
    assert.equal(
      [live.text, live.reasoning, live.message_id],
      ['before restart', 'Let me think.', null],
    )
    assert.is(live.retry.reason, 'cut')
    assert.is(live.usage.input_tokens, 10)
    assert.equal([live.tools, live.subagents], [[], []])
    await chat.app.get(`/api/chat/cancel?stream_id=${stream}`)
    const { messages, last_turn, input_tokens } = await sessionOf(chat, id)
    assert.equal(partials(messages), kept)
    assert.equal([last_turn, input_tokens], ['cancelled', 10])
    assert.is(messages.at(-1).content, '*Task cancelled.*')
    assert.is(messages.filter(({ content }: Message) => content === 'I look first.').length, 1)
  }))

test('what had streamed is kept when the provider then refuses, also after a retry of its own', () =>
  restartIn(
    'restart',
    [cut, { ...cut, text: '', end: 'cut' }, refused],
    async (chat, { id, stream }) => {
      await chat.follow(stream)
      const { messages, last_turn } = await sessionOf(chat, id)
      assert.is(last_turn, 'failed')
      assert.is(partials(messages).length, 1)
      assert.is(partials(messages)[0]?.[0], 'before restart')
    },
  ))

test('what had streamed is kept over two restarts, and when it was only reasoning', () =>
  restartIn(
    'think.',
    [{ reasoning: 'Let me think.', end: 'body' }, silent, silent],
    async (chat, at) => {
      await chat.provider.arrived(2)
      await chat.app.restart()
      await chat.provider.arrived(3)
      assert.is((await sessionOf(chat, at.id)).live.reasoning, 'Let me think.')
      await chat.app.get(`/api/chat/cancel?stream_id=${at.stream}`)
      assert.equal(partials((await sessionOf(chat, at.id)).messages), [['', 'Let me think.']])
    },
  ))

test('text of a cut call that was repeated in full is not kept', () =>
  restartIn(
    'restart',
    [cut, { text: 'whole', toolCalls: [{ id: 'c1', name: 'todo', arguments: {} }] }, silent],
    async (chat, { id, stream }) => {
      await chat.provider.arrived(3)
      assert.equal((await sessionOf(chat, id)).live.text, '')
      await chat.app.get(`/api/chat/cancel?stream_id=${stream}`)
      assert.equal(partials((await sessionOf(chat, id)).messages), [])
    },
  ))

test.run()
