/** The outline of a chat: entries, the current one, the filter, its size. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Message } from '../../../lib/schema/message.ts'
import { currentEntry, filterOutline, outlineOf } from '../../../public/features/outline/outline.ts'

const outline = suite('outline')

const say = (id: string, role: Message['role'], content: string, more = {}): Message => ({
  id,
  role,
  content,
  timestamp: 7,
  ...more,
})
const chat: Message[] = [
  say('m1', 'user', 'Fix  the\nretry logic'),
  say('m2', 'assistant', 'First.', { tool_calls: [] }),
  say('m3', 'tool', '# not a heading of an answer'),
  say(
    'm4',
    'assistant',
    '# Plan\n\n```sh\n# no heading\n```\n\nCauses\n---\n\n#### Detail\n\n### The `end`',
  ),
  say('m5', 'assistant', '**Error:** # no', { _error: true }),
  say('m6', 'user', 'hook', { _hooks: [] }),
  say('m7', 'user', 'Thanks'),
]
const list = (entries = outlineOf(chat)) =>
  entries.map(({ row, heading, level, text }) => `${row}${heading ?? ''} ${level} ${text}`)

outline('has the requests, and the headings of answers by their place in the text', () => {
  assert.equal(list(), [
    'm1 0 Fix the retry logic',
    'm4:00 1 Plan',
    'm4:01 2 Causes',
    'm4:03 3 The end',
    'm7 0 Thanks',
  ])
  assert.is(outlineOf(chat)[0]?.at, 7)
})

outline('the current entry is the last one that does not follow the top of the viewport', () => {
  const entries = outlineOf(chat)
  const current = (id: string | null) => entries[currentEntry(entries, chat, id)]?.text
  assert.is(current('m3'), 'Fix the retry logic')
  assert.is(current('m7'), 'Thanks')
  assert.is(current(null), undefined)
})

outline('the filter keeps the request above a heading that matches', () => {
  assert.equal(list([...filterOutline(outlineOf(chat), 'CAU')]), [
    'm1 0 Fix the retry logic',
    'm4:01 2 Causes',
  ])
  assert.equal(filterOutline(outlineOf(chat), 'nothing'), [])
})

outline('messages are parsed once', () => {
  const [first] = outlineOf(chat)
  assert.is(outlineOf([...chat])[0], first)
})

outline.run()
