/** Chat reducer: live and replayed events give the same state, duplicates are ignored, every event type is covered. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Frame, TurnEvent } from '../../../lib/schema/event.ts'
import type { Decision } from '../../../lib/schema/decision.ts'
import type { Message } from '../../../lib/schema/message.ts'
import type { Session } from '../../../lib/schema/session.ts'
import { emptyUsage } from '../../../lib/schema/usage.ts'
import {
  emptyTranscript,
  transcriptFromSession,
  reduceFrame,
  withEarlier,
} from '../../../public/features/messages/chat-reducer.ts'
import type { TranscriptState } from '../../../public/features/messages/chat-reducer.ts'
import { shownRetryOf } from '../../../public/features/transcript/pending-retry.ts'

const chat = suite('chat')

const usage = {
  input_tokens: 10,
  output_tokens: 5,
  estimated_cost: 0,
  context_length: 100,
  threshold_tokens: 50,
  last_prompt_tokens: 10,
}
const say = (id: string, role: Message['role'], content: string, more = {}): Message => ({
  id,
  role,
  content,
  ...more,
})
const frames = (events: TurnEvent[], from = 1, stream = 's'): Frame[] =>
  events.map((event, index) => ({
    source: 'session:a' as const,
    n: from + index,
    stream,
    pos: index + 1,
    ...event,
  }))
const fold = (value: TranscriptState, list: Frame[]): TranscriptState =>
  list.reduce((all, frame) => reduceFrame(all, frame, 100), value)

const started = (stream = 's'): TurnEvent => ({
  type: 'turn_started',
  data: { session_id: 'a', stream_id: stream, model: 'm', provider: 'p', started_at: 90 },
})
const token = (text: string, id = 'm2'): TurnEvent => ({
  type: 'token',
  data: { text, message_id: id },
})
const message = (value: Message): TurnEvent => ({ type: 'message', data: { message: value } })
const tool = { name: 'terminal', preview: null, args: { command: 'ls' }, tid: 't1' }
const approval = {
  kind: 'approval' as const,
  approval_id: 'q1',
  session_id: 'a',
  command: 'rm x',
  pattern_key: 'k',
  pattern_keys: ['k'],
  description: 'd',
  requested_at: 1,
}
const call = {
  id: 't1',
  type: 'function' as const,
  function: { name: 'terminal', arguments: '{}' },
}

const decided = (id: string): Decision => ({
  ...{ id, kind: 'approval', what: 'rm x', answer: 'once', asked_at: 1, answered_at: 9 },
})

const turn: TurnEvent[] = [
  message(say('m1', 'user', 'hi')),
  started(),
  { type: 'reasoning', data: { text: 'hm', message_id: 'm2' } },
  token('Let me '),
  token('look.'),
  message(say('m2', 'assistant', 'Let me look.', { reasoning: 'hm', tool_calls: [call] })),
  { type: 'tool', data: { event_type: 'tool.started', ...tool } },
  { type: 'tool_output', data: { tid: 't1', text: 'a\n' } },
  { type: 'approval', data: approval },
  {
    type: 'answered',
    data: {
      id: 'q1',
      kind: 'approval',
      answer: 'once',
      message_id: 'm2',
      decisions: [decided('q1')],
    },
  },
  {
    type: 'tool_complete',
    data: { event_type: 'tool.completed', ...tool, duration: 1.5, is_error: false },
  },
  message(say('m3', 'tool', '{"output":"a"}', { tool_call_id: 't1' })),
  token('Done', 'm4'),
  message(say('m4', 'assistant', 'Done')),
  { type: 'done', data: { usage, message_ids: ['m1', 'm2', 'm3', 'm4'] } },
  { type: 'title_status', data: { session_id: 'a', status: 'llm' } },
  { type: 'title', data: { session_id: 'a', title: 'Greeting' } },
  { type: 'stream_end', data: { session_id: 'a' } },
]

chat('frames of another session, of the list, and old ones change nothing', () => {
  const value = { ...emptyTranscript('a'), lastSeq: 5 }
  assert.is(reduceFrame(value, { source: 'session:b', n: 9, ...token('x') }, 100), value)
  assert.is(reduceFrame(value, { source: 'session:a', n: 5, ...token('x') }, 100), value)
  const reset = reduceFrame(value, { source: 'session:a', n: 9, type: 'reset', data: {} }, 100)
  assert.equal(reset, { ...value, lastSeq: 9 })
})

chat('another version of a message hides it and all after it, and is applied once', () => {
  const ids = (value: TranscriptState) => value.messages.map(({ id }) => id)
  const version: TurnEvent = {
    type: 'message',
    data: { message: say('m9', 'user', 'again'), replaces: 'm3' },
  }
  const before: TranscriptState = {
    ...emptyTranscript('a'),
    messages: [
      say('m1', 'user', 'a'),
      say('m2', 'assistant', 'b'),
      say('m3', 'user', 'c'),
      say('m4', 'assistant', 'd'),
    ],
    summaries: [
      { n: 7, last: 'm2' },
      { n: 8, last: 'm4' },
    ],
    turnUsage: [2.5, 4.5].map(n => ({
      ...emptyUsage,
      n,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
    })),
  }
  const after = fold(before, frames([version, started()]))
  assert.equal(ids(after), ['m1', 'm2', 'm9'])
  assert.equal(after.summaries, [{ n: 7, last: 'm2' }])
  assert.equal(
    after.turnUsage.map(({ n }) => n),
    [2.5],
  )
  // A snapshot that already contains it.
  assert.equal(ids(fold(after, frames([version], 10))), ['m1', 'm2', 'm9'])
  // Only later messages are loaded.
  const later = { ...before, messages: before.messages.slice(3), before: 3 }
  assert.equal(ids(fold(later, frames([version]))), ['m9'])
})

chat('a whole turn', () => {
  const value = fold(emptyTranscript('a'), frames(turn))
  assert.equal(
    value.messages.map(one => one.id),
    ['m1', 'm2', 'm3', 'm4'],
  )
  assert.is(value.live, null)
  assert.is(value.title, 'Greeting')
  assert.equal(value.usage, usage)
  assert.equal(value.finished, { t1: { duration: 1.5, isError: false } })
  assert.equal(value.messages[1]?._decisions, [decided('q1')])
  assert.equal(value.questions, [])
})

chat('every frame twice is every frame once, at every point of the turn', () => {
  const list = frames(turn)
  for (let cut = 0; cut <= list.length; cut++) {
    const once = fold(emptyTranscript('a'), list.slice(0, cut))
    const twice = fold(once, list.slice(0, cut))
    assert.is(twice, once)
  }
})

chat(
  'a record read in the middle of a turn and the frames after it give what the whole stream gives',
  () => {
    const list = frames(turn)
    const whole = fold(emptyTranscript('a'), list)
    for (let cut = 2; cut < 14; cut++) {
      const before = fold(emptyTranscript('a'), list.slice(0, cut))
      const record = {
        session_id: 'a',
        title: before.title,
        messages: before.messages,
        questions: before.questions,
        last_usage: before.usage,
        live: before.live && {
          ...before.live,
          pos: cut,
          tools: before.live.tools.filter(one => !before.finished[one.tid]),
        },
        cursor: `0badcafe-${cut}`,
        _messages_offset: 0,
      } as unknown as Session
      const value = fold(transcriptFromSession(record), list)
      assert.equal(value.messages, whole.messages, `cut at ${cut}`)
      assert.is(value.live, null)
      // Another reader's numbers: the same log, replayed under higher ones, is known by its positions.
      if (before.live) {
        const replayed = fold(transcriptFromSession(record), frames(turn, 1000).slice(1, cut))
        assert.equal(replayed.live, before.live && record.live, `replay at ${cut}`)
      }
    }
  },
)

chat('what streamed before a retry is void', () => {
  const value = fold(
    emptyTranscript('a'),
    frames([
      started(),
      token('half'),
      {
        type: 'retry',
        data: { message_id: 'm2', attempt: 1, delay_ms: 10, message: 'Trying again' },
      },
    ]),
  )
  assert.is(value.live?.text, '')
  assert.is(value.live?.retry?.message, 'Trying again')
  const next = reduceFrame(value, { source: 'session:a', n: 9, ...token('whole') }, 100)
  assert.is(next.live?.text, 'whole')
  assert.is(next.live?.retry, undefined)
})

const overloaded = {
  attempt: 2,
  attempts: 6,
  delay_ms: 8_000,
  until: 50,
  reason: 'overloaded' as const,
  provider: 'OpenAI',
  message: 'Overloaded',
}
const retrying: TurnEvent = { type: 'retry', data: { message_id: 'm2', ...overloaded } }

chat('the time of a retry is the server’s, however late its event arrives', () => {
  const value = fold(emptyTranscript('a'), frames([started(), token('half'), retrying]))
  assert.equal(value.live?.retry, overloaded)
  const { until: _, ...older } = retrying.data as typeof overloaded & { message_id: string }
  const sent = { type: 'retry' as const, data: older }
  const now = reduceFrame(value, { source: 'session:a', n: 9, ...sent }, 100)
  assert.is(now.live?.retry?.until, 108)
})

chat('a retry is over with its text, its message, another model, and the turn', () => {
  const value = fold(emptyTranscript('a'), frames([started(), retrying]))
  const ends: TurnEvent[] = [
    token('whole'),
    message(say('m2', 'assistant', 'whole')),
    {
      type: 'warning',
      data: { message: 'a is rate limited; continuing with b.', type: 'fallback' },
    },
    { type: 'cancel', data: { message: 'Cancelled by user' } },
  ]
  for (const end of ends) {
    const next = reduceFrame(value, { source: 'session:a', n: 9, ...end } as Frame, 100)
    assert.is(next.live?.retry, undefined, end.type)
  }
  const warned = { type: 'warning' as const, data: { message: 'Careful', type: 'model' } }
  const still = reduceFrame(value, { source: 'session:a', n: 9, ...warned }, 100)
  assert.ok(still.live?.retry)
})

chat('a subagent’s retry is over with its next event', () => {
  const of = { parent_tid: 'd1', task_index: 0 }
  const subagent = (data: object): TurnEvent => ({ type: 'subagent', data: { ...of, ...data } })
  const waiting = [started(), subagent({ goal: 'Count', status: 'running' })]
  const retry = subagent({ again: 'Overloaded', retry: overloaded })
  const value = fold(emptyTranscript('a'), frames([...waiting, retry]))
  assert.equal(value.live?.subagents?.[0]?.retry, overloaded)
  const next = fold(emptyTranscript('a'), frames([...waiting, retry, subagent({ text: 'Three' })]))
  assert.is(next.live?.subagents?.[0]?.retry, undefined)
})

chat('shows the retry that comes first, and counts the others', () => {
  const { live } = fold(emptyTranscript('a'), frames([started()]))
  const agent = { ...blankAgent, status: 'running' as const, retry: { ...overloaded, until: 40 } }
  const ended = { ...agent, status: 'failed' as const, retry: { ...overloaded, until: 30 } }
  assert.is(shownRetryOf(null), null)
  assert.is(shownRetryOf(live), null)
  assert.equal(shownRetryOf({ ...live!, retry: overloaded, subagents: [agent, ended] }), {
    ...overloaded,
    until: 40,
    goal: 'Count',
    others: 1,
  })
})

const blankAgent = {
  parent_tid: 'd1',
  task_index: 0,
  goal: 'Count',
  started_at: 1,
  steps: [],
  text: '',
  reasoning: '',
}

chat('tokens of a message that is stored already are doubles', () => {
  const value = fold(
    emptyTranscript('a'),
    frames([started(), message(say('m2', 'assistant', 'x')), token('x')]),
  )
  assert.is(value.live?.text, '')
})

chat('bounds the kept output of a running tool', () => {
  let value = fold(
    emptyTranscript('a'),
    frames([started(), { type: 'tool', data: { event_type: 'tool.started', ...tool } }]),
  )
  for (let n = 10; n < 60; n++) {
    const data = { tid: 't1', text: 'x'.repeat(1000) }
    value = reduceFrame(value, { source: 'session:a', n, type: 'tool_output', data }, 100)
  }
  assert.is(value.live?.tools[0]?.output.length, 16_000)
})

chat('keeps the partial text of a stopped turn, once', () => {
  const partial = say('m2', 'assistant', 'half', { _partial: true })
  const cancel: TurnEvent = { type: 'cancel', data: { message: 'Cancelled by user' } }
  const kept = fold(emptyTranscript('a'), frames([started(), token('half'), cancel]))
  assert.equal(kept.messages, [partial])
  assert.is(kept.live, null)
  const stored = fold(
    emptyTranscript('a'),
    frames([started(), token('half'), message(partial), cancel]),
  )
  assert.equal(stored.messages, [partial])
})

chat('a failure ends the turn and takes its questions along', () => {
  const failed: TurnEvent = {
    type: 'apperror',
    data: { message: 'no', type: 'rate_limit', hint: 'later' },
  }
  const value = fold(
    emptyTranscript('a'),
    frames([started(), { type: 'approval', data: approval }, failed]),
  )
  assert.equal(value.error, { message: 'no', type: 'rate_limit', hint: 'later' })
  assert.equal(value.questions, [])
  assert.is(fold(value, frames([started('s2')], 50, 's2')).error, null)
})

chat('two turns', () => {
  const second = turn.map(event => structuredClone(event)).slice(0, 5)
  second[0] = message(say('m5', 'user', 'more'))
  for (const event of second) if ('message_id' in event.data) event.data.message_id = 'm6'
  const value = fold(fold(emptyTranscript('a'), frames(turn)), frames(second, 100, 's2'))
  assert.is(value.messages.length, 5)
  assert.is(value.live?.text, 'Let me look.')
})

chat('the decisions of a message are those of its last answer, in the order of the server', () => {
  const asking = say('m2', 'assistant', '', { tool_calls: [call] })
  const answer = (...ids: string[]): TurnEvent => ({
    type: 'answered',
    data: {
      ...{ id: ids.at(-1)!, kind: 'approval', answer: 'once' },
      ...{ message_id: 'm2', decisions: ids.toSorted().map(decided) },
    },
  })
  const ids = (events: TurnEvent[]) =>
    fold(emptyTranscript('a'), frames(events)).messages.flatMap(({ _decisions: all = [] }) =>
      all.map(({ id }) => id),
    )
  const list = [started(), message(asking), answer('q2'), answer('q2', 'q1')]
  assert.equal(ids(list), ['q1', 'q2'])
  // Its message is above what is loaded: it comes with that.
  assert.equal(ids([started(), answer('q2')]), [])
})

chat('warnings and compression are notices, each once', () => {
  const list: TurnEvent[] = [
    started(),
    { type: 'warning', data: { message: 'fallback', type: 'fallback' } },
    { type: 'compressed', data: { message: 'packed' } },
    { type: 'compressed', data: { message: 'packed again' } },
  ]
  assert.equal(
    fold(emptyTranscript('a'), frames(list)).notices.map(notice => notice.message),
    ['fallback', 'packed again'],
  )
})

chat('a summary that is being made, made, and not made', () => {
  const making: TurnEvent = { type: 'compressing', data: { message: 'working' } }
  const begun = fold(emptyTranscript('a'), frames([started(), making]))
  assert.equal(
    begun.notices.map(notice => notice.message),
    ['working'],
  )
  const usage = { ...emptyUsage, context_length: 100, last_prompt_tokens: 90 }
  const done = fold(
    { ...begun, usage, summaries: [{ n: 3, last: 'm2' }] },
    frames(
      [
        {
          type: 'compressed',
          data: { message: 'done', summary: { n: 9, last: 'm7' }, last_prompt_tokens: 20 },
        },
      ],
      50,
      's2',
    ),
  )
  // The line of the summary says it.
  assert.equal(done.notices, [])
  assert.equal(done.summaries, [{ n: 9, last: 'm7' }])
  assert.is(done.usage?.last_prompt_tokens, 20)
  const failed = fold(
    begun,
    frames([{ type: 'warning', data: { message: 'in full', type: 'compression' } }], 50, 's2'),
  )
  assert.equal(
    failed.notices.map(notice => notice.message),
    ['in full'],
  )
})

chat('prepends older messages without duplicates', () => {
  const [early, late] = [turnUsage(2), turnUsage(4)]
  const messages = [say('m3', 'user', 'c')]
  const value = { ...emptyTranscript('a'), messages, before: 2, turnUsage: [late] }
  const next = withEarlier(value, {
    messages: [say('m1', 'user', 'a'), say('m3', 'user', 'c')],
    before: 0,
    turnUsage: [early],
  })
  assert.equal(
    next.messages.map(one => one.id),
    ['m1', 'm3'],
  )
  assert.is(next.before, 0)
  assert.equal(next.turnUsage, [early, late])
})

const turnUsage = (n: number) => ({
  n,
  input_tokens: 1,
  output_tokens: 1,
  estimated_cost: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
})

chat('has the usage of the running turn, also after a reload', () => {
  const now = { ...usage, input_tokens: 70 }
  const value = fold(
    emptyTranscript('a'),
    frames([started(), { type: 'usage', data: { usage: now } }]),
  )
  assert.equal([value.usage, value.live?.usage], [now, now])
  const session = { session_id: 'a', cursor: 'b-1', last_usage: usage, live: value.live }
  assert.equal(transcriptFromSession(session as unknown as Session).usage, now)
})

chat('keeps the usage of each turn that ends', () => {
  const done: TurnEvent = {
    type: 'done',
    data: { usage: { ...usage, cache_read_tokens: 9 }, message_ids: ['m2'] },
  }
  const value = fold(
    emptyTranscript('a'),
    frames([
      started(),
      message(say('m1', 'user', 'a')),
      message(say('m2', 'assistant', 'b')),
      done,
    ]),
  )
  assert.equal(
    value.turnUsage.map(({ n, input_tokens, cache_read_tokens: read }) => [n, input_tokens, read]),
    [[2.5, 10, 9]],
  )
})

chat('keeps the usage of a turn that was stopped or failed', () => {
  const ends: TurnEvent[] = [
    { type: 'cancel', data: { message: 'Cancelled by user' } },
    { type: 'apperror', data: { type: 'error', message: 'It broke.' } },
  ]
  for (const end of ends) {
    const question = message(say('m1', 'user', 'a'))
    const events = [started(), question, { type: 'usage', data: { usage } } as TurnEvent, end]
    const value = fold(emptyTranscript('a'), frames(events))
    assert.equal(
      value.turnUsage.map(({ n, input_tokens }) => [n, input_tokens]),
      [[1.5, 10]],
    )
  }
})

chat.run()
