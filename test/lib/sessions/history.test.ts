/** Provider messages of a session, and the short list of its tool calls. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Message } from '../../../lib/schema/message.ts'
import { emptySummary } from '../../../lib/sessions/fold.ts'
import { toConversation } from '../../../lib/sessions/history.ts'
import { toolSummaries } from '../../../lib/sessions/tool-call-summaries.ts'

const test = suite('sessions/history')

const call = (id: string, name = 'terminal', args = '{}') => ({
  id,
  type: 'function' as const,
  function: { name, arguments: args },
})
const user = (content: string, more = {}): Message => ({ id: 'm', role: 'user', content, ...more })
const calls = (...ids: string[]): Message => ({
  id: 'm',
  role: 'assistant',
  content: '',
  tool_calls: ids.map(id => call(id)),
})
const result = (id: string, content = `of ${id}`): Message => ({
  id: 'm',
  role: 'tool',
  tool_call_id: id,
  content,
})
/** Without what only the engine needs. */
const toHistory = (messages: Message[]) => {
  const numbers = messages.map((_, index) => index)
  const session = { ...emptySummary(''), messages, numbers, summaries: [], sent: [] }
  return toConversation(session).map(({ id: _, position: __, ...message }) => message)
}
const short = (messages: Message[]): string =>
  toHistory(messages)
    .map(({ role, content, tool_call_id, tool_calls }) =>
      role === 'tool'
        ? `${tool_call_id}=${String(content).startsWith('{"error"') ? '?' : content}`
        : tool_calls
          ? tool_calls.map(({ id }) => id).join('+')
          : String(content),
    )
    .join(' ')

const TABLE: [string, Message[], string][] = [
  ['nothing', [], ''],
  ['a result nobody called for', [user('a'), result('x'), user('b')], 'a b'],
  ['a result before its call', [result('c'), user('a'), calls('c')], 'a c c=?'],
  ['a call without a result', [user('a'), calls('c'), user('b')], 'a c c=? b'],
  ['one of two results missing', [calls('c', 'd'), result('d')], 'c+d c=? d=of d'],
  ['results out of order', [calls('c', 'd'), result('d'), result('c')], 'c+d c=of c d=of d'],
  ['a result after other words', [calls('c'), user('b'), result('c')], 'c c=of c b'],
  ['a result twice', [calls('c'), result('c', '1'), result('c', '2')], 'c c=1'],
  ['an id used again', [calls('c'), result('c', '1'), calls('c'), result('c', '2')], 'c c=1 c c=2'],
  ['an id used again, first unanswered', [calls('c'), calls('c'), result('c', '2')], 'c c=? c c=2'],
  ['errors', [user('a'), user('**Error:** x', { _error: true, role: 'assistant' })], 'a'],
  ['an error that made a call', [{ ...calls('c'), _error: true }, result('c'), user('b')], 'b'],
  [
    'a partial answer stays',
    [user('a'), user('half', { role: 'assistant', _partial: true })],
    'a half',
  ],
  ['an empty list of calls', [{ ...calls(), content: 'x' }], 'x'],
]
for (const [name, messages, expected] of TABLE) {
  test(name, () => assert.is(short(messages), expected))
}

test('sends six keys only; keeps structured content and arguments', () => {
  const parts = [
    { type: 'text', text: 'x' },
    { type: 'image_url', image_url: { url: 'data:' } },
  ]
  const full: Message[] = [
    {
      ...user(''),
      content: parts,
      timestamp: 1,
      _ts: 1.5,
      attachments: ['a'],
      name: 'me',
      model: 'm',
      provider: 'p',
      unknown: 1,
    },
    {
      id: 'm3',
      role: 'assistant',
      content: 'y',
      refusal: 'no',
      reasoning: 'because',
      tool_calls: [call('c', 'terminal', '{"bad json')],
    },
    { ...result('c'), name: 'terminal' },
  ]
  assert.equal(toHistory(full), [
    { role: 'user', content: parts, name: 'me' },
    {
      role: 'assistant',
      content: 'y',
      refusal: 'no',
      tool_calls: [call('c', 'terminal', '{"bad json')],
    },
    { role: 'tool', content: 'of c', tool_call_id: 'c', name: 'terminal' },
  ])
})

test('matches a call by call_id', () => {
  const odd = { ...calls('x'), tool_calls: [{ ...call('x'), id: undefined, call_id: 'k' }] }
  assert.is(toHistory([odd as unknown as Message, result('k')]).length, 2)
})

test('time is linear in the length of the history', () => {
  const many = Array.from({ length: 10_000 }, (_, index) => [
    calls(`c${index}`),
    result(`c${index}`),
  ])
  assert.is(toHistory(many.flat()).length, 20_000)
})

test('summaries: names, truncated arguments, the relevant part of a result', () => {
  const long = 'x'.repeat(300)
  const args = JSON.stringify({ a: 1, b: long, c: [1], d: null, e: true, f: 'f', g: 'too many' })
  const messages: Message[] = [
    user('q'),
    {
      ...calls(),
      tool_calls: [call('c', 'terminal', args), call('d', 'read', 'not json'), call('e', 'tool')],
    },
    result('c', JSON.stringify({ output: long, exit_code: 0 })),
    result('d', JSON.stringify({ error: 'no such file' })),
    result('e'),
    { ...calls(), tool_calls: [call('f', 'list', '[]'), call('g', 'wait')] },
    result('f', 'plain text'),
  ]
  assert.equal(toolSummaries(messages), [
    {
      name: 'terminal',
      snippet: long.slice(0, 200),
      tid: 'c',
      assistant_msg_idx: 1,
      args: { a: '1', b: `${long.slice(0, 120)}...`, c: '[1]', d: 'null', e: 'true', f: 'f' },
    },
    { name: 'read', snippet: 'no such file', tid: 'd', assistant_msg_idx: 1, args: {} },
    { name: 'list', snippet: 'plain text', tid: 'f', assistant_msg_idx: 5, args: {} },
    { name: 'wait', snippet: '', tid: 'g', assistant_msg_idx: 5, args: {} },
  ])
})

test.run()
