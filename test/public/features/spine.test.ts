/** Marks beside steps, places in the address, and the direction of blocks. */
import '../../_jsx.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RefusedBy } from '../../../lib/schema/refused-by.ts'
import type { Message } from '../../../lib/schema/message.ts'
import { createRoute } from '../../../public/features/shell/route.ts'
import { toRows } from '../../../public/features/transcript/rows.ts'
import { markOf, messageIdOf } from '../../../public/features/transcript/spine.ts'
import { directionOf } from '../../../public/markdown/markdown.tsx'

const spine = suite('spine')

const call = (id: string) => ({
  id,
  type: 'function' as const,
  function: { name: 'terminal', arguments: '{"command":"ls"}' },
})
const turn: Message[] = [
  { id: 'm1', role: 'user', content: 'Do it' },
  { id: 'm2', role: 'assistant', content: '', tool_calls: [call('c1'), call('c2')] },
  { id: 'm3', role: 'tool', tool_call_id: 'c1', content: '{"output":"","exit_code":2}' },
  { id: 'm4', role: 'tool', tool_call_id: 'c2', content: '{"output":"","exit_code":0}' },
  { id: 'm5', role: 'assistant', content: 'Done.' },
]
const rowsOf = (messages: Message[], open = ['m1:a0']) =>
  toRows({ messages, live: null, finished: {}, open: new Set(open), showThinking: true })
const marks = (messages: Message[]) =>
  rowsOf(messages).map(row => `${row.kind} ${markOf(row, false) ?? ''}`.trim())

spine('only steps have marks: a failed one, and the line of its group', () => {
  assert.equal(marks(turn), ['user', 'activity failed', 'step failed', 'step', 'text', 'foot'])
  const failed: Message = { id: 'm6', role: 'assistant', content: '**Error:** no', _error: true }
  assert.ok(marks([...turn, failed]).includes('error'))
})

const decision = (patch: object) => ({
  ...{ id: 'd1', kind: 'approval' as const, what: 'ls', call_id: 'c1', answer: 'deny' },
  ...{ asked_at: 1, answered_at: 2, ...patch },
})
const content = JSON.stringify({ status: 'blocked', exit_code: -1, error: 'No' })
const refused = (by: RefusedBy, decisions: Message['_decisions']): Message[] => [
  turn[0]!,
  { ...turn[1]!, tool_calls: [call('c1')], ...(decisions && { _decisions: decisions }) },
  { ...turn[2]!, content, _refused_by: by },
  turn[4]!,
]

spine(
  'what a person denied, or did not answer in time, is said once, by the line of the decision',
  () => {
    const kinds = (messages: Message[]) => marks(messages).slice(1, -2)
    assert.equal(kinds(refused('user', [decision({})])), ['decision'])
    assert.equal(kinds(refused('timeout', [decision({ reason: 'timeout' })])), ['decision waiting'])
    // Whole, where the line of the decision has to cut it.
    const long = decision({ what: 'x'.repeat(300) })
    assert.equal(kinds(refused('user', [long])), ['decision', 'activity', 'step'])
    assert.equal(kinds(refused('rule', undefined)), ['activity', 'step'])
  },
)

spine('a running turn is marked, unless the card of a question is', () => {
  const rows = toRows({
    messages: turn.slice(0, 1),
    live: { messageId: null, hasText: false, hasReasoning: false, tools: [] },
    finished: {},
    open: new Set(),
    showThinking: true,
  })
  const work = rows.find(row => row.kind === 'activity')!
  assert.is(markOf(work, false), 'running')
  assert.is(markOf(work, true), null)
})

spine('a place is in the address beside the open file, and another chat has none', () => {
  const urls: string[] = []
  const history = {
    pushState: (_: unknown, __: string, url: string) => void urls.push(url),
    replaceState: (_: unknown, __: string, url: string) => void urls.push(url),
  }
  const base = 'http://h/x/'
  const route = createRoute(base, `${base}session/s1?file=a.ts&at=m12:a0/c%231~2`, history)
  assert.equal(route.place.value, { row: 'm12:a0/c#1', heading: 2, focus: false })
  route.replaceFile('src/a.ts:12')
  route.jumpTo('m3')
  assert.is(urls.at(-1), `${base}session/s1?file=src/a.ts:12&at=m3`)
  route.replaceFile(null)
  assert.is(urls.at(-1), `${base}session/s1?at=m3`)
  assert.is(route.hrefOfPlace('m3:a0/c'), `${base}session/s1?at=m3:a0/c`)
  route.openSession('s2')
  assert.is(route.place.value, null)
  assert.is(urls.at(-1), `${base}session/s2`)
})

spine('the message of a row is the part before its first colon', () => {
  for (const key of ['m12', 'm12:0', 'm12:a0', 'm12:a0/call:1']) assert.is(messageIdOf(key), 'm12')
})

spine('the first letter outside code decides the direction of a list', () => {
  assert.is(directionOf('- `npm test` שלום'), 'rtl')
  assert.is(directionOf('- 1) (مرحبا) hello'), 'rtl')
  assert.is(directionOf('- hello مرحبا'), 'ltr')
  assert.is(directionOf('123'), 'ltr')
})

spine.run()
