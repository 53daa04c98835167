/** A turn whose answer the provider stopped: in the chat, after a reload, and for a program. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { adviceOf } from '../../lib/agent/failure-kinds.ts'
import { startChat, textOf, types } from './_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
const test = suite<{ chat: Chat }>('stopped answers', { chat: null as never })
test.before(async context => {
  context.chat = await startChat()
  context.chat.provider.otherwise = () => ({ text: 'A title' })
})
test.after(({ chat }) => chat.close())

const STOPPED = { text: 'Here is', finish: 'content_filter' }

test('its text stays and says that it was stopped; its calls are not run', async ({ chat }) => {
  const id = await chat.newSession()
  chat.provider.push({
    ...STOPPED,
    toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command: 'touch made-here' } }],
  })
  const seen = await chat.turn(id, 'hello')
  assert.is(textOf(seen), 'Here is')
  assert.not.ok(types(seen).includes('tool'))
  assert.ok(types(seen).includes('done'))
  const warning = seen.find(({ event }) => event === 'warning')
  assert.is(warning?.data.type, 'content_filter')
  const [, answer] = await chat.messages(id)
  assert.is(answer?.content, 'Here is')
  assert.is(answer?.refusal, warning?.data.message)
  assert.is(answer?.tool_calls, undefined)
})

test('calls in the text of a stopped answer are not run', async ({ chat }) => {
  const id = await chat.newSession()
  const call =
    '<tool_call>{"name":"terminal","arguments":{"command":"touch made-here"}}</tool_call>'
  chat.provider.push({ ...STOPPED, text: `Here is\n${call}` })
  const seen = await chat.turn(id, 'hello')
  assert.not.ok(types(seen).includes('tool'))
  assert.ok(types(seen).includes('done'))
})

test('nothing but a filter is a failure with its own type, and the turn can be repeated with another model', async ({
  chat,
}) => {
  const id = await chat.newSession()
  chat.provider.push({ finish: 'content_filter' })
  const seen = await chat.turn(id, 'hello')
  const error = seen.find(({ event }) => event === 'apperror')?.data
  assert.is(error?.type, 'content_refused')
  assert.ok(error?.hint)
  assert.match(String((await chat.messages(id)).at(-1)?.content), /^\*\*Refused by the provider:/)
})

test('reasoning without an answer is kept, with advice that helps', async ({ chat }) => {
  const id = await chat.newSession()
  chat.provider.push({ reasoning: 'Let me think' }, { reasoning: 'Let me think' })
  const seen = await chat.turn(id, 'hello')
  const error = seen.find(({ event }) => event === 'apperror')?.data
  assert.is(error?.type, 'no_response')
  assert.is(error?.hint, String(adviceOf('only_thought')))
  assert.ok((await chat.messages(id)).some(({ reasoning }) => reasoning === 'Let me think'))
})

test.run()
