/** Images in each wire format: limits, notes, and what is learned from servers that reject them. A rejection never ends a turn. */
import { suite } from 'uvu'
import { createTestClock } from '../../../_clock.ts'
import * as assert from 'uvu/assert'
import { createHash } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import { Agent } from 'undici'
import type { ImageSource } from '../../../../lib/agent/images.ts'
import { readImageFile } from '../../../../lib/agent/image-file.ts'
import type { LoopMessage, ModelEndpoint, ProviderDelta } from '../../../../lib/agent/types.ts'
import type { StoredImage } from '../../../../lib/schema/image.ts'
import { base64, imagesIn, png, rejectInvalid } from '../../../_images.ts'
import { createProvider, type Scripted, type Step } from '../../../_provider.ts'
import { type Body, FORMATS, type Format } from './_matrix.ts'

const test = suite('images of each format')

const files = new Map<string, Buffer>()

const store = (bytes: Buffer, name: string, change: Partial<StoredImage> = {}): StoredImage => {
  const found = readImageFile(bytes)
  if (!found) throw new Error(`${name} is no image.`)
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 32)
  const file = `image-${hash}.${found.ending}`
  files.set(file, bytes)
  const { width, height } = found
  return { file, name, width, height, bytes: bytes.length, ...change }
}

const SOURCE: ImageSource = {
  isSent: true,
  hasAnalyzer: true,
  load: file => files.get(file) ?? null,
}

const RED = store(png(4, 2), 'red.png')
const BLUE = store(png(3, 3, [0, 0, 250]), 'blue.png')
const GREEN = store(png(5, 5, [0, 250, 0]), 'green.png')
const dataOf = ({ file }: StoredImage): string => base64(files.get(file) ?? Buffer.alloc(0))

const user = (content: string, ...images: StoredImage[]): LoopMessage => ({
  role: 'user',
  content,
  images,
})
const calls = (...ids: string[]): LoopMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: ids.map(id => ({
    id,
    type: 'function',
    function: { name: 'read_file', arguments: '{}' },
  })),
})
const result = (id: string, ...images: StoredImage[]): LoopMessage => ({
  role: 'tool',
  tool_call_id: id,
  name: 'read_file',
  content: `result ${id}`,
  images,
})

const BATCH = [
  user('look', RED),
  calls('call_aaaa1', 'call_aaaa2'),
  result('call_aaaa1', BLUE),
  result('call_aaaa2', GREEN),
  user('and?'),
]

type Asked = { deltas: ProviderDelta[]; bodies: Body[] }

/** One provider and one server for several requests. Invalid requests are rejected as strict servers do. */
const withFormat = async (
  format: Format,
  work: (
    ask: (messages: LoopMessage[], steps?: Step[], source?: ImageSource) => Promise<Asked>,
    server: Scripted,
  ) => Promise<void>,
  change: Partial<ModelEndpoint> = {},
) => {
  const steps: Step[] = []
  await using server = await createProvider()
  server.otherwise = body => rejectInvalid(body) ?? steps.shift() ?? { text: 'ok' }
  const provider = format.create()
  await work(async (messages, script = [], source = SOURCE) => {
    steps.push(...script)
    const from = server.requests.length
    const deltas: ProviderDelta[] = []
    for await (const delta of await provider({
      endpoint: {
        provider: 'custom',
        model: format.model,
        apiMode: format.apiMode,
        baseUrl: server.url,
        apiKey: null,
        contextLength: 100_000,
        ...change,
      },
      messages,
      tools: [],
      images: source,
      sessionKey: 'session-1',
      signal: new AbortController().signal,
      workspace: '/',
    }))
      deltas.push(delta)
    return { deltas, bodies: server.requests.slice(from).map(({ body }) => body) }
  }, server)
}

const noticesIn = ({ deltas }: Asked): string[] =>
  deltas.flatMap(delta => (delta.type === 'notice' ? [`${delta.text}`] : []))
const rejected = (status: number, message: string): Step => ({
  status,
  body: { error: { message } },
})

const chat = FORMATS[0] as Format
const anthropic = FORMATS[1] as Format
const responses = FORMATS[2] as Format

for (const format of FORMATS)
  test(`the user's images and those of a batch of results, in order: ${format.apiMode}`, () =>
    withFormat(format, async ask => {
      const { bodies } = await ask(BATCH)
      assert.is(bodies.length, 1)
      assert.equal(imagesIn(bodies[0]), [RED, BLUE, GREEN].map(dataOf))
    }))

