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

const changed: Message[] = ['summary', 'new'].map((content, at) => ({
  id: `c${at + 7}`,
  role: 'user',
  content,
}))
const CASES: [
  name: string,
  own: ReturnType<typeof imported>,
  messages: readonly Message[],
  added: unknown[],
  more?: { title?: string; compacted?: boolean },
][] = [
  ['nothing changed', imported(['a', 'b'], state(2)), host('a', 'b'), []],
  ['the database may have been replaced', imported(['a', 'b'], state(2)), [], []],
  [
    'the terminal added',
    imported(['a'], state(1)),
    host('a', 'b', 'c'),
    ['b', 'c', { _cli: state(3) }],
  ],
  [
    'the terminal took back',
    imported(['a', 'b', 'c'], state(3)),
    host('a', 'other'),
    ['cut after 2', 'other', { _cli: state(3, 2) }],
  ],
  [
    'both added',
    imported(['a', 'mine'], state(1)),
    host('a', 'b'),
    ['divider', 'b', { _cli: state(2, 1) }],
  ],
  [
    'compacted in place',
    imported(['a', 'b'], state(2)),
    changed,
    ['summary', 'new', { _cli: state(8, 4) }],
    { compacted: true },
  ],
  [
    'a new title',
    imported(['a'], state(1)),
    host('a'),
    [{ _cli: state(1, 1, 'Next'), title: 'Next' }],
    { title: 'Next' },
  ],
  [
    'a new title of a session that was renamed here',
    imported(['a'], state(1), 'Mine'),
    host('a'),
    [{ _cli: state(1, 1, 'Next') }],
    { title: 'Next' },
  ],
  ['imported without a state', imported(['a']), host('a', 'b'), ['b', { _cli: state(2) }]],
]

test('appends what the terminal added, hides what it took back, and keeps what was written here', () => {
  for (const [name, own, messages, added, more] of CASES)
    assert.equal(short(plan(own, messages, more)), added, name)
  assert.is(newestNumber(host('a', 'b', 'c').reverse()), 3)
})

test.run()
