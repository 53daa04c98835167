/** A file edit over HTTP while the model writes its call: named, masked, and only until its message is there. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { redact } from '../../lib/base/redact/redact.ts'
import { gate, type Step } from '../_provider.ts'
import { type Seen, startChat, textOf } from './_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
const test = suite<{ chat: Chat; id: string }>('streamed edits')

const KEY = 'glm-4711-AbCdEfGh-0815'
const OTHER = 'sk-proj-0123456789abcdefghijklmnop'
const LINES = Array.from({ length: 40 }, (_, n) => `line ${n + 1}\n`).join('')

test.before.each(async context => {
  context.chat = await startChat()
  writeFileSync(join(context.chat.app.home, '.env'), `GLM_API_KEY=${KEY}\n`)
  context.id = await context.chat.newSession()
})
test.after.each(({ chat }) => chat.close())

const write = (path: string, content: string, size = 5): Step => ({
  toolCalls: [{ id: 'c1', name: 'write_file', arguments: { path, content }, size }],
})

test('a secret that is cut over pieces is masked, in the path too, and nothing of it is kept', async ({
  chat,
  id,
}) => {
  for (const size of [1, 3, 12]) {
    const content = `KEY=${KEY}\n# ${OTHER}\n"${KEY}"`
    chat.provider.push(write(`${KEY}.${size}.txt`, content, size), { text: 'Done.' })
    const seen = await chat.turn(id, `Write it in pieces of ${size}.`)
    const written = seen.filter(({ event }) => event === 'tool_writing')
    assert.ok(written.length > 3)
    assert.is(textOf(written, 'tool_writing'), redact(content))
    assert.equal(
      written.flatMap(({ data }) => data.path ?? []),
      [`${redact(KEY)}.${size}.txt`],
    )
    assert.not.match(JSON.stringify(seen), KEY)
    // All of them are about the message that follows.
    const at = seen.findIndex(({ event, data }) => {
      const message = data.message as { id: string; role: string } | undefined
      return event === 'message' && message?.role === 'assistant'
    })
    assert.ok(seen.indexOf(written.at(-1)!) < at)
    const message = seen[at]!.data.message as { id: string }
    assert.equal([...new Set(written.map(({ data }) => data.message_id))], [message.id])
  }
  const journals = readdirSync(join(chat.app.state, 'sessions'))
  for (const name of journals.filter(each => each.endsWith('.jsonl')))
    assert.not.match(readFileSync(join(chat.app.state, 'sessions', name), 'utf8'), 'tool_writing')
})

test('whoever opens the chat meanwhile sees the path, the end of the text, and the count of lines', async ({
  chat,
  id,
}) => {
  const half = gate()
  chat.provider.push({ ...write('notes.txt', LINES), middle: half.opened }, { text: 'Done.' })
  const stream = await chat.send(id, 'Write it.')
  const first: Seen[] = []
  while (textOf(first, 'tool_writing').split('\n').length < 3)
    first.push(...(await chat.follow(stream, 'tool_writing', Number(first.at(-1)?.id ?? 0))))
  const read = async () => (await chat.app.get(`/api/session?session_id=${id}`)).body.session.live
  const live = await read()
  assert.is(live.writing.path, 'notes.txt')
  assert.is(live.writing.name, 'write_file')
  assert.ok(LINES.startsWith(live.writing.text))
  assert.is(live.writing.lines, live.writing.text.split('\n').length)
  half.open()
  const seen = await chat.follow(stream, 'tool')
  assert.is(textOf(seen, 'tool_writing'), LINES)
  await chat.follow(stream)
  assert.is(await read(), null)
})

test('what a call that failed had written is taken back, without text beside it', async ({
  chat,
  id,
}) => {
  const cut = { ...write('a.txt', LINES), end: 'cut' as const, keep: 2_000 }
  chat.provider.push(cut, write('b.txt', 'short\n'), { text: 'Done.' })
  const seen = await chat.turn(id, 'Write it.')
  const order = seen.flatMap(({ event, data }) =>
    event === 'retry' ? ['retry'] : event === 'tool_writing' ? (data.path ?? []) : [],
  )
  assert.equal(order[0], 'a.txt')
  assert.ok(order.indexOf('retry') > 0 && order.indexOf('retry') < order.indexOf('b.txt'))
})

test.run()