test('chat_completions: images of results follow the whole batch as a message of their own', () =>
  withFormat(chat, async ask => {
    const [body] = (await ask(BATCH)).bodies
    const shape = body.messages.map(({ role, content }: Body) =>
      typeof content === 'string' || content === null
        ? role
        : `${role}: ${content.map((part: Body) => part.text ?? 'IMAGE').join(' ')}`,
    )
    assert.equal(shape, [
      'user: [image: red.png, 4×2, 1 kB] IMAGE look',
      'assistant',
      'tool',
      'tool',
      'user: [Images of the tool results above, not from the user:] [image: blue.png, 3×3, 1 kB] IMAGE [image: green.png, 5×5, 1 kB] IMAGE',
      'user',
    ])
  }))

test('anthropic_messages and codex_responses: images are inside the results', async () => {
  await withFormat(anthropic, async ask => {
    const [body] = (await ask(BATCH)).bodies
    const [first, second] = body.messages[2].content
    assert.equal(
      first.content.map(({ type }: Body) => type),
      ['text', 'text', 'image'],
    )
    assert.equal(second.content[2].source, {
      type: 'base64',
      media_type: 'image/png',
      data: dataOf(GREEN),
    })
  })
  await withFormat(responses, async ask => {
    const [body] = (await ask(BATCH)).bodies
    const outputs = body.input.filter(({ type }: Body) => type === 'function_call_output')
    assert.equal(
      outputs[0].output.map(({ type }: Body) => type),
      ['input_text', 'input_text', 'input_image'],
    )
  })
})

test('a server that must alternate roles gets one merged message of the user', () =>
  withFormat(chat, async ask => {
    const strict = rejected(400, "Unexpected role 'user' after role 'tool'")
    const { bodies } = await ask(BATCH, [strict])
    assert.equal(
      bodies[1].messages.map(({ role }: Body) => role),
      ['user', 'assistant', 'tool', 'tool', 'assistant', 'user'],
    )
    assert.equal(imagesIn(bodies[1]), [RED, BLUE, GREEN].map(dataOf))
  }))

/** Rejections as servers word them, with the status if it is not 400. */
const UNSUPPORTED = `
404 No endpoints found that support image input
this model does not support image input (ref: b8bd630e)
Model do not support image input.
500 image input is not supported - hint: if this is unexpected, you may need to provide the mmproj
500 Failed to parse messages: Unsupported content part type: "image_url"; messages = [{"image_url":{"url":"data:image/png;base64,AAAA"}}]
Failed to deserialize the JSON body into the target type: messages[0]: unknown variant 'image_url', expected 'text' at line 1 column 4795
Invalid content type. image_url is only supported by certain models.
some/model is not a multimodal model
At most 0 image(s) may be provided in one prompt.
messages.content.type is invalid, allowed values: ['text']
422 body.messages.0.content.0.type: Input should be 'text'
messages.1.content must be a string
Image input modality is not enabled for models/x
unsupported image input
Image inputs of vendor/model-4.1-mini are not supported.
Model does not support images. Please use a model that does.
This model doesn't support the image content block that you provided.
messages.0.content.0: Input tag 'image' found using 'type' does not match any of the expected tags: 'text'`
/** Rejections of one image: only the newest is left out. */
const ONE = `
messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 6507076 bytes > 5242880 bytes
Could not process image
At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels
You uploaded an unsupported image. Please make sure your image has of one the following formats
415 Unsupported image format
Failed to load image or audio file`
const rowsOf = (text: string): [status: number, message: string][] =>
  text
    .trim()
    .split('\n')
    .map(row => {
      const [, status = '400', message = ''] = /^(?:(\d{3}) )?(.*)$/.exec(row) ?? []
      return [Number(status), message]
    })

for (const [status, message] of rowsOf(UNSUPPORTED))
  test(`rejected, repeated with a note, and remembered: ${message.slice(0, 60)}`, () =>
    withFormat(chat, async ask => {
      const first = await ask(BATCH, [rejected(status, message)])
      assert.equal(
        first.bodies.map(body => imagesIn(body).length),
        [3, 0],
      )
      const text = JSON.stringify(first.bodies[1])
      assert.match(text, '[image: red.png, 4×2, 1 kB]')
      assert.match(text, 'This model cannot see images. To ask about one, call vision_analyze.')
      assert.is(noticesIn(first).length, 1)
      const later = await ask(BATCH)
      assert.equal(
        later.bodies.map(body => imagesIn(body).length),
        [0],
      )
      assert.equal(noticesIn(later), [])
    }))

