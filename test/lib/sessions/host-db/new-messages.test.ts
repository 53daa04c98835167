/** What is appended to an imported session after the terminal continued it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  newestNumber,
  planSync,
  type SyncState,
} from '../../../../lib/sessions/host-db/new-messages.ts'
import type { Message } from '../../../../lib/schema/message.ts'
import type { NewEntry } from '../../../../lib/sessions/entries.ts'
import { foldForward } from '../../../../lib/sessions/fold.ts'

const host = (...texts: string[]): Message[] =>
  texts.map((content, at) => ({ id: `c${at + 1}`, role: 'user', content }))

/** A session with these messages, imported in this state. */
const imported = (texts: readonly string[], state?: SyncState, title = 'Title') => {
  const entries = [
    { n: 1, t: 'session', at: 1, v: 1, id: 's', meta: { title, ...(state && { _cli: state }) } },
    ...texts.map((content, at) => ({
      n: at + 2,
      t: 'message',
      at: 1,
      message: { id: `m${at + 2}`, role: 'user', content },
    })),
  ]
  const lines = entries.map(entry => ({ offset: 0, bytes: Buffer.from(JSON.stringify(entry)) }))
  return foldForward('s', lines).folded
}

const plan = (
  own: ReturnType<typeof imported>,
  messages: readonly Message[],
  { title = 'Title', compacted = false } = {},
) => planSync(own, { messages, title, compacted }, 99_000)

const short = (entries: readonly NewEntry[]) =>
  entries.map(entry => {
    if (entry.t === 'message') return entry.message._error ? 'divider' : entry.message.content
    if (entry.t === 'cut') return `cut after ${entry.after}`
    return entry.t === 'meta' ? entry.patch : entry.t
  })

const state = (seen: number, count = seen, title = 'Title'): SyncState => ({ seen, count, title })

const test = suite('syncing an imported session')

test('finds the highest row number', () => {
  assert.is(newestNumber(host('a', 'b', 'c').reverse()), 3)
  assert.is(newestNumber([]), 0)
})

test('adds nothing when nothing changed', () => {
  assert.equal(plan(imported(['a', 'b'], state(2)), host('a', 'b')), [])
})

test('adds nothing for an empty history: the database may have been replaced', () => {
  assert.equal(plan(imported(['a', 'b'], state(2)), []), [])
})

test('appends the messages the terminal added', () => {
  const entries = plan(imported(['a'], state(1)), host('a', 'b', 'c'))
  assert.equal(short(entries), ['b', 'c', { _cli: state(3) }])
})

test('hides what the terminal took back with a cut', () => {
  const entries = plan(imported(['a', 'b', 'c'], state(3)), host('a', 'other'))
  assert.equal(short(entries), ['cut after 2', 'other', { _cli: state(3, 2) }])
})

test('puts a divider before new messages once messages were written here', () => {
  const own = imported(['a', 'mine'], state(1))
  assert.equal(short(plan(own, host('a', 'b'))), ['divider', 'b', { _cli: state(2, 1) }])
})

test('appends only new messages after compaction in place', () => {
  const own = imported(['a', 'b'], state(2))
  const messages = [
    { id: 'c7', role: 'user', content: 'summary' },
    { id: 'c8', role: 'user', content: 'new' },
  ] satisfies Message[]
  const entries = plan(own, messages, { compacted: true })
  assert.equal(short(entries), ['summary', 'new', { _cli: state(8, 4) }])
})

test('follows a new title until the session is renamed here', () => {
  const own = imported(['a'], state(1))
  assert.equal(short(plan(own, host('a'), { title: 'Next' })), [
    { _cli: state(1, 1, 'Next'), title: 'Next' },
  ])
  const renamed = imported(['a'], state(1), 'Mine')
  assert.equal(short(plan(renamed, host('a'), { title: 'Next' })), [{ _cli: state(1, 1, 'Next') }])
})

test('a session imported without a state is compared by its messages', () => {
  assert.equal(short(plan(imported(['a']), host('a', 'b'))), ['b', { _cli: state(2) }])
})

test.run()
