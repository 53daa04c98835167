/** Transcript rows: steps, texts, hidden messages, visible range, cards. */
import '../../_jsx.ts'
import { type Signal, signal } from '@preact/signals'
import { type ComponentChildren, h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Decision } from '../../../lib/schema/decision.ts'
import type { Message } from '../../../lib/schema/message.ts'
import type { LiveTurn } from '../../../lib/schema/session.ts'
import { FailureType } from '../../../lib/schema/failure-type.ts'
import { failureText } from '../../../lib/turns/interrupted-turn.ts'
import { emptyTranscript } from '../../../public/features/messages/chat-reducer.ts'
import type { TranscriptState } from '../../../public/features/messages/chat-reducer.ts'
import {
  parseArgs,
  describeToolCall,
} from '../../../public/features/tool-calls/describe-tool-call.ts'
import { splitText } from '../../../public/features/transcript/content.ts'
import { reuseRows, toRows } from '../../../public/features/transcript/rows.ts'
import type {
  LiveShape,
  TranscriptRow,
  ToolStep,
} from '../../../public/features/transcript/rows.ts'
import {
  covers,
  Heights,
  offsetOfRow,
  rangeAt,
  rangeAtEnd,
} from '../../../public/features/transcript/virtual-range.ts'
import { createTestClock } from '../../_clock.ts'
import { createServerClock } from '../../../public/parts/server-clock.ts'

const { Transcript } = await import('../../../public/features/transcript/transcript.tsx')
const { ApprovalCard } = await import('../../../public/features/approvals/approval-card.tsx')
const { QuestionCard } = await import('../../../public/features/approvals/question-card.tsx')
const { ToolImages } = await import('../../../public/features/tool-calls/tool-images.tsx')
const { DecisionWords } = await import('../../../public/features/transcript/decision-row.tsx')
const { UsageFacts } = await import('../../../public/features/transcript/usage-facts.tsx')
const { Versions } = await import('../../../public/features/transcript/user-parts.tsx')
const { Lanes } = await import('../../../public/features/transcript/subagents.tsx')
const { TranscriptProvider } = await import(
  '../../../public/features/messages/transcript-context.ts'
)
const { ServerNotice } = await import('../../../public/features/transcript/server-notice.tsx')
const { ErrorCard, parseFailure } = await import(
  '../../../public/features/transcript/error-card.tsx'
)

const transcript = suite('transcript')

const say = (id: string, role: Message['role'], content: string, more = {}): Message => ({
  id,
  role,
  content,
  ...more,
})
const call = (id: string, name = 'terminal', args = '{"command":"ls"}') => ({
  id,
  type: 'function' as const,
  function: { name, arguments: args },
})
const rowsOf = (
  messages: Message[],
  live: LiveShape | null = null,
  open: string[] = [],
): TranscriptRow[] =>
  toRows({ messages, live, finished: {}, open: new Set(open), showThinking: true })
const kinds = (rows: TranscriptRow[]): string => rows.map(row => row.kind).join(' ')

transcript('tool calls that another program only summarized are steps before the answer', () => {
  const recorded = (tid: string, snippet: string) => ({
    name: 'web_search',
    snippet,
    tid,
    args: { query: 'kites' },
  })
  const [, activity, text] = rowsOf([
    say('m1', 'user', 'a'),
    say('m2', 'assistant', 'b', {
      _tool_summaries: [recorded('m2:s0', 'found'), recorded('m2:s1', '')],
    }),
  ])
  if (activity?.kind !== 'activity') throw new Error(`${activity?.kind}`)
  assert.equal(
    activity.steps.map(step => step.kind === 'tool' && [step.name, step.short, step.state]),
    Array.from({ length: 2 }, () => ['web_search', { query: 'kites' }, 'ended']),
  )
  assert.equal(
    activity.steps.map(step => step.kind === 'tool' && step.result?.content),
    ['found', ''],
  )
  assert.is(text?.kind, 'text')
})

