/** The spine: nodes of rows, places in the address, and the direction of blocks. */
import '../../_jsx.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RefusedBy } from '../../../lib/schema/refused-by.ts'
import type { Message } from '../../../lib/schema/message.ts'
import { createRoute } from '../../../public/features/shell/route.ts'
import { toRows } from '../../../public/features/transcript/rows.ts'
import { messageIdOf, nodeOf } from '../../../public/features/transcript/spine.ts'
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
const nodes = (messages: Message[], isWaiting = false) =>
  toRows({ messages, live: null, finished: {}, open: new Set(['m1:a0']), showThinking: true })
    .map(row => nodeOf(row, isWaiting))
    .map(node => (node ? `${node.kind} ${node.state}` : ''))

spine('a failed step is marked, and so is the work that contains it; footers have no node', () => {
  assert.equal(nodes(turn), [
    'request ended',
    'work failed',
    'step failed',
    'step ended',
    'result ended',
    '',
  ])
})

spine('a call that was denied or not answered in time is not done', () => {
  const refused = (by: RefusedBy) => {
    const content = JSON.stringify({ status: 'blocked', exit_code: -1, error: 'No' })
    return nodes(turn.with(2, { ...turn[2]!, content, _refused_by: by })).slice(1, 3)
  }
  for (const by of ['user', 'timeout'] as const)
    assert.equal(refused(by), ['work refused', 'step refused'])
  for (const by of ['checks', 'policy', 'plan'] as const)
    assert.equal(refused(by), ['work ended', 'step ended'])
})

spine('a failed turn ends with a node of its own', () => {
  const failed: Message = { id: 'm6', role: 'assistant', content: '**Error:** no', _error: true }
  assert.ok(nodes([...turn, failed]).includes('end broken'))
})

spine('a running turn is running, or waiting while a question is open', () => {
  const rows = toRows({
    messages: turn.slice(0, 1),
    live: { messageId: null, hasText: false, hasReasoning: false, tools: [] },
    finished: {},
    open: new Set(),
    showThinking: true,
  })
  const work = rows.find(row => row.kind === 'activity')!
  assert.is(nodeOf(work, false)?.state, 'running')
  assert.is(nodeOf(work, true)?.state, 'waiting')
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
