/** Imports from other programs: fully usable, or rejected without leaving anything behind. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createRandom, type Random, randomJson } from '../../_random.ts'
import { startChat, types } from '../../handlers/_chat.ts'

type Chat = Awaited<ReturnType<typeof startChat>>
type Bag = Record<string, unknown>

// ── A provider that refuses what the strictest ones refuse ──────────────────────────────────────────────────────────

const KEYS = ['role', 'content', 'tool_calls', 'tool_call_id', 'name', 'refusal']
const isNamed = (name: unknown) => typeof name === 'string' && /^[\w-]{1,64}$/.test(name)

const partWrong = (part: Bag, role: unknown): string | null => {
  if (part.type === 'text') return typeof part.text === 'string' && part.text ? null : 'blank text'
  if (part.type !== 'image_url' || role !== 'user') return `part ${String(part.type)} of ${role}`
  return typeof (part.image_url as Bag | undefined)?.url === 'string' ? null : 'image without url'
}

const wrongWith = (messages: readonly Bag[]): string | null => {
  let open: string[] = []
  for (const { role, content, tool_calls, tool_call_id, name, ...rest } of messages) {
    const more = Object.keys(rest).filter(key => !KEYS.includes(key))
    if (more.length > 0) return `unknown keys ${more.join()}`
    if (open.length > 0 && role !== 'tool') return `${role} before the results of ${open.join()}`
    if (Array.isArray(content)) {
      if (content.length === 0) return 'empty parts'
      const wrong = content.map(part => partWrong(part, role)).find(Boolean)
      if (wrong) return wrong
    } else if (typeof content !== 'string' && !(content === null && tool_calls)) return 'no content'
    if (name !== undefined && !isNamed(name)) return `name ${String(name)}`
    if (role === 'tool') {
      if (typeof tool_call_id !== 'string' || !open.includes(tool_call_id)) return 'unasked result'
      open.splice(open.indexOf(tool_call_id), 1)
    } else if (tool_call_id !== undefined) return `tool_call_id of ${role}`
    if (tool_calls === undefined) continue
    if (role !== 'assistant' || !Array.isArray(tool_calls) || tool_calls.length === 0)
      return 'calls'
    for (const call of tool_calls) {
      const { id, type, function: called } = call
      if (typeof id !== 'string' || !id || type !== 'function') return 'call without id'
      if (!isNamed(called?.name) || typeof called.arguments !== 'string') return 'call without name'
    }
    open = tool_calls.map(({ id }) => id)
    if (new Set(open).size !== open.length) return 'two calls of one id'
  }
  return open.length > 0 ? 'calls without results' : null
}

// ── What other programs write ───────────────────────────────────────────────────────────────────────────────────────

const said = (content: unknown, more: Bag = {}) => ({ role: 'user', content, ...more })
const asked = (tool_calls: unknown, more: Bag = {}) => ({
  role: 'assistant',
  content: '',
  tool_calls,
  ...more,
})
const OPENAI = { id: 'c1', type: 'function', function: { name: 'terminal', arguments: '{"a":1}' } }

/** Each beside a plain question; `word` must be found again. */
const SHAPES: Readonly<Record<string, unknown[]>> = {
  openai: [said('findme'), asked([OPENAI]), { role: 'tool', tool_call_id: 'c1', content: 'r' }],
  'former service': [said('findme'), asked([{ name: 'terminal', args: { a: 1 }, id: 'c1' }])],
  'calls without ids': [said('findme'), asked([{ name: 'a' }, { name: 'b', input: 5 }])],
  'calls of one id': [said('findme'), asked([OPENAI, OPENAI])],
  'calls as a JSON text': [said('findme'), asked(JSON.stringify([OPENAI]))],
  'calls as words': [said('findme'), asked('y')],
  'one call without a list': [said('findme'), asked(OPENAI)],
  'null among the calls': [said('findme'), asked([null, OPENAI, 5, 'x', []])],
  'only null as calls': [said('findme'), asked([null])],
  'calls null': [said('findme'), asked(null)],
  'numeric ids': [
    said('findme', { id: 7 }),
    asked([{ ...OPENAI, id: 7 }]),
    { role: 'tool', tool_call_id: 7, content: 'r' },
  ],
  'arguments as an object': [
    said('findme'),
    asked([{ ...OPENAI, function: { name: 'a', arguments: { b: 1 } } }]),
  ],
  'a name with blanks': [
    said('findme'),
    asked([{ ...OPENAI, function: { name: 'read file: x', arguments: '{}' } }]),
  ],
  'function_call of old': [
    said('findme'),
    { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
    { role: 'function', name: 'f', content: 'r' },
  ],
  anthropic: [
    said([{ type: 'text', text: 'findme' }]),
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'text', text: 'I look' },
        { type: 'tool_use', id: 'tu', name: 'terminal', input: { a: 1 } },
      ],
    },
    said([
      { type: 'tool_result', tool_use_id: 'tu', content: [{ type: 'text', text: 'r' }] },
      { type: 'text', text: 'go on' },
    ]),
  ],
  'a picture of Anthropic': [
    said([
      { type: 'text', text: 'findme' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
    ]),
  ],
  'a picture of OpenAI': [
    said([
      { type: 'text', text: 'findme' },
      { type: 'image_url', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
    ]),
  ],
  'responses items': [
    said([{ type: 'input_text', text: 'findme' }]),
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'r' },
  ],
  'null content': [said('findme'), { role: 'assistant', content: null }],
  'no content': [said('findme'), { role: 'assistant' }],
  'content as a number': [said('findme'), { role: 'assistant', content: 5 }],
  'content as an object': [said('findme'), { role: 'assistant', content: { text: 'hello' } }],
  'null parts': [said([null, { type: 'text', text: 'findme' }, { type: 'text', text: null }, 5])],
  'parts of unknown types': [
    said([{ type: 'text', text: 'findme' }, { type: 'hologram', data: 1 }, {}, { type: null }]),
  ],
  'parts as words': [said(['findme', 'too'])],
  'empty parts': [said('findme'), { role: 'assistant', content: [] }],
  'a result without a call': [said('findme'), { role: 'tool', content: 'r' }],
  'calls of a person': [said('findme', { tool_calls: [OPENAI], tool_call_id: 'x', name: 'a b' })],
  'roles of others': [
    { role: 'human', content: 'findme' },
    { role: 'ai', content: 'a' },
    { role: 'developer', content: 'd' },
    { role: 'Model', content: 'm' },
  ],
  'odd extras': [
    said('findme', {
      timestamp: '2024-01-02T03:04:05Z',
      _ts: 'x',
      attachments: [{ name: 'a.txt' }, null, 5],
      reasoning: {},
      refusal: 5,
      _error: 'no',
      _partial: 1,
      model: 5,
      provider: [],
    }),
  ],
  'nothing said': [],
}