transcript('the foot of each turn has its usage', () => {
  const used = (n: number, input: number, cached = 0) => ({
    n,
    input_tokens: input,
    output_tokens: 1_200,
    estimated_cost: cached > 0 ? 0.03 : 0,
    cache_read_tokens: cached,
    cache_write_tokens: 0,
  })
  const messages = [
    say('m1', 'user', 'a'),
    say('m2', 'assistant', 'b'),
    // Line 6 was a turn that is deleted.
    say('m8', 'user', 'c'),
    say('m9', 'assistant', 'd'),
    say('m12', 'user', 'e'),
    say('m13', 'assistant', 'f'),
  ]
  const turnUsage = [used(3, 12_300, 11_562), used(6, 5), used(10, 900)]
  const rows = toRows({
    messages,
    live: null,
    finished: {},
    open: new Set(),
    showThinking: true,
    turnUsage,
  })
  assert.equal(
    rows.flatMap(row => (row.kind === 'foot' ? [row.usage?.input_tokens ?? null] : [])),
    [12_300, 900, null],
  )
  // The first turn was imported, without its usage.
  const later = toRows({
    messages,
    live: null,
    finished: {},
    open: new Set(),
    showThinking: true,
    turnUsage: [used(10, 900)],
  })
  assert.equal(
    later.flatMap(row => (row.kind === 'foot' ? [row.usage?.input_tokens ?? null] : [])),
    [null, 900, null],
  )
  const html = turnUsage.map(usage => within(h(UsageFacts, { usage }))).join('')
  assert.ok(html.includes('12.3K tokens in (94% cached), 1,200 out, $0.03'), html)
  assert.ok(html.includes('900 tokens in, 1,200 out<'), html)
})

const turn = [
  say('m1', 'user', 'hi', { timestamp: 100 }),
  say('m2', 'assistant', '', {
    reasoning: 'hm',
    tool_calls: [call('t1'), call('t2', 'clarify')],
    timestamp: 102,
  }),
  say('m3', 'tool', '{"output":"x","exit_code":0}', { tool_call_id: 't1', timestamp: 107 }),
  say('m4', 'tool', '{}', { tool_call_id: 't2', timestamp: 107 }),
  say('m5', 'assistant', 'Here it is.', { timestamp: 108 }),
]

transcript(
  'nothing, results without calls, calls without results, and a start in the middle of a turn',
  () => {
    assert.equal(rowsOf([]), [])
    assert.equal(rowsOf([say('m1', 'tool', 'x', { tool_call_id: 'gone' })]), [])
    assert.is(kinds(rowsOf([say('m1', 'assistant', 'x')])), 'text foot')
    const [row] = rowsOf([say('m1', 'assistant', '', { tool_calls: [call('t1')] })])
    assert.is(row?.kind === 'activity' && row.steps.length, 1)
    assert.equal(rowsOf([say('m1', 'system', 'secret')]), [])
  },
)

transcript('collapses steps before an answer into one line, without questions', () => {
  const rows = rowsOf(turn)
  assert.is(kinds(rows), 'user activity text foot')
  const activity = rows[1]
  if (activity?.kind !== 'activity') throw new Error('Expected an activity')
  assert.equal(
    activity.steps.map(step => step.key),
    ['m2:r', 't1'],
  )
  assert.is(activity.seconds, 8)
  assert.is(kinds(rowsOf(turn, null, [activity.key])), 'user activity step step text foot')
})

transcript(
  'the line of an opened group has the words of its only step, which shows no more than its content',
  () => {
    const alone = (thinking: boolean, showSteps = false) =>
      toRows({
        messages: turn,
        live: null,
        finished: {},
        open: { has: () => true },
        showThinking: thinking,
        showSteps,
      }).flatMap(row => (row.kind === 'step' ? [row.alone] : []))
    // Where each step has its line, a long output is not opened with it.
    assert.equal([alone(false), alone(true), alone(false, true)], [[true], [false, false], [false]])
  },
)

transcript('hidden thinking leaves the tools', () => {
  const rows = toRows({
    messages: turn,
    live: null,
    finished: {},
    open: new Set(),
    showThinking: false,
  })
  assert.is(rows[1]?.kind === 'activity' && rows[1].steps.length, 1)
})

