/** Summaries in a journal: which are active, what is sent to the model, and that no message is lost or sent twice. */
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { SUMMARY_MARK } from '../../../lib/schema/summary.ts'
import { Edits } from '../../../lib/sessions/edits.ts'
import { activeSpans } from '../../../lib/sessions/fold.ts'
import { toConversation } from '../../../lib/sessions/history.ts'
import type { Sessions } from '../../../lib/sessions/sessions.ts'
import { NEW, openBench, say } from './_sessions.ts'

const test = suite('sessions/compression')

const summary = (sessions: Sessions, id: string, first: number, last: number, text: string) => {
  const { messages, numbers } = sessions.load(id)
  const [entry] = sessions.append(id, [
    {
      t: 'summary',
      from: numbers[first] as number,
      to: numbers[last] as number,
      last: messages[last]?.id as string,
      text,
    },
  ])
  return entry?.n as number
}
/** The messages sent to the model, in short: contents, and summaries in brackets. */
const sentToModel = (sessions: Sessions, id: string): string =>
  toConversation(sessions.load(id))
    .map(({ content, summary }) =>
      summary ? `[${summary.text} ${summary.from}-${summary.to}]` : String(content),
    )
    .join(' ')
const seen = (sessions: Sessions, id: string): string =>
  sessions
    .load(id)
    .messages.map(({ content }) => content)
    .join(' ')
const shown = (sessions: Sessions, id: string) =>
  activeSpans(sessions.head(id).spans).map(({ last }) => last)

const begin = () => {
  const bench = openBench()
  const { sessions } = bench
  const { session_id: id } = sessions.create(NEW)
  sessions.append(
    id,
    'abcdefgh'.split('').map((letter, at) => say(letter, at % 2 ? 'assistant' : 'user')),
  )
  return { ...bench, id }
}

test('a summary replaces its messages for the model; the reader keeps them', async () => {
  const { sessions, id, close } = begin()
  const n = summary(sessions, id, 2, 5, 'cf')
  assert.is(sentToModel(sessions, id), 'a b [cf m4-m7] g h')
  assert.is(seen(sessions, id), 'a b c d e f g h')
  assert.equal(shown(sessions, id), ['m7'])
  const standIn = toConversation(sessions.load(id))[2]
  assert.ok(String(standIn?.content).startsWith(SUMMARY_MARK))
  // A later summary that covers it replaces it; undoing it restores the earlier one.
  const later = summary(sessions, id, 2, 6, 'cg')
  assert.is(sentToModel(sessions, id), 'a b [cg m4-m8] h')
  assert.equal(shown(sessions, id), ['m8'])
  sessions.append(id, [{ t: 'unsummary', summary: later }])
  assert.is(sentToModel(sessions, id), 'a b [cf m4-m7] g h')
  sessions.append(id, [{ t: 'unsummary', summary: n }])
  assert.is(sentToModel(sessions, id), 'a b c d e f g h')
  assert.equal(shown(sessions, id), [])
  await close()
})

test('a cut into its range invalidates a summary, a later cut does not; undoing the cut restores it', async () => {
  const { sessions, id, close } = begin()
  const edits = new Edits(
    sessions,
    () => {},
    () => {},
  )
  summary(sessions, id, 2, 5, 'cf')
  sessions.append(id, [say('i'), say('j', 'assistant')])
  edits.undoLast(id)
  assert.is(sentToModel(sessions, id), 'a b [cf m4-m7] g h', 'the last question was taken back')
  assert.equal(shown(sessions, id), ['m7'])
  edits.truncate(id, 5)
  assert.is(
    sentToModel(sessions, id),
    'a b c d e',
    'e stays and f is cut: the summary covers neither',
  )
  assert.equal(shown(sessions, id), [])
  const { numbers } = sessions.load(id)
  const cut = sessions.append(id, [{ t: 'cut', after: numbers[0] as number }])[0]
  assert.is(sentToModel(sessions, id), 'a')
  sessions.append(id, [{ t: 'uncut', cut: cut?.n as number }])
  assert.is(sentToModel(sessions, id), 'a b c d e')
  edits.clear(id)
  assert.is(sentToModel(sessions, id), '')
  await close()
})

test('undoing a cut restores messages with their summary', async () => {
  const { sessions, id, close } = begin()
  summary(sessions, id, 2, 5, 'cf')
  const { numbers } = sessions.load(id)
  const [cut] = sessions.append(id, [{ t: 'cut', after: numbers[3] as number }])
  assert.is(sentToModel(sessions, id), 'a b c d')
  assert.equal(shown(sessions, id), [])
  sessions.append(id, [{ t: 'uncut', cut: cut?.n as number }])
  assert.is(sentToModel(sessions, id), 'a b [cf m4-m7] g h')
  assert.equal(shown(sessions, id), ['m7'])
  await close()
})

test('copies include a summary only when they have its whole range', async () => {
  const { sessions, id, close } = begin()
  summary(sessions, id, 0, 2, 'ac')
  summary(sessions, id, 0, 5, 'af')
  const whole = sessions.duplicate(id).session_id
  assert.is(sentToModel(sessions, whole), '[af m2-m7] g h')
  const [last] = sessions.load(whole).summaries.slice(-1)
  sessions.append(whole, [{ t: 'unsummary', summary: last?.n as number }])
  assert.is(sentToModel(sessions, whole), '[ac m2-m4] d e f g h', 'and it can be undone there')
  assert.is(sentToModel(sessions, id), '[af m2-m7] g h')
  const part = sessions.branch(id, { keep_count: 5 }).session_id
  assert.is(sentToModel(sessions, part), '[ac m2-m4] d e')
  assert.is(sentToModel(sessions, sessions.branch(id, { keep_count: 2 }).session_id), 'a b')
  await close()
})

test('a purge keeps active summaries and no text of undone ones', async () => {
  const { sessions, id, path, close } = begin()
  const gone = summary(sessions, id, 0, 3, 'secret ad')
  sessions.append(id, [{ t: 'unsummary', summary: gone }])
  summary(sessions, id, 2, 5, 'cf')
  await sessions.purge(id)
  assert.is(sentToModel(sessions, id), 'a b [cf m4-m7] g h')
  assert.not.match(readFileSync(path(id), 'utf8'), 'secret')
  await close()
})

test('errors and incomplete calls inside a range are neither sent nor lost', async () => {
  const { sessions, id, close } = begin()
  sessions.append(id, [
    { t: 'message', message: { role: 'assistant', content: 'oops', _error: true } },
    say('i'),
  ])
  const count = sessions.load(id).messages.length
  summary(sessions, id, 8, 8, 'an error alone')
  summary(sessions, id, 2, 8, 'c-oops')
  assert.is(sentToModel(sessions, id), 'a b [c-oops m4-m10] i')
  assert.is(sessions.load(id).messages.length, count)
  await close()
})

test.run()