const RECORDS: Readonly<Record<string, Bag>> = {
  plain: {},
  numbers: {
    workspace: 5,
    title: 2024,
    model: 4,
    project_id: 7,
    personality: 8,
    created_at: '2024-01-01',
    updated_at: 1.7e12,
  },
  nonsense: {
    workspace: {},
    title: [],
    model: {},
    pinned: 'yes',
    archived: [],
    input_tokens: 'many',
    output_tokens: -1,
    estimated_cost: {},
    created_at: {},
    updated_at: 'never',
    enabled_toolsets: 'x',
    composer_draft: 5,
    last_usage: {},
    queued: [5],
    profile: 5,
    acp: 5,
    parent_session_id: 5,
    compression_anchor_visible_idx: 'x',
  },
  elsewhere: { workspace: '/somewhere/else', profile: 'ghost', model: 'gone-model' },
}

// ── The proof of one session ────────────────────────────────────────────────────────────────────────────────────────

/** Opened, exported, found, copied and continued. */
const works = async ({ app, provider, send, follow }: Chat, id: string, what: string) => {
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await app.request(method, path, body === undefined ? {} : { body })
    assert.is(answer.status, 200, `${what}: ${method} ${path} → ${answer.text.slice(0, 300)}`)
    return answer
  }
  await ask('GET', `/api/session?session_id=${id}`)
  await ask('GET', `/api/session?session_id=${id}&limit=2`)
  for (const format of ['json', 'md', 'html'])
    await ask('GET', `/api/session/export?session_id=${id}&format=${format}`)
  await ask('GET', `/api/sessions?limit=500`)
  await ask('POST', '/api/session/duplicate', { session_id: id })
  await ask('POST', '/api/session/branch', { session_id: id })
  const before = provider.requests.length
  const seen = await follow(await send(id, 'go on'))
  const received = provider.requests.at(before)?.body.messages
  assert.ok(
    types(seen).includes('done') && !types(seen).includes('apperror'),
    `${what}: ${JSON.stringify(seen.find(({ event }) => event === 'apperror')?.data)} ${JSON.stringify(received)}`.slice(
      0,
      3_000,
    ),
  )
}

