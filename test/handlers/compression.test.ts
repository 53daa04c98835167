/** Long conversations: summarized in time, by hand, after a refusal; nothing lost, everything undoable. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate, type Recorded, type Step } from '../_provider.ts'
import { type Seen, startChat, types } from './_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
const test = suite<{ chat: Chat }>('compression', { chat: null as never })
test.before(async context => {
  context.chat = await startChat()
})
test.after(({ chat }) => chat.close())

const NOTES = 'You keep the notes'
type Body = Recorded['body']
const isForNotes = ({ messages }: Body): boolean => String(messages?.[0]?.content).includes(NOTES)
const isForTitle = ({ tools, messages }: Body): boolean => !tools?.length && messages.length === 2

const WINDOW = 40_000
const configure = ({ app, provider }: Chat, more: Record<string, unknown> = {}, window = WINDOW) =>
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      model: {
        provider: 'custom',
        base_url: provider.url,
        default: 'test-model',
        ...(window > 0 && { context_length: window }),
      },
      ...more,
    }),
  )

/** Answers each question with a word and takes notes of nothing but their number. */
const talking = (chat: Chat, more: Record<string, unknown> = {}, window = WINDOW) => {
  const { provider } = chat
  configure(chat, more, window)
  provider.clear()
  provider.requests.splice(0)
  let notes = 0
  provider.otherwise = (body): Step =>
    isForNotes(body)
      ? { text: `## Goal\nnotes ${++notes}`, usage: { prompt_tokens: 1_000, completion_tokens: 7 } }
      : isForTitle(body)
        ? { text: 'A title' }
        : { text: 'yes' }
  const sent = () => provider.requests.map(({ body }) => body)
  return { ...chat, sent, asked: () => sent().filter(isForNotes) }
}
const usageOf = (seen: Seen[]): Record<string, number> => {
  const done = seen.find(({ event }) => event === 'done')
  assert.ok(done, types(seen).join(' '))
  return done?.data.usage as Record<string, number>
}
const filler = (chars: number) => 'lorem ipsum '.repeat(Math.ceil(chars / 12)).slice(0, chars)
const textOf = (body: Body): string => JSON.stringify(body.messages)

test('rejects a session that cannot be compacted, with a reason', async context => {
  const chat = talking(context.chat)
  const { app, provider } = chat
  const compress = (input: unknown) => app.post('/api/session/compress', input)
  assert.is((await compress({})).status, 400)
  assert.is((await compress({ session_id: 'ffffffffffff' })).status, 404)
  assert.is((await app.post('/api/session/uncompress', { session_id: 'ffffffffffff' })).status, 404)
  const id = await chat.newSession()
  const none = await compress({ session_id: id })
  assert.equal([none.status, none.body.code], [400, 'too_little_to_compact'])
  await chat.turn(id, 'one')
  assert.is((await compress({ session_id: id })).status, 400)
  const undo = await app.post('/api/session/uncompress', { session_id: id })
  assert.equal([undo.status, undo.body.code], [400, 'no_previous_summary'])
  assert.is((await app.get(`/api/session/summary?session_id=${id}&n=7`)).status, 400)

  const held = gate()
  provider.push({ text: 'late', gate: held.opened })
  const stream = await chat.send(id, 'two')
  const busy = await compress({ session_id: id })
  assert.equal([busy.status, busy.body.code], [409, 'session_busy'])
  held.open()
  await chat.follow(stream)

  provider.push({ status: 400, body: { error: { message: 'cannot do that' } } })
  const failed = await compress({ session_id: id })
  assert.equal([failed.status, failed.body.code], [400, 'compaction_failed'])
  // The provider's own words.
  assert.match(failed.body.error, 'cannot do that')
  assert.is((await chat.messages(id)).length, 4)

  writeFileSync(join(app.home, 'config.yaml'), 'model: demo\n')
  const demo = await compress({ session_id: id })
  assert.equal([demo.status, demo.body.code], [400, 'provider_missing'])
})

