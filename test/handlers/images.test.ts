/** Images over HTTP: a model that accepts them gets attachments and image files as they were when they were sent. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { base64, imagesIn, png, rejectInvalid } from '../_images.ts'
import { gate, type Recorded, type Step } from '../_provider.ts'
import { startChat } from './_chat.ts'

const test = suite('images over HTTP')

type Body = Recorded['body']
const FORMATS = ['chat_completions', 'anthropic_messages', 'codex_responses'] as const
const MODELS = {
  chat_completions: 'gpt-4o',
  anthropic_messages: 'claude-sonnet-4-5',
  codex_responses: 'gpt-5.4',
}

const RED = png(40, 20)
const BLUE = png(30, 30, [20, 20, 220])

/** A chat in a folder with two images; every request is checked as a strict server would. */
const startWithImages = async (apiMode: (typeof FORMATS)[number], more: object = {}) => {
  const chat = await startChat()
  const { app, provider } = chat
  const workspace = join(app.userHome, 'project')
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'red.png'), RED)
  writeFileSync(join(workspace, 'blue.png'), BLUE)
  const configure = (config: object = {}) =>
    writeFileSync(
      join(app.home, 'config.yaml'),
      JSON.stringify({
        model: { provider: 'custom:one', default: MODELS[apiMode] },
        custom_providers: [
          {
            name: 'one',
            base_url: provider.url,
            api_mode: apiMode,
            models: [MODELS[apiMode], 'deepseek-chat'],
          },
        ],
        checkpoints: { enabled: false },
        ...config,
      }),
    )
  configure(more)
  const steps: Step[] = []
  // Titles and other calls without tools are not part of the conversation.
  provider.otherwise = body =>
    rejectInvalid(body) ?? (body.tools?.length ? steps.shift() : null) ?? { text: 'ok' }
  const { body } = await app.post('/api/session/new', { workspace })
  const id: string = body.session.session_id
  await app.post('/api/session/rename', { session_id: id, title: 'Named' })
  /** Requests of the conversation. */
  const sent = (): Body[] =>
    provider.requests.map(request => request.body).filter(({ tools }) => tools?.length)
  const say = async (message: string, attachments: string[] = [], ...script: Step[]) => {
    steps.push(...script)
    const started = await app.post('/api/chat/start', { session_id: id, message, attachments })
    assert.is(started.status, 200, JSON.stringify(started.body))
    return chat.follow(started.body.stream_id)
  }
  return { ...chat, id, workspace, steps, sent, say, configure }
}

const read = (path: string, id = `read_${path}`): Step => ({
  toolCalls: [{ id, name: 'read_file', arguments: { path } }],
})

const unmarked = (value: unknown): string =>
  JSON.stringify(value, (key, inner) => (key === 'cache_control' ? undefined : inner))

const conversation = (body: Body): string[] =>
  (body.messages ?? body.input).flatMap((message: Body) =>
    Array.isArray(message.content) && body.system
      ? message.content.map(unmarked)
      : [unmarked(message)],
  )

/** Each request begins with all of the one before. */
const requirePrefix = (bodies: Body[]): void => {
  for (let at = 1; at < bodies.length; at++) {
    const before = conversation(bodies[at - 1])
    assert.equal(conversation(bodies[at]).slice(0, before.length), before, `request ${at + 1}`)
  }
}

for (const apiMode of FORMATS)
  test(`attachments and read images are sent, and stay the same later: ${apiMode}`, async () => {
    await using chat = await startWithImages(apiMode)
    const { app, id, workspace } = chat
    await chat.say('look', ['red.png'], read('blue.png'), { text: 'Red, and blue.' })
    const [first, second] = chat.sent()
    assert.equal(imagesIn(first), [base64(RED)])
    assert.equal(imagesIn(second), [base64(RED), base64(BLUE)])
    assert.match(JSON.stringify(second), '[image: blue.png, 30×30, 1 kB]')

    // The files change, and the service restarts: what was sent stays the same.
    writeFileSync(join(workspace, 'red.png'), BLUE)
    rmSync(join(workspace, 'blue.png'))
    await app.restart()
    await chat.say('and now?', [], { text: 'The same.' })
    assert.equal(imagesIn(chat.sent().at(-1)), [base64(RED), base64(BLUE)])
    requirePrefix(chat.sent())

    const messages = await chat.messages(id)
    assert.equal(messages[0]?.attachments, ['red.png'])
    assert.is(messages[2]?.content, '[image: blue.png, 30×30, 1 kB]')
    const journal = readFileSync(join(app.state, 'sessions', `${id}.jsonl`), 'utf8')
    const exported = await app.get(`/api/session/export?session_id=${id}`)
    for (const text of [journal, JSON.stringify(exported.body)])
      assert.not.ok(text.includes(base64(RED).slice(0, 40)))
  })