const decision = (more: Partial<Decision> = {}): Decision => ({
  ...{ id: 'q1', kind: 'approval', what: 'rm -rf build', answer: 'once' },
  ...{ asked_at: 101, answered_at: 401 },
  ...more,
})
const DENIED = '{"error":"Not approved: no one answered in time. Do not try it another way."}'
const asking = (decisions: Decision[], result = '{"output":"","exit_code":0}'): Message[] => [
  say('m1', 'user', 'x', { timestamp: 100 }),
  say('m2', 'assistant', 'I try it.', { tool_calls: [call('t0', 'read_file')], timestamp: 100 }),
  say('m3', 'tool', 'a', { tool_call_id: 't0', timestamp: 100 }),
  say('m4', 'assistant', '', {
    tool_calls: [call('t1')],
    timestamp: 101,
    _decisions: decisions,
  }),
  say('m5', 'tool', result, { tool_call_id: 't1', timestamp: 403 }),
  say('m6', 'assistant', 'Well.', { timestamp: 403 }),
]

transcript('a decision stands before the steps that waited for it, and waiting is no work', () => {
  const rows = rowsOf(asking([decision()]))
  assert.is(kinds(rows), 'user text activity decision activity text foot')
  const activities = rows.flatMap(row => (row.kind === 'activity' ? [row] : []))
  assert.equal(
    activities.map(({ seconds, steps }) => [seconds, steps.length]),
    [
      [1, 1],
      [2, 1],
    ],
  )
  assert.equal(
    activities.map(({ steps }) => steps[0]?.kind === 'tool' && steps[0].decisions.length),
    [0, 1],
  )
})

transcript(
  'what a later call of the same message asked is recorded after an earlier result',
  () => {
    const messages: Message[] = [
      say('m1', 'user', 'x'),
      say('m2', 'assistant', '', { tool_calls: [call('t1'), call('t2')] }),
      say('m3', 'tool', 'a', { tool_call_id: 't1', _decisions: [decision({ call_id: 't2' })] }),
      say('m4', 'tool', 'b', { tool_call_id: 't2' }),
    ]
    const rows = rowsOf(messages)
    assert.is(kinds(rows), 'user decision activity foot')
    const [activity] = rows.flatMap(row => (row.kind === 'activity' ? [row] : []))
    assert.equal(
      activity?.steps.map(step => step.kind === 'tool' && step.decisions.length),
      [0, 1],
    )
  },
)

transcript(
  'a question and a decision before any step have rows; a live turn keeps its activity last',
  () => {
    const clarify = decision({ kind: 'clarify', what: 'Which?', answer: 'SQLite' })
    const asked = [
      say('m1', 'user', 'x', {
        _decisions: [decision({ id: 'q0', asked_at: 50, answered_at: 60 })],
      }),
      say('m2', 'assistant', '', { tool_calls: [call('t1', 'clarify')], _decisions: [clarify] }),
    ]
    assert.is(kinds(rowsOf(asked)), 'user decision decision foot')
    const live = { messageId: null, hasText: false, hasReasoning: false, tools: [] }
    const rows = rowsOf(asked, live)
    assert.is(kinds(rows), 'user decision decision activity')
    assert.is(rows[3]?.kind === 'activity' && rows[3].waited, 310)
  },
)

transcript(
  'only the last turn, once it has ended, offers to run what no one allowed in time',
  () => {
    const missed = asking([decision({ answer: 'deny', reason: 'timeout' })], DENIED)
    const again = (messages: Message[], live: LiveShape | null = null) =>
      rowsOf(messages, live).flatMap(row => (row.kind === 'decision' ? [row.last] : []))
    assert.equal(again(missed), [true])
    assert.equal(again([...missed, say('m7', 'user', 'y')]), [false])
    const live = { messageId: null, hasText: false, hasReasoning: false, tools: [] }
    assert.equal(again(missed, live), [false])
  },
)

