/** Subagents from live events and stored results: nesting, bounds, late and malformed data. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Frame, TurnEvent } from '../../../lib/schema/event.ts'
import {
  type TranscriptState,
  emptyTranscript,
  transcriptFromSession,
  reduceFrame,
} from '../../../public/features/messages/chat-reducer.ts'
import { resultsOf } from '../../../public/features/transcript/subagents.tsx'
import { fakeSession } from '../_page.ts'

const test = suite('page: subagents')

const follow = (chat: TranscriptState, ...events: TurnEvent[]): TranscriptState =>
  events.reduce(
    (value, event) =>
      reduceFrame(value, { source: 'session:a', n: value.lastSeq + 1, ...event } as Frame, 5),
    chat,
  )

const started: TurnEvent = {
  type: 'turn_started',
  data: { session_id: 'a', stream_id: 's', model: 'm', provider: 'p', started_at: 1 },
}
const place = (parent_tid: string, task_index = 0) => ({ parent_tid, task_index })
const begins = (parent: string, goal: string, index = 0): TurnEvent => ({
  type: 'subagent',
  data: { ...place(parent, index), goal, status: 'running' },
})
const calls = (parent: string, tid: string, tool = 'terminal', index = 0): TurnEvent => ({
  type: 'tool',
  data: {
    event_type: 'tool.started',
    name: 'subagent_progress',
    tool,
    preview: 'ls',
    args: { command: 'ls' },
    tid,
    ...place(parent, index),
  },
})
const ends = (parent: string, tid: string): TurnEvent => ({
  type: 'tool_complete',
  data: {
    event_type: 'tool.completed',
    name: 'subagent_progress',
    tool: 'terminal',
    preview: 'ls',
    args: {},
    tid,
    duration: 2,
    is_error: true,
    ...place(parent),
  },
})

test('ignores events before a turn or of unknown calls', () => {
  const none = follow(emptyTranscript('a'), begins('c1', 'look'), calls('c1', 'c1.0.x'))
  assert.is(none.live, null)
  const late = follow(emptyTranscript('a'), started, {
    type: 'tool_output',
    data: { tid: 'zz', text: 'x', parent_tid: 'c1' },
  })
  assert.equal(late.live?.subagents, [])
})

test('lists calls in the timeline of their subagent; nested subagents name the call', () => {
  const chat = follow(
    emptyTranscript('a'),
    started,
    begins('c1', 'look'),
    begins('c1', 'count', 1),
    { type: 'subagent', data: { ...place('c1'), reasoning: 'hm' } },
    calls('c1', 'c1.0.x'),
    { type: 'tool_output', data: { tid: 'c1.0.x', text: 'a file', parent_tid: 'c1' } },
    ends('c1', 'c1.0.x'),
    { type: 'subagent', data: { ...place('c1'), text: 'I found' } },
    calls('c1', 'c1.1.d', 'delegate_task', 1),
    begins('c1.1.d', 'deeper'),
  )
  assert.equal(chat.live?.tools, [])
  assert.equal(
    chat.live?.subagents?.map(({ parent_tid, task_index, goal }) => [parent_tid, task_index, goal]),
    [
      ['c1', 0, 'look'],
      ['c1', 1, 'count'],
      ['c1.1.d', 0, 'deeper'],
    ],
  )
  const [first] = chat.live?.subagents ?? []
  assert.equal([first?.text, first?.reasoning], ['I found', ''])
  const [step] = first?.steps ?? []
  assert.equal(
    [step?.name, step?.output, step?.duration, step?.is_error],
    ['terminal', 'a file', 2, true],
  )
  const after = follow(chat, {
    type: 'message',
    data: { message: { id: 'm2', role: 'tool', tool_call_id: 'c1', content: '{}' } },
  })
  assert.equal(after.live?.subagents, [])
})

test('a reload during a turn continues from the stored position', () => {
  const before = follow(emptyTranscript('a'), started, begins('c1', 'look'), calls('c1', 'c1.0.x'))
  const again = transcriptFromSession(
    fakeSession('a', { live: before.live, cursor: 'aaaaaaaa-9' }) as Parameters<
      typeof transcriptFromSession
    >[0],
  )
  const chat = follow(again, ends('c1', 'c1.0.x'))
  assert.is(chat.live?.subagents?.[0]?.steps[0]?.duration, 2)
})

test('a stored result is read with care', () => {
  assert.equal(resultsOf('not JSON').error, 'not JSON')
  assert.equal(resultsOf('[]'), { results: [], error: '' })
  const { results } = resultsOf(
    JSON.stringify({
      results: [
        { task_index: 1, goal: 'g', status: 'completed', tool_trace: [{ tool: 'x', trace: [{}] }] },
        'odd',
      ],
    }),
  )
  assert.equal(
    results.map(({ status, calls: count }) => [status, count]),
    [
      ['completed', 1],
      ['failed', 0],
    ],
  )
  assert.is(results[0]?.trace[0]?.trace[0]?.tool, '')
})

test.run()