test('a model that cannot see gets text; another one sees the same images later', async () => {
  await using chat = await startWithImages('chat_completions')
  const { app, id } = chat
  await app.post('/api/session/update', { session_id: id, model: '@custom:one:deepseek-chat' })
  await chat.say('look', ['red.png'], read('blue.png'), { text: 'I cannot.' })
  for (const body of chat.sent()) assert.equal(imagesIn(body), [])
  assert.match(JSON.stringify(chat.sent()[1]), 'This model cannot see images.')
  await app.post('/api/session/update', { session_id: id, model: '@custom:one:gpt-4o' })
  await chat.say('and you?', [], { text: 'Red.' })
  assert.equal(imagesIn(chat.sent().at(-1)), [base64(RED), base64(BLUE)])
  await app.post('/api/session/update', { session_id: id, model: '@custom:one:deepseek-chat' })
  await chat.say('and now?', [], { text: 'Still not.' })
  assert.equal(imagesIn(chat.sent().at(-1)), [])
})

test('a model that rejects images answers without them, and the user is warned once', async () => {
  await using chat = await startWithImages('chat_completions')
  const refuse: Step = {
    status: 404,
    body: { error: { message: 'No endpoints found that support image input' } },
  }
  const seen = await chat.say('look', ['red.png'], refuse, read('blue.png'), { text: 'Blind.' })
  const [first, again, third] = chat.sent()
  assert.is(imagesIn(first).length, 1)
  assert.equal([imagesIn(again), imagesIn(third)], [[], []])
  const warnings = () => seen.filter(({ event }) => event === 'warning').map(({ data }) => data)
  assert.equal(warnings(), [
    {
      type: 'model',
      message:
        'gpt-4o doesn’t accept images, so it doesn’t see them. It can ask about them with vision_analyze.',
      sentences: { message: { code: 'model.no_images_ask', values: { model: 'gpt-4o' } } },
    },
  ])
  assert.match(JSON.stringify(again), 'To ask about one, call vision_analyze.')
  const later = await chat.say('again', ['blue.png'], { text: 'Still blind.' })
  assert.is(chat.sent().length, 4)
  assert.equal(
    later.filter(({ event }) => event === 'warning'),
    [],
  )
  requirePrefix(chat.sent().slice(1))
})

test('a removed copy, an edit and an undo: the turn goes through', async () => {
  await using chat = await startWithImages('chat_completions')
  const { app, id } = chat
  await chat.say('look', ['red.png'], { text: 'Red.' })
  const stored = join(app.state, 'tool-output', id)
  assert.is(readdirSync(stored).length, 1)
  await chat.say('and this', ['blue.png'], { text: 'Blue.' })
  // The last exchange is taken back: its image is no longer sent.
  await app.post('/api/session/truncate', { session_id: id, keep_count: 2 })
  await chat.say('once more', [], { text: 'Red.' })
  assert.equal(imagesIn(chat.sent().at(-1)), [base64(RED)])
  rmSync(stored, { recursive: true })
  await chat.say('still there?', [], { text: 'No.' })
  const last = chat.sent().at(-1)
  assert.equal(imagesIn(last), [])
  assert.match(JSON.stringify(last), '[red.png is not shown: its file was removed]')
})

test('steering and queued messages carry their images', async () => {
  await using chat = await startWithImages('codex_responses')
  const { app, id } = chat
  const held = gate()
  chat.steps.push(
    { ...read('missing.txt'), gate: held.opened },
    { text: 'Steered.' },
    { text: 'Q.' },
  )
  const { body } = await app.post('/api/chat/start', { session_id: id, message: 'begin' })
  const count = chat.provider.requests.length
  await chat.provider.arrived(Math.max(1, count))
  await app.post('/api/chat/steer', { session_id: id, message: 'see', attachments: ['red.png'] })
  await app.post('/api/queue/add', {
    session_id: id,
    message: 'later',
    attachments: ['blue.png'],
  })
  held.open()
  await chat.follow(body.stream_id)
  assert.equal(imagesIn(chat.sent()[1]), [base64(RED)])
  while (chat.sent().length < 3) await chat.provider.arrived(chat.provider.requests.length + 1)
  assert.equal(imagesIn(chat.sent()[2]), [base64(RED), base64(BLUE)])
})

const ftyp = (brand: string) =>
  Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from(`ftyp${brand}\0\0\0\0`), Buffer.alloc(99)])