transcript('what needed no question has no row, and is noted at its step', () => {
  const rows = rowsOf(asking([decision({ auto: 'rule', answered_at: 101 })]))
  assert.is(kinds(rows), 'user text activity text foot')
  const [activity] = rows.flatMap(row => (row.kind === 'activity' ? [row] : []))
  assert.equal(
    activity?.steps.map(step => step.kind === 'tool' && step.decisions[0]?.auto),
    [undefined, 'rule'],
  )
  // It waited until auto-approval was turned on.
  const waited = rowsOf(asking([decision({ auto: 'yolo' })]))
  assert.ok(waited.some(row => row.kind === 'decision'))
})

transcript('says who decided what', () => {
  const say_ = (more: Partial<Decision>, own: string | null = null) =>
    renderToString(h(DecisionWords, { decision: decision(more), own })).replace(/<[^>]+>/g, '')
  assert.is(say_({}), 'You allowed rm -rf build')
  assert.is(say_({ answer: 'session' }), 'You allowed rm -rf build for this chat')
  const rule = { answer: 'always', scope: 'workspace', rule: 'rm -rf *' } as const
  assert.is(say_(rule), 'You allowed rm -rf build always, in this workspace rm -rf *')
  assert.is(say_({ answer: 'deny' }), 'You denied rm -rf build')
  assert.is(say_({ by: 'Anna' }, 'Olga'), 'Anna allowed rm -rf build')
  assert.is(say_({ by: 'Olga', answer: 'deny' }, 'Olga'), 'You denied rm -rf build')
  // Of the time before there were several people.
  assert.is(say_({}, 'Olga'), 'Allowed: rm -rf build')
  assert.is(
    say_({ answer: 'deny', reason: 'timeout' }),
    'Waited 5 min for your approval, not answered: rm -rf build',
  )
  assert.is(
    say_({ answer: 'deny', reason: 'withdrawn' }),
    'Ended before anyone answered: rm -rf build',
  )
  const clarify = { kind: 'clarify', what: 'Which database?', answer: 'SQLite' } as const
  assert.is(say_(clarify), 'Asked: Which database? — SQLite')
  assert.is(say_({ ...clarify, by: 'Anna' }, 'Olga'), 'Asked: Which database? — SQLite (Anna)')
  assert.is(
    say_({ ...clarify, answer: '', reason: 'timeout' }),
    'Asked: Which database? — no answer in 5 min',
  )
  const plan = { kind: 'plan', what: 'Move it', answer: 'Approve' } as const
  assert.is(say_(plan), 'Plan: Move it — approved')
  assert.is(say_({ ...plan, answer: 'Keep planning' }), 'Plan: Move it — not approved yet')
})

transcript('stopped, failed and compressed', () => {
  const partial = say('m2', 'assistant', 'half', { _partial: true })
  const marker = say('m3', 'assistant', '*Task cancelled.*', { _error: true })
  assert.is(kinds(rowsOf([say('m1', 'user', 'x'), partial, marker])), 'user text foot')
  assert.is(kinds(rowsOf([say('m1', 'user', 'x'), marker])), 'user cancelled')
  assert.is(
    kinds(
      rowsOf([say('m1', 'user', 'x'), say('m2', 'assistant', '**Error:** no', { _error: true })]),
    ),
    'user error',
  )
  assert.is(
    kinds(rowsOf([say('m1', 'user', '[CONTEXT COMPACTION] all'), ...turn])),
    'compaction user activity text foot',
  )
})

transcript('places the divider of a summary after the last message it covers', () => {
  const divided = (last: string, live: LiveShape | null = null) =>
    toRows({
      messages: turn,
      live,
      finished: {},
      open: new Set(),
      showThinking: true,
      summaries: [{ n: 9, last }],
    })
  const [first = '', foot = ''] = [turn[0]?.id, turn.at(-1)?.id]
  assert.is(kinds(divided('not loaded')), 'user activity text foot')
  assert.is(kinds(divided(first)), 'user compaction activity text foot')
  assert.is(kinds(divided('m3')), 'user activity compaction text foot')
  assert.is(kinds(divided(foot)), 'user activity text foot compaction')
  const live = { messageId: 'm9', hasText: true, hasReasoning: false, tools: [] }
  assert.is(kinds(divided(foot, live)), 'user activity text compaction text')
  const row = divided('m3')[2]
  assert.equal(row, { kind: 'compaction', key: 'summary:9', message: null, n: 9 })
})