test('after ten minutes images are sent again, and a rejection about another field changes nothing', async () => {
  const clock = createTestClock()
  await withFormat({ ...chat, create: () => chat.create({ clock }) }, async ask => {
    await ask(BATCH, [rejected(400, 'This model does not support image input')])
    assert.is(imagesIn((await ask(BATCH)).bodies[0]).length, 0)
    await clock.advance(600_000)
    assert.is(imagesIn((await ask(BATCH)).bodies[0]).length, 3)
    const elsewhere: Step = {
      status: 400,
      body: { error: { message: 'image input is not supported', param: 'temperature' } },
    }
    await ask(BATCH, [elsewhere]).then(
      () => assert.unreachable(),
      (error: Error) => assert.match(error.message, 'not supported'),
    )
    const quoting = rejected(400, 'Blocked: "say that image input is not supported" is spam')
    await ask(BATCH, [quoting]).catch(() => undefined)
    assert.is(imagesIn((await ask(BATCH)).bodies[0]).length, 3)
  })
})

for (const [status, message] of rowsOf(ONE))
  test(`one image is the problem, the others stay: ${message.slice(0, 60)}`, () =>
    withFormat(anthropic, async ask => {
      const first = await ask(BATCH, [rejected(status, message)])
      assert.equal(imagesIn(first.bodies.at(-1)), [RED, BLUE].map(dataOf))
      assert.match(
        JSON.stringify(first.bodies.at(-1)),
        '[green.png is not shown: the provider rejected it]',
      )
      assert.equal(noticesIn(first), [
        'claude-opus-4-6 rejected the image green.png, so it doesn’t see it.',
      ])
      assert.is((await ask(BATCH)).bodies.length, 1)
    }))

test('rejections that name a number of images keep the newest of them', async () => {
  for (const message of [
    'At most 2 image(s) may be provided in one request.',
    'Too many images provided. This model supports up to 2 images',
    'Too many images in request. Max is 2.',
    'Too many images in request: 3 images provided, but the model supports a maximum of 2 images.',
    'Request contains 3 images, exceeding the maximum of 2 allowed per request',
  ])
    await withFormat(chat, async ask => {
      const { bodies } = await ask(BATCH, [rejected(400, message)])
      assert.equal(imagesIn(bodies[1]), [BLUE, GREEN].map(dataOf), message)
    })
})

test('a request that is too large in bytes is repeated with half of the images', () =>
  withFormat(chat, async ask => {
    const large = [1, 2, 3, 4].map(at => store(png(at, 1, [0, 0, at], 300_000), `${at}.png`))
    const messages = large.flatMap(image => [
      user('see', image),
      calls('call_bbbb1'),
      result('call_bbbb1'),
    ])
    const { bodies } = await ask(messages, [rejected(413, 'Payload Too Large')])
    assert.equal(
      bodies.map(body => imagesIn(body).length),
      [4, 1],
    )
  }))

test('codex_responses: a server that takes only text as output gets the images after the results', () =>
  withFormat(responses, async ask => {
    const strict = rejected(
      400,
      "Invalid type for 'input[2].output': expected a string, but got an array instead.",
    )
    const { bodies } = await ask(BATCH, [strict])
    const outputs = bodies[1].input.filter(({ type }: Body) => type === 'function_call_output')
    assert.equal(
      outputs.map(({ output }: Body) => output),
      ['result call_aaaa1', 'result call_aaaa2'],
    )
    assert.equal(imagesIn(bodies[1]), [RED, BLUE, GREEN].map(dataOf))
  }))

test('cache marks behind OpenRouter are on text, never on an image', () =>
  withFormat(
    chat,
    async ask => {
      const [body] = (await ask(BATCH.slice(0, 4))).bodies
      const parts = body.messages.flatMap(({ content }: Body) =>
        Array.isArray(content) ? content : [],
      )
      const marked = parts.filter((part: Body) => part.cache_control)
      assert.equal(
        marked.map(({ type }: Body) => type),
        ['text', 'text', 'text'],
      )
      assert.is(imagesIn({ messages: body.messages }).length, 3)
    },
    { provider: 'openrouter', model: 'anthropic/claude-sonnet-4.5' },
  ))

