/** Export and import: complete, redacted, safe. */
import * as assert from 'uvu/assert'
import type { UserError } from '../../../lib/errors.ts'
import { fromExport, toHtml, toJson, toMarkdown } from '../../../lib/sessions/transfer.ts'
import { benchSuite, contentOf, NEW, say } from './_sessions.ts'

const test = benchSuite('sessions/transfer')

const SECRET = 'sk-abcdefghijklmnopqrstuvwxyz'
const EVIL = '</pre><script>alert(1)</script><img src=x onerror=alert(1)> "quoted" & \'so\''

test('rejects files that are no export, with a reason', () => {
  const cases: [unknown, RegExp][] = [
    [null, /must be a JSON object/],
    [[], /must be a JSON object/],
    ['x', /must be a JSON object/],
    [{}, /"messages" array/],
    [{ messages: {} }, /"messages" array/],
    [{ messages: [{ role: 'user', content: 'a' }, 5] }, /Message 2 /],
    [{ messages: [{ role: 'robot', content: 'a' }] }, /Message 1 /],
    [{ messages: [null] }, /Message 1 /],
  ]
  for (const [value, message] of cases) {
    assert.throws(
      () => fromExport(value),
      (error: UserError) => error.kind === 'invalid' && message.test(error.message),
    )
  }
})

test('JSON: every key of the full record; a reimport differs only in ids and paths', ({
  bench: { sessions },
}) => {
  const { session_id: id } = sessions.create({
    ...NEW,
    title: 'T',
    _odd: { a: 1 },
    project_id: 'p',
  })
  sessions.append(id, [
    say('hidden'),
    { t: 'cut', after: 1 },
    say(`key ${SECRET}`),
    {
      t: 'message',
      message: {
        role: 'assistant',
        content: '',
        tool_calls: [
          { id: 'c', type: 'function', function: { name: 'terminal', arguments: '{"a":1}' } },
        ],
      },
    },
    { t: 'message', message: { role: 'tool', tool_call_id: 'c', content: '{"output":"done"}' } },
    { t: 'message', message: { role: 'assistant', content: 'ok', reasoning: 'r', timestamp: 5 } },
    { t: 'meta', patch: { pinned: true } },
  ])
  const text = toJson(sessions.load(id))
  assert.not.match(text, /hidden|abcdefghijkl/)
  const record = JSON.parse(text)
  for (const key of Object.keys(contentOf(sessions.require(id)))) assert.ok(key in record, key)
  for (const key of [
    'messages',
    'tool_calls',
    'pending_user_message',
    'pending_attachments',
    'pending_started_at',
  ]) {
    assert.ok(key in record, key)
  }
  assert.is(record.session_id, id)
  assert.is(record.tool_calls[0].snippet, 'done')
  assert.equal(record._odd, { a: 1 })

  const { meta, messages } = fromExport(record)
  assert.is(meta.title, 'T')
  assert.is(meta.pinned, true)
  assert.equal(meta._odd, { a: 1 })
  for (const key of [
    'session_id',
    'messages',
    'project_id',
    'profile',
    'is_streaming',
    'created_at',
  ]) {
    assert.not.ok(key in meta, key)
  }
  const copy = sessions.create({ ...meta, ...NEW })
  sessions.append(
    copy.session_id,
    messages.map(message => ({ t: 'message' as const, message })),
  )
  const stripped = (from: string) => sessions.load(from).messages.map(({ id: _, ...rest }) => rest)
  assert.equal(
    stripped(copy.session_id),
    JSON.parse(JSON.stringify(stripped(id)).replace(SECRET, 'sk-abc...wxyz')),
  )
  assert.is(fromExport({ messages: [] }).meta.title, 'Imported session')
})

test('an imported file brings no permissions, queued messages, budget extensions or agent sessions', () => {
  const granted = {
    yolo: true,
    approved_patterns: ['recursive delete'],
    queued: [{ id: 'q', text: 'rm -rf .', attachments: [], at: 1, steer: true }],
    budget_lifted: ['day usd'],
    budget_granted: { 'day usd': { upTo: 1e9 } },
    background: ['abcdefabcdef'],
    acp: { tester: { session_id: 's', owner: 'o' } },
    compression_anchor_visible_idx: 3,
    compression_anchor_message_key: {},
  }
  const { meta } = fromExport({ messages: [], kept: 1, ...granted })
  assert.equal(meta, { title: 'Imported session', kept: 1 })
})

test('Markdown: fences are longer than any inside', ({ bench: { sessions } }) => {
  const { session_id: id } = sessions.create({ ...NEW, title: 'A\ntitle' })
  sessions.append(id, [
    say('question'),
    { t: 'message', message: { role: 'tool', tool_call_id: 'c', content: 'a\n````\nb' } },
    { t: 'message', message: { role: 'assistant', content: SECRET, timestamp: 1_700_000_000 } },
  ])
  const text = toMarkdown(sessions.load(id))
  assert.match(text, /^# A title\n/)
  assert.match(text, /`````\na\n````\nb\n`````/)
  assert.match(text, /## Assistant · 2023-11-14 22:13\n\nsk-abc\.\.\.wxyz/)
})

test('HTML export: one document without scripts, all content escaped', ({
  bench: { sessions },
}) => {
  const { session_id: id } = sessions.create({ ...NEW, title: EVIL })
  sessions.append(id, [
    { t: 'message', message: { role: 'user', content: EVIL, attachments: [EVIL] } },
    {
      t: 'message',
      message: {
        role: 'assistant',
        content: [{ type: 'text', text: EVIL }],
        tool_calls: [{ id: 'c', type: 'function', function: { name: EVIL, arguments: EVIL } }],
      },
    },
    {
      t: 'message',
      message: { role: 'tool', tool_call_id: 'c', content: EVIL, timestamp: Number.NaN },
    },
    say(SECRET),
  ])
  const text = toHtml(sessions.load(id))
  assert.not.match(text, /<script|<img|onerror=alert\(1\)>|abcdefghijkl/)
  assert.match(text, /&lt;script&gt;/)
  assert.match(text, /default-src 'none'/)
  assert.not.match(text, /<(?:script|link|iframe|object|img)\b|https?:/)
})

test.run()