const test = suite<{ chat: Chat }>('imports')
test.before.each(async context => {
  const chat = await startChat()
  chat.provider.otherwise = ({ messages }) => {
    const wrong = wrongWith(messages)
    return wrong ? { status: 400, body: { error: { message: wrong } } } : { text: 'Fine.' }
  }
  context.chat = chat
})
test.after.each(({ chat }) => chat.close())

const found = async ({ app }: Chat, word: string): Promise<string[]> =>
  (await app.get(`/api/sessions/search?q=${word}&content=1&limit=200`)).body.sessions.map(
    ({ session_id }: { session_id: string }) => session_id,
  )

test('every supported format can be opened, exported, searched, copied and continued', async ({
  chat,
}) => {
  for (const [shape, messages] of Object.entries(SHAPES)) {
    const answer = await chat.app.post('/api/session/import', { title: shape, messages })
    assert.is(answer.status, 200, `${shape}: ${answer.text.slice(0, 300)}`)
    const id = answer.body.session.session_id
    if (messages.length > 0) assert.ok((await found(chat, 'findme')).includes(id), shape)
    await works(chat, id, shape)
  }
})

test('imports every kind of record without unsupported parts', async ({ chat }) => {
  for (const [kind, record] of Object.entries(RECORDS)) {
    const answer = await chat.app.post('/api/session/import', { ...record, messages: [said('x')] })
    assert.is(answer.status, 200, `${kind}: ${answer.text.slice(0, 300)}`)
    await works(chat, answer.body.session.session_id, kind)
  }
})

test('converts Anthropic tool calls, results and thinking', async ({ chat }) => {
  const { app, messages } = chat
  const { session } = (await app.post('/api/session/import', { messages: SHAPES.anthropic })).body
  const [, assistant, result, person] = await messages(session.session_id)
  assert.is(assistant?.content, 'I look')
  assert.is(assistant?.reasoning, 'hm')
  assert.equal(assistant?.tool_calls, [
    { id: 'tu', type: 'function', function: { name: 'terminal', arguments: '{"a":1}' } },
  ])
  assert.equal([result?.role, result?.tool_call_id, result?.content], ['tool', 'tu', 'r'])
  assert.equal([person?.role, person?.content], ['user', 'go on'])
})

test('rejects invalid files with a reason and stores nothing', async ({ chat }) => {
  const { app } = chat
  const dir = join(app.state, 'sessions')
  const files = readdirSync(dir)
  const cases: [unknown, RegExp][] = [
    [{}, /"messages" array/],
    [{ messages: null }, /"messages" array/],
    [{ messages: {} }, /"messages" array/],
    [{ messages: [null] }, /Message 1 /],
    [{ messages: [said('a'), { content: 'nobody' }] }, /Message 2 /],
    [{ messages: [{ role: 'robot', content: 'x' }] }, /Message 1 /],
    [{ messages: ['x'] }, /Message 1 /],
  ]
  for (const [body, sentence] of cases) {
    const answer = await app.post('/api/session/import', body)
    assert.is(answer.status, 400, JSON.stringify(body))
    assert.match(answer.body.error, sentence)
    assert.not.match(answer.body.error, /nonoptional/)
  }
  assert.equal(readdirSync(dir), files)
  assert.equal((await app.get('/api/sessions')).body.sessions, [])
})

/** A known shape with one value in it replaced by nonsense. */
const disturbed = (random: Random): { messages: unknown[]; record: Bag } => {
  const shape = structuredClone(random.pick(Object.values(SHAPES))) as Bag[]
  const places: [Bag, string][] = []
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const key of Object.keys(value)) {
      places.push([value as Bag, key])
      walk((value as Bag)[key])
    }
  }
  walk(shape)
  for (let count = random.below(3); count >= 0 && places.length > 0; count -= 1) {
    const [bag, key] = random.pick(places)
    bag[key] = randomJson(random, 2)
  }
  const record = structuredClone(random.pick(Object.values(RECORDS)))
  const key = random.pick([
    'title',
    'model',
    'personality',
    'pinned',
    'input_tokens',
    'composer_draft',
  ])
  if (random.next() < 0.3) record[key] = randomJson(random, 2)
  return { messages: shape, record }
}