transcript('a line of the server stays where it arrived', () => {
  const notices = [
    { id: 'n1', message: 'Another model answers', after: turn[1]!.id },
    { id: 'n2', message: 'Of a message that is not loaded', after: 'm99' },
  ]
  const input = { live: null, finished: {}, open: new Set<string>(), showThinking: true }
  assert.is(
    kinds(toRows({ ...input, messages: turn, notices })),
    'user activity notice text foot notice',
  )
})

transcript('uses the same keys for a live and a stored turn', () => {
  const shape = { messageId: 'm5', hasText: true, hasReasoning: false, tools: [] }
  const live = rowsOf(turn.slice(0, 4), shape)
  assert.equal(
    [...live.map(row => row.key), 'm1:foot'],
    rowsOf(turn).map(row => row.key),
  )
  const waiting = rowsOf(turn.slice(0, 1), {
    messageId: null,
    hasText: false,
    hasReasoning: false,
    tools: [],
  })
  assert.is(kinds(waiting), 'user activity')
})

transcript('shows a running call once, before and after its message arrives', () => {
  const tools = [
    {
      tid: 't1',
      name: 'terminal',
      preview: null,
      args: { command: 'ls' },
      started_at: 1,
      output: '',
    },
  ]
  const shape = { messageId: null, hasText: false, hasReasoning: false, tools }
  for (const messages of [turn.slice(0, 1), turn.slice(0, 2)]) {
    const activity = rowsOf(messages, shape)[1]
    if (activity?.kind !== 'activity') throw new Error('Expected an activity')
    const steps = activity.steps.filter(step => step.kind === 'tool')
    assert.equal(
      steps.map(step => step.kind === 'tool' && [step.tid, step.state]),
      [['t1', 'running']],
    )
    assert.is(activity.live, true)
  }
})

transcript('a file edit that is being written is the step that happens now, below its text', () => {
  const writing = { message_id: 'm2', index: 0, name: 'write_file', path: 'src/a.ts' }
  const silent = { messageId: null, hasText: false, hasReasoning: false, tools: [], writing }
  const [, activity] = rowsOf(turn.slice(0, 1), silent)
  const stepsOf = (row: TranscriptRow | undefined) =>
    row?.kind === 'activity'
      ? row.steps.map(step => step.kind === 'tool' && [step.state, step.short])
      : row?.kind
  assert.equal(stepsOf(activity), [['running', { path: 'src/a.ts' }]])
  const spoken = rowsOf(turn.slice(0, 1), { ...silent, messageId: 'm2', hasText: true })
  assert.is(kinds(spoken), 'user text activity')
  // It keeps the place of the step that it becomes.
  const calls = { tool_calls: [call('t1', 'write_file', '{"path":"src/a.ts"}')] }
  const written = rowsOf([turn[0]!, say('m2', 'assistant', 'Now', calls)], {
    ...{ messageId: null, hasText: false, hasReasoning: false, tools: [] },
  })
  assert.equal(
    written.map(({ key }) => key),
    spoken.map(({ key }) => key),
  )
})

transcript(
  'a line of the server without a code is English, whatever the direction of the page is',
  () => {
    const text = 'small-model reads 1.2k tokens at once.'
    assert.match(renderToString(h(ServerNotice, { text })), `<span dir="auto">${text}</span>`)
    const coded = { code: 'turn.compacting', values: {} } as const
    assert.not.match(renderToString(h(ServerNotice, { text, coded })), /dir=/)
  },
)

transcript('rows that are the same stay the same value', () => {
  const first = rowsOf(turn)
  const known = new Map(first.map(row => [row.key, row]))
  const again = reuseRows(known, rowsOf([...turn, say('m6', 'user', 'more')]))
  assert.is(again[0], first[0])
  assert.is(again[1], first[1])
  assert.is(again[2], first[2])
  assert.is.not(again[3], first[3])
})