test('compacts on request, keeps every message, and can be undone', async context => {
  const chat = talking(context.chat)
  const { app } = chat
  const id = await chat.newSession()
  for (const word of ['alpha', 'beta', 'gamma', 'delta', 'epsilon'])
    await chat.turn(id, `${word} ${filler(4_000)}`)
  const before = await chat.messages(id)
  const { status, body } = await app.post('/api/session/compress', {
    session_id: id,
    topic: '  the Greek letters ',
  })
  assert.is(status, 200)
  assert.is(body.focus_topic, 'the Greek letters')
  assert.match(body.summary.headline, /^Compressed: 10 → \d messages$/)
  assert.match(body.summary.token_line, /^Rough transcript estimate: ~5[.]\dk → ~[\d.]+k tokens$/)
  assert.is(body.summary.note, 'Focus: the Greek letters')
  assert.match(body.summary.reference_message, /^\[CONTEXT COMPACTION/)
  assert.equal(body.session.messages, before, 'the reader loses nothing')
  assert.is(body.session.compression_anchor_visible_idx, 9)
  assert.equal(Object.keys(body.session.compression_anchor_message_key), [
    'role',
    'ts',
    'text',
    'attachments',
  ])
  assert.is(chat.asked().length, 1)
  assert.match(textOf(chat.asked()[0]), 'the Greek letters')
  const [ref] = body.session.summaries
  assert.is(body.session.input_tokens, 1_000, 'what the summary cost is counted')
  const read = await app.get(`/api/session/summary?session_id=${id}&n=${ref.n}`)
  assert.match(read.body.text, 'notes 1')

  await chat.turn(id, 'and now?')
  const received = textOf(chat.sent().at(-1))
  assert.match(received, 'notes 1')
  assert.match(received, 'alpha')
  assert.not.match(received, 'beta')
  await app.restart()
  await chat.turn(id, 'after the restart')
  assert.not.match(textOf(chat.sent().at(-1)), 'beta')

  const undone = await app.post('/api/session/uncompress', { session_id: id, n: ref.n })
  assert.is(undone.status, 200)
  assert.equal(undone.body.session.summaries, [])
  assert.is(undone.body.session.compression_anchor_visible_idx, null)
  await chat.turn(id, 'again')
  assert.match(textOf(chat.sent().at(-1)), 'beta')
  assert.not.match(textOf(chat.sent().at(-1)), 'notes 1')
})

test('writes nothing when stopped or killed; nothing else starts while it runs', async context => {
  const chat = talking(context.chat)
  const { app, provider } = chat
  const id = await chat.newSession()
  for (const word of ['alpha', 'beta', 'gamma']) await chat.turn(id, `${word} ${filler(2_000)}`)
  const path = join(app.state, 'sessions', `${id}.jsonl`)
  const before = readFileSync(path, 'utf8')
  const held = gate()
  provider.push({ text: 'never', gate: held.opened })
  const calls = provider.requests.length
  const asked = app.post('/api/session/compress', { session_id: id })
  const request = await provider.arrived(calls + 1)
  const start = await app.post('/api/chat/start', { session_id: id, message: 'now' })
  assert.equal([start.status, start.body.code], [409, 'session_compacting'])
  assert.is((await app.post('/api/session/undo', { session_id: id })).status, 409)
  assert.is((await app.post('/api/session/compress', { session_id: id })).status, 409)
  assert.is((await app.post('/api/session/uncompress', { session_id: id })).status, 200)
  const stopped = await asked
  assert.equal([stopped.status, stopped.body.code], [503, 'compaction_canceled'])
  await request.closed
  held.open()
  await chat.turn(id, 'free again')
  assert.ok(readFileSync(path, 'utf8').startsWith(before))
  assert.not.match(readFileSync(path, 'utf8'), '"t":"summary"')
})

test('deleting the session aborts the model call; queued messages are sent after a compaction', async context => {
  const chat = talking(context.chat)
  const { app, provider } = chat
  const messages = ['alpha', 'beta', 'gamma'].flatMap(word => [
    { role: 'user', content: `${word} ${filler(2_000)}` },
    { role: 'assistant', content: 'yes' },
  ])
  const begin = async (step: Step) => {
    const { body } = await app.post('/api/session/import', { title: 'In', messages })
    provider.push(step)
    const session_id = String(body.session.session_id)
    const calls = provider.requests.length
    const asked = app.post('/api/session/compress', { session_id })
    return { session_id, asked, request: await provider.arrived(calls + 1) }
  }
  const held = gate()
  const gone = await begin({ text: 'never', gate: held.opened })
  await app.post('/api/session/delete', { session_id: gone.session_id })
  await gone.request.closed
  held.open()
  assert.is((await gone.asked).status, 503)
  // It has never had a turn of its own.
  const later = gate()
  const { session_id, asked } = await begin({ text: '## Goal\nnotes', gate: later.opened })
  const added = await app.post('/api/queue/add', { session_id, message: 'and then' })
  assert.is(added.body.stream_id, null)
  const sent = provider.requests.length
  later.open()
  assert.is((await asked).status, 200)
  await provider.arrived(sent + 1)
  assert.match(textOf(chat.sent().at(-1) as Body), 'and then')
})

/** Each one reads all of the words before it. */
const COMPACTIONS = process.env.PROOF === 'full' ? 20 : 6

test('many compactions in one session lose no message', async context => {
  const chat = talking(context.chat, { compression: { target_ratio: 0.1 } })
  const { app } = chat
  const id = await chat.newSession()
  const words: string[] = []
  let restarted = false
  const journalOf = () => readFileSync(join(app.state, 'sessions', `${id}.jsonl`), 'utf8')
  for (let round = 0; chat.asked().length < COMPACTIONS && round < 4 * COMPACTIONS; round += 1) {
    const word = `secret-${round}-word`
    words.push(word)
    const seen = await chat.turn(id, `${word} ${filler(60_000)}`)
    assert.ok(types(seen).includes('done'), `round ${round}`)
    if (types(seen).includes('compressed')) {
      const at = (type: string) => types(seen).indexOf(type)
      assert.ok(at('compressing') < at('compressed') && at('compressed') < at('token'))
      const usage = usageOf(seen)
      assert.is(usage.context_length, WINDOW)
      assert.is(usage.threshold_tokens, WINDOW / 2)
      assert.ok((usage.last_prompt_tokens ?? 0) < WINDOW / 2)
      assert.ok((usage.input_tokens ?? 0) >= 1_000, 'the notes are part of what the turn used')
    }
    if (chat.asked().length === COMPACTIONS / 2 && !restarted) {
      restarted = true
      await app.restart()
    }
    const received = `${textOf(chat.sent().at(-1))}${chat.asked().map(textOf).join('')}`
    for (const one of words) assert.ok(received.includes(one), `${one} in round ${round}`)
  }
  assert.is(chat.asked().length, COMPACTIONS)
  const journal = journalOf()
  for (const one of words) assert.ok(journal.includes(one), one)
  const messages = await chat.messages(id)
  assert.equal(
    messages
      .filter(({ role }) => role === 'user')
      .map(({ content }) => String(content).split(' ')[0]),
    words,
  )
  // Undone one by one, the last turn is what it was.
  const session = (await app.get(`/api/session?session_id=${id}&limit=1`)).body.session
  assert.is(session.summaries.length, 1)
  await app.post('/api/session/uncompress', { session_id: id })
  const older = (await app.get(`/api/session?session_id=${id}&limit=1`)).body.session
  assert.is(older.summaries.length, 1)
  assert.is.not(older.summaries[0].n, session.summaries[0].n)
})

test('a failed compaction changes nothing and is not retried for a while', async context => {
  const chat = talking(context.chat)
  const { provider } = chat
  const id = await chat.newSession()
  const talk = provider.otherwise
  provider.otherwise = body =>
    isForNotes(body)
      ? { status: 400, body: { error: { message: 'no notes' } } }
      : (talk?.(body) ?? {})
  for (let round = 0; round < 3; round += 1) await chat.turn(id, `word${round} ${filler(20_000)}`)
  const seen = await chat.turn(id, `word3 ${filler(20_000)}`)
  const warning = seen.find(({ event }) => event === 'warning')
  assert.match(String(warning?.data.message), 'Couldn’t summarize')
  assert.match(String(warning?.data.message), 'no notes')
  assert.ok(types(seen).includes('done'))
  for (const word of ['word0', 'word1', 'word2', 'word3'])
    assert.match(textOf(chat.sent().at(-1)), word)
  const asked = chat.asked().length
  await chat.turn(id, 'again')
  assert.is(chat.asked().length, asked, 'it rests')
})

test('uses the configured auxiliary model, and the session’s own when that fails', async context => {
  const chat = talking(context.chat, { auxiliary: { compression: { model: 'note-taker' } } })
  const { app, provider } = chat
  const id = await chat.newSession()
  for (const word of ['alpha', 'beta', 'gamma']) await chat.turn(id, `${word} ${filler(2_000)}`)
  provider.push({ status: 404, body: { error: { message: 'no such model' } } })
  assert.is((await app.post('/api/session/compress', { session_id: id })).status, 200)
  assert.equal(
    chat.asked().map(({ model }) => model),
    ['note-taker', 'test-model'],
  )
})

test.run()