const COUNT = process.env.PROOF === 'full' ? 120 : 25
const SEED = Number(process.env.SEED ?? 7)

test('arbitrary content is imported completely or rejected completely', async ({ chat }) => {
  const random = createRandom(SEED)
  const { app } = chat
  const dir = join(app.state, 'sessions')
  const taken = { yes: 0, no: 0 }
  for (let at = 0; at < COUNT; at += 1) {
    const { messages, record } = disturbed(random)
    const body = { ...record, messages }
    const what = `seed ${SEED}, ${at}: ${JSON.stringify(body).slice(0, 1_500)}`
    const before = readdirSync(dir).length
    const answer = await app.post('/api/session/import', JSON.stringify(body))
    if (answer.status === 200) {
      taken.yes += 1
      await works(chat, answer.body.session.session_id, what)
    } else {
      taken.no += 1
      assert.is(answer.status, 400, `${what} → ${answer.text.slice(0, 300)}`)
      assert.is(readdirSync(dir).length, before, what)
    }
  }
  assert.ok(taken.yes > COUNT / 4, JSON.stringify(taken))
})

test('files of the former service and hand-edited journals use the same import', async ({
  chat,
}) => {
  const random = createRandom(SEED + 1)
  const dir = join(chat.app.state, 'sessions')
  const shapes = Object.values(SHAPES)
  for (let at = 0; at < shapes.length + COUNT; at += 1) {
    const messages = at < shapes.length ? (shapes[at] as unknown[]) : disturbed(random).messages
    const record = random.pick(Object.values(RECORDS))
    const id = `touched${at}`
    const isJournal = at % 2 === 0
    const lines = [
      // A profile that is not there is a refusal of its own; see deleted-profile.test.ts.
      {
        n: 1,
        t: 'session',
        at: 5,
        v: 1,
        id,
        meta: { ...record, workspace: undefined, profile: undefined },
      },
      ...messages.map((message, index) => ({
        n: index + 2,
        t: 'message',
        at: 6,
        message: { id: `m${index + 2}`, ...(message as Bag) },
      })),
    ]
    if (isJournal)
      writeFileSync(
        join(dir, `${id}.jsonl`),
        lines.map(line => `${JSON.stringify(line)}\n`).join(''),
      )
    else
      writeFileSync(
        join(dir, `${id}.json`),
        JSON.stringify({
          ...record,
          session_id: id,
          workspace: undefined,
          profile: null,
          messages,
        }),
      )
    await chat.app.post('/api/session/update', { session_id: id, workspace: chat.app.userHome })
    await works(
      chat,
      id,
      `seed ${SEED}, ${isJournal ? 'journal' : 'file'} ${JSON.stringify(lines).slice(0, 1_500)}`,
    )
  }
})

test('accepts a byte order mark and a null list', async ({ chat }) => {
  const dir = join(chat.app.state, 'sessions')
  const file = (id: string, messages: unknown) =>
    JSON.stringify({ session_id: id, title: `Title ${id}`, messages })
  writeFileSync(join(dir, 'marked.json'), `\ufeff${file('marked', [said('words')])}`)
  writeFileSync(join(dir, 'empty.json'), file('empty', null))
  for (const id of ['marked', 'empty']) {
    const { body } = await chat.app.get(`/api/session?session_id=${id}`)
    assert.is(body.session?.title, `Title ${id}`)
  }
  await chat.app.post('/api/session/update', { session_id: 'marked', workspace: chat.app.userHome })
  await works(chat, 'marked', 'a byte order mark')
})

test('an import belongs to the requesting profile, with its model and folder', async ({ chat }) => {
  const { app, provider } = chat
  await app.post('/api/profile/create', { name: 'p1' })
  writeFileSync(
    join(app.home, 'profiles', 'p1', 'config.yaml'),
    `model: {provider: custom, base_url: "${provider.url}", default: p1-model}\n`,
  )
  const cookie = { headers: { Cookie: 'agent_profile=p1' } }
  const body = { profile: 'default', workspace: '/not/here', messages: [said('x')] }
  const { session } = (await app.post('/api/session/import', body, cookie)).body
  assert.equal([session.profile, session.model], ['p1', 'p1-model'])
  const { session: made } = (await app.post('/api/session/new', {}, cookie)).body
  assert.is(session.workspace, made.workspace)
})

test.run()