transcript('a long text is cut between paragraphs only, and nothing of it is lost', () => {
  const block = `${'word '.repeat(400)}\n\n- item\n\n- item\n\n\`\`\`\n${'code\n\n'.repeat(300)}\`\`\`\n\n`
  const text = block.repeat(6)
  const pieces = splitText(text)
  assert.ok(pieces.length > 2)
  assert.is(pieces.join(''), text)
  for (const piece of pieces) assert.is((piece.match(/^```/gm) ?? []).length % 2, 0)
  assert.equal(splitText('short'), ['short'])
})

transcript('only rows around the reader are drawn', () => {
  const messages = Array.from({ length: 5000 }, (_, n) =>
    say(`m${n}`, n % 2 ? 'assistant' : 'user', 'text '.repeat(n % 90)),
  )
  const rows = rowsOf(messages)
  const heights = new Heights()
  const view = { top: 100_000, height: 900, width: 720 }
  const range = rangeAt(rows, heights, view)
  assert.ok(range.end - range.start <= 120)
  assert.ok(range.above <= view.top && range.above > view.top - 2500)
  assert.ok(covers(range, rows, heights, view))
  assert.not.ok(covers(range, rows, heights, { ...view, top: view.top + 5000 }))
  const end = rangeAtEnd(rows, heights, view)
  assert.is(end.end, rows.length)
  assert.is(end.below, 0)
  // The first render draws only what is visible.
  const first = rangeAtEnd(rows, heights, { ...view, overscan: 0 })
  assert.is(first.end, rows.length)
  assert.ok(first.start > end.start && first.start < rows.length)
  assert.is(offsetOfRow(rows, heights, rows[0]!.key, 720), 0)
  assert.is(offsetOfRow(rows, heights, 'gone', 720), null)
  assert.is(heights.take('m0', 10), true)
  assert.is(heights.take('m0', 10), false)
})

const actions = {
  loadBefore: async () => {},
  loadMessage: async () => say('m1', 'user', ''),
  loadStored: async () => '',
  edit: async () => true,
  editing: signal([]),
  retry() {},
  showVersion() {},
  retryNow: async () => {},
  stop() {},
  branch() {},
  copy() {},
  answer() {},
  switchModel() {},
  addKey() {},
  compact() {},
}
const clock = createServerClock(createTestClock())
const within = (part: ComponentChildren, live: Signal<LiveTurn | null> = signal(null)): string =>
  renderToString(
    h(
      TranscriptProvider,
      {
        value: {
          ...{ chat: signal(emptyTranscript('a')), live, liveText: signal('') },
          ...{ liveReasoning: signal(''), expandedKeys: signal(new Set<string>()), toggle() {} },
          ...{ actions, showUsage: true, botName: 'Agent', clock },
        },
      },
      part,
    ),
  )
const draw = (value: Partial<TranscriptState>): string =>
  renderToString(
    h(Transcript, {
      chat: signal({ ...emptyTranscript('a'), ...value }),
      showThinking: true,
      showSteps: false,
      showUsage: true,
      actions,
      botName: 'Agent',
      clock,
    }),
  )

transcript('images of a tool result are shown in their proportions, from the stored copy', () => {
  const image = {
    file: `image-${'0'.repeat(32)}.png`,
    name: 'a "b".png',
    width: 1_280,
    height: 640,
    bytes: 9,
  }
  const html = renderToString(
    h(ToolImages, { session: 'abc', images: [image, { ...image, width: 8, height: 4 }] }),
  )
  assert.ok(html.includes(`src="api/media?session_id=abc&amp;path=${image.file}"`), html)
  assert.ok(html.includes('alt="Image: a &quot;b&quot;.png"'), html)
  assert.ok(
    html.includes('width="220" height="110"') && html.includes('width="8" height="4"'),
    html,
  )
  assert.is(renderToString(h(ToolImages, { session: 'abc', images: [] })), '')
})

transcript('versions of a message are counted, with a way to the neighbors that there are', () => {
  const withVersions = (id: string, ids: string[]) =>
    renderToString(h(Versions, { id, ids, show() {} }))
  const html = withVersions('m9', ['m2', 'm9'])
  assert.match(html, '2/2')
  assert.match(html, /aria-label="Previous version"(?![^>]*disabled)/)
  assert.match(html, /aria-label="Next version"[^>]*disabled/)
  assert.match(withVersions('m2', ['m2', 'm9']), /aria-label="Previous version"[^>]*disabled/)
  const place = (_versions: string[]) =>
    draw({ messages: [say('m2', 'user', 'x', { _versions })] }).includes('user-versions')
  assert.equal([place(['m2', 'm9']), place(['m2'])], [true, false])
})

transcript('parses approvals and errors for their cards', () => {
  const onAnswer = () => undefined
  const html = [
    draw({ messages: [say('m1', 'user', '<b>x</b>')] }),
    // They load when something waits, so that the transcript drawn once does not hold them yet.
    renderToString(
      h(ApprovalCard, {
        approval: {
          kind: 'approval',
          approval_id: 'q1',
          session_id: 'a',
          command: 'rm -rf <dist>',
          pattern_key: 'k',
          pattern_keys: [],
          description: 'Deletes files',
          cwd: '/work',
          requested_at: 1,
        },
        keys: true,
        clock,
        onAnswer,
      }),
    ),
    renderToString(
      h(QuestionCard, {
        question: {
          kind: 'clarify',
          clarify_id: 'q2',
          session_id: 'a',
          question: 'Which?',
          choices_offered: ['One'],
          requested_at: 1,
        },
        onAnswer,
      }),
    ),
    renderToString(
      h(ErrorCard, {
        error: { type: 'model_not_found', message: 'gpt-0 is unknown' },
        onRetry: actions.stop,
        onSwitchModel: actions.switchModel,
        onAddKey: actions.addKey,
        onCompact: actions.compact,
      }),
    ),
  ].join('')
  for (const part of [
    '&lt;b>x',
    'rm -rf &lt;dist>',
    'Deletes files',
    'in /work',
    'Allow once',
    'Deny',
    'Which?',
    'One',
    'gpt-0 is unknown',
    'Switch model',
  ]) {
    assert.ok(html.includes(part), part)
  }
})

transcript('subagents that run have a lane each, with what they do now', () => {
  const agent = (task_index: number, more: object) => ({
    ...{ parent_tid: 'c1', task_index, goal: `Task ${task_index}`, status: 'running' as const },
    ...{ started_at: 0, steps: [], text: '', reasoning: '', ...more },
  })
  const step = {
    ...{ tid: 's1', name: 'read_file', preview: 'src/a.ts', args: {}, started_at: 0 },
    ...{ output: '', duration: null, is_error: false },
  }
  const subagents = [
    agent(1, { text: 'Two files.\nThe rest is generated.' }),
    agent(0, { steps: [step] }),
    agent(2, { status: 'failed' }),
    agent(0, { parent_tid: 'c2', goal: 'Of another call' }),
  ]
  const live = signal<LiveTurn | null>({
    ...{ stream_id: 's', pos: 1, started_at: 0, model: 'm', provider: 'p', message_id: null },
    ...{ text: '', reasoning: '', tools: [], subagents },
  })
  const call: ToolStep = {
    ...{ kind: 'tool', key: 'c1', tid: 'c1', name: 'delegate_task', argsText: '', short: null },
    ...{ result: null, state: 'running', startedAt: 0, finished: null, decisions: [] },
  }
  const html = within(h(Lanes, { step: call }), live)
  const lanes = html
    .split('<li')
    .slice(1)
    .map(lane => `<li${lane}`.replace(/<[^>]*>/g, '|'))
  assert.equal(
    lanes.map(lane => lane.split('|').filter(part => part && !/^[\d,]+ (?:s|min|h)/.test(part))),
    [
      ['Task 0', 'Running', 'Reading ', 'src/a.ts'],
      ['Task 1', 'Running', 'The rest is generated.'],
      ['Task 2', 'Failed'],
    ],
  )
})

transcript('an error offers the step that helps', () => {
  const card = (type: string, message = 'x'): string =>
    renderToString(
      h(ErrorCard, {
        error: { type, message },
        onRetry: actions.stop,
        onSwitchModel: actions.switchModel,
        onAddKey: actions.addKey,
        onCompact: actions.compact,
      }),
    )
  assert.is(card('rate_limit', 'Rate limit reached').split('>Rate limit reached<').length, 2)
  const buttons = (type: string): string[] => {
    const html = card(type)
    return ['Add key', 'Change the address', 'Compact', 'Switch model', 'Retry'].filter(text =>
      html.includes(`> ${text}</button>`),
    )
  }
  assert.equal(
    FailureType.options.map(type => [type, ...buttons(type)]),
    [
      ['quota_exhausted', 'Add key', 'Switch model', 'Retry'],
      ['rate_limit', 'Retry'],
      ['auth_mismatch', 'Add key', 'Switch model', 'Retry'],
      ['model_not_found', 'Switch model', 'Retry'],
      ['context_overflow', 'Compact', 'Switch model'],
      ['network', 'Retry'],
      ['no_response', 'Retry'],
      ['interrupted', 'Retry'],
      ['budget_reached', 'Retry'],
      ['content_refused', 'Switch model'],
      ['wrong_address', 'Change the address', 'Switch model', 'Retry'],
      ['blocked', 'Switch model'],
      ['not_ready', 'Retry'],
      ['model_memory', 'Switch model'],
      ['error', 'Retry'],
    ],
  )
})

transcript('a stored failure is the one that was shown', () => {
  for (const type of FailureType.options)
    assert.equal(parseFailure(failureText({ type, message: 'Why.', hint: 'Do this.' })), {
      type,
      message: 'Why.',
      hint: 'Do this.',
    })
})

transcript('an answer that the provider stopped says so, a refusal only once', () => {
  const rows = rowsOf([
    say('u1', 'user', 'hello'),
    say('a1', 'assistant', 'Here is', { refusal: 'It was stopped.' }),
    say('u2', 'user', 'hello'),
    say('a2', 'assistant', 'I cannot help.', { refusal: 'I cannot help.' }),
  ])
  assert.equal(
    rows.flatMap(row => (row.kind === 'text' ? [row.refusal] : [])),
    ['It was stopped.', null],
  )
})

transcript('three thousand messages draw few nodes', () => {
  const messages = Array.from({ length: 3000 }, (_, n) =>
    say(`m${n}`, n % 2 ? 'assistant' : 'user', `text ${n}`),
  )
  const html = draw({ messages })
  assert.ok((html.match(/<[a-z]/g) ?? []).length < 1500)
  assert.ok(html.includes('text 2999'))
  assert.not.ok(html.includes('text 10<'))
})

transcript('describes tool calls', () => {
  assert.is(describeToolCall('terminal', { command: ' npm  test\n' }).object, 'npm test')
  assert.is(describeToolCall('read_file', { path: '/a/b/c/d.ts' }).object, '…/c/d.ts')
  assert.equal(describeToolCall('mcp_git_log', { ref: 'main' }).did, {
    before: 'Git log ',
    after: '',
  })
  assert.is(describeToolCall('constructor', {}).did.before, 'Constructor')
  assert.is(describeToolCall('', {}).did.before, 'Tool')
  assert.equal(parseArgs('{"a":1}'), { a: 1 })
  assert.equal(parseArgs('{"a":'), { arguments: '{"a":' })
  assert.equal(parseArgs('[1]'), { arguments: '[1]' })
})

transcript('stored failures are read back', () => {
  assert.equal(parseFailure('**Rate limit reached:** slow down\n\n*Wait a minute.*'), {
    type: 'rate_limit',
    message: 'slow down',
    hint: 'Wait a minute.',
  })
  assert.equal(parseFailure('anything'), { type: 'error', message: 'anything', hint: '' })
})

transcript.run()
