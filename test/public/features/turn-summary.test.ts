/** The end line of an answer: which turn its changes belong to, and which of them are undone. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Message } from '../../../lib/schema/message.ts'
import { undoStateOf } from '../../../public/features/transcript/turn-summary.tsx'
import { type TranscriptRow, toRows } from '../../../public/features/transcript/rows.ts'
import type { TurnChange } from '../../../public/features/workspace/turn-changes.ts'

const test = suite('page: turn summary')

const user = (id: string, at = 100): Message => ({ id, role: 'user', content: 'Go', timestamp: at })
const say = (id: string): Message => ({ id, role: 'assistant', content: 'Done', timestamp: 112 })

/** A call and its result. */
const ran = (n: number, name: string, args: object, result: object | string): Message[] => [
  {
    id: `m${n}`,
    role: 'assistant',
    content: '',
    tool_calls: [
      { id: `c${n}`, type: 'function', function: { name, arguments: JSON.stringify(args) } },
    ],
  },
  {
    id: `m${n + 1}`,
    role: 'tool',
    tool_call_id: `c${n}`,
    content: typeof result === 'string' ? result : JSON.stringify(result),
  },
]
const command = (n: number, text: string, result: object | string) =>
  ran(n, 'terminal', { command: text }, result)

const usage = (n: number) => ({
  n,
  input_tokens: 1,
  output_tokens: 1,
  estimated_cost: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
})
const asked = (rows: readonly TranscriptRow[]) =>
  rows.flatMap(row => (row.kind === 'foot' ? [row.userIds] : []))

test('the changes of a steered turn belong to its last answer, those of a failed turn to its steps', () => {
  const input = { live: null, finished: {}, open: new Set<string>(), showThinking: false }
  const messages = [user('m1'), say('m2'), user('m3'), say('m4'), user('m6'), say('m7')]
  const rows = toRows({ ...input, messages, turnUsage: [usage(5), usage(8)] })
  assert.equal(asked(rows), [[], ['m1', 'm3'], ['m6']])
  const running = { messageId: null, hasText: false, hasReasoning: false, tools: [] }
  const live = toRows({ ...input, messages: messages.slice(0, 4), live: running })
  // While it runs it has no end line.
  assert.equal(asked(live), [[]])
  // Without recorded ends, as in imported chats, each message has a turn of its own.
  assert.equal(asked(toRows({ ...input, messages })), [['m1'], ['m3'], ['m6']])
  const failed = [user('m1'), ...command(2, 'make', { exit_code: 2 })]
  assert.equal(asked(toRows({ ...input, messages: failed, turnUsage: [usage(5)] })), [['m1']])
})

const record = (checkpoint: string, at: number, paths: string[], more: object = {}) =>
  ({
    checkpoint,
    at,
    undo_of: null,
    files: paths.map(path => ({ path, status: 'modified', added: 1, removed: 0 })),
    file_count: paths.length,
    ...more,
  }) as TurnChange

test('undone and brought back changes are counted over chains of undos', () => {
  const turn = record('t', 1, ['a', 'b'])
  const other = record('o', 2, ['a'])
  const state = (...records: TurnChange[]) => {
    const found = undoStateOf(turn, [turn, other, ...records])
    return [found.undone, found.last?.checkpoint ?? null, [...found.files.keys()]]
  }
  const part = record('p', 3, ['a'], { undo_of: 't', is_partial: true })
  const all = record('u', 4, ['a', 'b'], { undo_of: 't' })
  assert.equal(state(record('x', 3, ['a'], { undo_of: 'o' })), ['none', null, []])
  assert.equal(state(part), ['some', null, []])
  assert.equal(state(part, record('q', 5, ['a'], { undo_of: 'p', is_partial: true })), [
    'none',
    null,
    [],
  ])
  assert.equal(state(all), ['all', 'u', ['a', 'b']])
  assert.equal(state(all, record('r', 5, ['b'], { undo_of: 'u' })), ['some', null, ['a']])
  const again = record('s', 6, ['a', 'b'], { undo_of: 'v' })
  const back = record('v', 5, ['a', 'b'], { undo_of: 'u' })
  assert.equal(state(all, back), ['none', null, []])
  assert.equal(state(again, back, all), ['all', 's', ['a', 'b']])
  const files = [record('1', 3, ['a'], { undo_of: 't' }), record('2', 4, ['b'], { undo_of: 't' })]
  assert.equal(state(...files), ['all', null, ['a', 'b']])
})

test.run()