const LEFT_OUT: [name: string, file: string, bytes: Buffer][] = [
  ['HEIC', 'photo.heic', ftyp('heic')],
  ['HEIC with another name', 'photo.jpg', ftyp('mif1')],
  ['AVIF', 'photo.avif', ftyp('avif')],
  ['TIFF', 'scan.tiff', Buffer.from('II*\0and more of it')],
  ['BMP', 'old.bmp', Buffer.from('BM and more of it')],
  ['no image', 'broken.png', Buffer.from('<html>')],
  ['a cut file', 'cut.png', RED.subarray(0, 12)],
  ['too many bytes', 'large.png', Buffer.concat([RED, Buffer.alloc(11 * 1024 * 1024)])],
  ['more pixels than the model takes', 'wide.png', png(8_001, 1)],
  [
    'more bytes than the model takes',
    'heavy.png',
    Buffer.concat([RED, Buffer.alloc(6 * 1024 * 1024)]),
  ],
]
test('an attached image that the model does not get is named to the person and to the model', async () => {
  const at = await startWithImages('anthropic_messages')
  for (const [name, file, bytes] of LEFT_OUT) {
    writeFileSync(join(at.workspace, file), bytes)
    const seen = await at.say('Look', [file, 'red.png'])
    const warnings = seen.filter(({ event, data }) => event === 'warning' && data.type === 'image')
    assert.equal(
      warnings.map(({ data }) => String(data.message).includes(file)),
      [true],
      name,
    )
    const asked = JSON.stringify(at.sent().at(-1)?.messages.at(-1))
    assert.match(asked, file, name)
    assert.match(asked, /not shown/i, name)
    assert.ok(asked.includes(RED.toString('base64')), name)
  }
  const fine = await at.say('Look', ['blue.png'])
  assert.not(fine.some(({ event }) => event === 'warning'))
  await at.close()
})

test('a subagent sees images; a script gets text', async () => {
  await using chat = await startWithImages('chat_completions', { approvals: { mode: 'off' } })
  await chat.say(
    'delegate',
    [],
    { toolCalls: [{ id: 'd', name: 'delegate_task', arguments: { goal: 'look at blue.png' } }] },
    read('blue.png'),
    { text: 'It is blue.' },
    {
      toolCalls: [
        {
          id: 's',
          name: 'execute_code',
          arguments: { code: 'print(read_file("red.png"))' },
        },
      ],
    },
    { text: 'Done.' },
  )
  const bodies = chat.sent()
  assert.equal(imagesIn(bodies[2]), [base64(BLUE)])
  for (const body of [bodies[3], bodies[4]]) assert.equal(imagesIn(body), [])
})

test('the page gets the stored copy by its name, and nothing else by that way', async () => {
  await using chat = await startWithImages('chat_completions')
  const { app, id } = chat
  await chat.say('look', [], read('blue.png'), { text: 'Blue.' })
  const result = (await chat.messages(id))[2] as { _images: { file: string }[] }
  const [image] = result._images
  assert.ok(image)
  const get = (path: string, session = id) =>
    app.get(`/api/media?session_id=${session}&path=${encodeURIComponent(path)}`)
  const found = await get(image.file)
  assert.is(found.status, 200)
  assert.is(found.headers['content-type'], 'image/png')
  for (const path of [`../${id}/${image.file}`, 'blue.png', image.file.replace('-', '-0')])
    assert.is((await get(path)).status, 403, path)
  assert.is((await get(`image-${'0'.repeat(32)}.png`)).status, 404)
  // A copy of the chat has its own copy of the image, and a purge keeps what is named.
  const { body } = await app.post('/api/session/duplicate', { session_id: id })
  const copy: string = body.session.session_id
  await app.post('/api/session/purge', { session_id: copy })
  await app.post('/api/session/delete', { session_id: id, permanent: true })
  assert.is((await get(image.file, copy)).status, 200)
  assert.not.ok(readdirSync(join(app.state, 'tool-output')).includes(id))
})

test('image_input_mode and an auxiliary model decide for the user', async () => {
  await using chat = await startWithImages('chat_completions', {
    agent: { image_input_mode: 'text' },
  })
  await chat.say('look', ['red.png'], read('blue.png'), { text: 'no' })
  for (const body of chat.sent()) assert.equal(imagesIn(body), [])
  chat.configure({ auxiliary: { vision: { model: 'eyes' } } })
  await chat.say('look', ['red.png'], { text: 'no' })
  assert.equal(imagesIn(chat.sent().at(-1)), [])
  chat.configure({ agent: { image_input_mode: 'native' }, auxiliary: { vision: { model: 'e' } } })
  await chat.say('look', ['red.png'], { text: 'yes' })
  assert.is(imagesIn(chat.sent().at(-1)).length, 2)
})

test.run()