test('GitHub Copilot gets its header for requests with images, and only for those', async () => {
  await using server = await createProvider({ text: 'a' }, { text: 'b' })
  const port = new URL(server.url).port
  const toServer: LookupFunction = (_host, options, done) =>
    options.all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)
  const dispatcher = new Agent({ connect: { lookup: toServer } })
  for (const messages of [BATCH, [user('hi')]])
    for await (const _ of await chat.create({ dispatcher })({
      endpoint: {
        provider: 'copilot',
        model: 'gpt-4o',
        apiMode: 'chat_completions',
        baseUrl: `http://api.githubcopilot.com:${port}`,
        apiKey: null,
        contextLength: 100_000,
      },
      messages,
      tools: [],
      images: SOURCE,
      signal: new AbortController().signal,
      workspace: '/',
    }))
      void _
  assert.equal(
    server.requests.map(({ headers }) => headers['copilot-vision-request']),
    ['true', undefined],
  )
  await dispatcher.close()
})

test('other errors are not blamed on images', async () => {
  for (const [status, message] of [
    [401, 'image access denied'],
    [400, 'stream_options is not supported'],
    [429, 'image rate limit'],
  ] as const)
    await withFormat(chat, async ask => {
      const asked = ask(BATCH, [rejected(status, message)])
      const bodies = await asked.then(
        ({ bodies }) => bodies,
        () => [],
      )
      for (const body of bodies) assert.is(imagesIn(body).length, 3, message)
    })
})

test('an error that mentions images for another reason is tried without them once, and reported', () =>
  withFormat(chat, async ask => {
    const odd = rejected(400, "Invalid 'tools[0].function.name': 'make image'")
    const failed = await ask(BATCH, [odd, odd]).then(
      () => '',
      error => String(error),
    )
    assert.match(failed, 'make image')
    assert.equal(imagesIn((await ask(BATCH)).bodies[0]), [RED, BLUE, GREEN].map(dataOf))
  }))

test('without images in the request, an error about images is reported', () =>
  withFormat(chat, async ask => {
    const failed = await ask([user('hi')], [rejected(400, 'image input is not supported')]).then(
      () => '',
      error => String(error),
    )
    assert.match(failed, 'image input is not supported')
  }))

test('limits: Claude by size and sides, Gemini without GIF, with the reason as a note', async () => {
  const gif = store(
    Buffer.concat([Buffer.from('GIF89a', 'latin1'), Buffer.from([9, 0, 7, 0]), Buffer.alloc(9)]),
    'a.gif',
  )
  const big = store(png(2, 2, [1, 1, 1], 4_100_000), 'big.png')
  const wide = store(png(3, 1), 'wide.png', { width: 9_000 })
  const ask = async (model: string) => {
    let body: Body
    await withFormat(
      chat,
      async send => {
        body = (await send([user('see', gif, big, wide)])).bodies[0]
      },
      { model },
    )
    return { sent: imagesIn(body), text: JSON.stringify(body) }
  }
  const claude = await ask('anthropic/claude-sonnet-4.5')
  assert.equal(claude.sent, [dataOf(gif)])
  assert.match(
    claude.text,
    '[big.png is not shown: an image may have 3.8 MB here; make a smaller copy]',
  )
  assert.match(
    claude.text,
    '[wide.png is not shown: an image may have 8000 pixels per side here; make a smaller copy]',
  )
  const gemini = await ask('gemini-2.5-pro')
  assert.equal(gemini.sent, [dataOf(big), dataOf(wide)])
  assert.match(
    gemini.text,
    '[a.gif is not shown: this model does not accept image/gif; convert it to PNG]',
  )
})

test('beyond twenty images, the older half is dropped at once, then none until twenty are reached again', () =>
  withFormat(chat, async ask => {
    const images = Array.from({ length: 31 }, (_, n) => store(png(1, 1, [n, 0, 0]), `${n}.png`))
    const sent = async (count: number): Promise<string[]> => {
      const messages = images.slice(0, count).map(image => user('look', image))
      return imagesIn((await ask(messages)).bodies[0])
    }
    for (const [count, first] of [
      [20, 0],
      [21, 11],
      [30, 11],
      [31, 11],
    ] as const)
      assert.equal(await sent(count), images.slice(first, count).map(dataOf), String(count))
  }))

test("a model that gets no images: the user's text is unchanged, a result says why", () =>
  withFormat(anthropic, async ask => {
    const [body] = (await ask(BATCH, [], { ...SOURCE, isSent: false, hasAnalyzer: false })).bodies
    assert.equal(imagesIn(body), [])
    assert.equal(
      body.messages[0].content.map(({ text }: Body) => text),
      ['look'],
    )
    assert.is(
      body.messages[2].content[0].content[0].text,
      'result call_aaaa1\n[This model cannot see images.]',
    )
  }))

test.run()
