/** MCP without servers: argument conversion, tool names, masking, results. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callContext } from '../../_call.ts'
import { coerceArguments } from '../../../lib/mcp/coerce-arguments.ts'
import { mcpTools } from '../../../lib/mcp/create-tools.ts'
import { isInvalid, parseServers } from '../../../lib/mcp/config.ts'
import { HIDDEN, hideValues, maskArgs, maskUrl, maskValues } from '../../../lib/mcp/mask-config.ts'
import { promptResult, resourceResult, toResult } from '../../../lib/mcp/results.ts'
import type { McpServer } from '../../../lib/mcp/server.ts'
import { toolName } from '../../../lib/mcp/tool-names.ts'

const test = suite('mcp: pure functions')

test('keeps arguments that do not match the schema', () => {
  const properties = { n: { type: 'integer' }, list: { type: 'array' }, on: { type: 'boolean' } }
  const args = { n: '1.5', list: '{}', on: 'perhaps', other: '7' }
  assert.equal(coerceArguments(args, { properties }), args)
  assert.equal(coerceArguments(args, {}), args)
})

test('strings become the type of the schema, and scalars become strings', () => {
  const properties = {
    n: { type: 'integer' },
    list: { type: 'array' },
    either: { type: ['string', 'number'] },
    text: { type: 'string' },
  }
  const args = { n: ' 7 ', list: '[1]', either: '7', text: 7 }
  assert.equal(coerceArguments(args, { properties }), { n: 7, list: [1], either: '7', text: '7' })
})

test('a null is dropped unless the field is required or may be null', () => {
  const properties = {
    a: { type: 'string' },
    b: { type: 'string' },
    c: { type: ['string', 'null'] },
  }
  const args = { a: null, b: null, c: null, unknown: null }
  assert.equal(coerceArguments(args, { properties, required: ['b'] }), {
    b: null,
    c: null,
    unknown: null,
  })
})

test('limits of time that config.yaml does not name are those of the host agent', () => {
  const limits = (entry: Record<string, unknown>) =>
    parseServers({ mcp_servers: { one: { command: 'x', ...entry } } }).map(server =>
      isInvalid(server) ? server.problem : [server.timeoutMs, server.sampling.timeout],
    )
  assert.equal(limits({}), [[120_000, 30_000]])
  assert.equal(limits({ timeout: 'x', sampling: { timeout: 'x' } }), [[120_000, 30_000]])
  assert.equal(limits({ timeout: 2, sampling: { timeout: 0.5 } }), [[2_000, 500]])
})

test('tool names have allowed characters, are unique and at most 64 characters', () => {
  const taken = new Set<string>()
  assert.is(toolName('my server', 'läs.fil', taken), 'mcp_my_server_l_s_fil')
  assert.is(toolName('my server', 'läs.fil', taken), 'mcp_my_server_l_s_fil_2')
  const long = toolName('s', 'x'.repeat(100), taken)
  assert.is(long.length, 64)
  assert.is(toolName('s', 'x'.repeat(100), new Set()), long)
  assert.is.not(toolName('s', `${'x'.repeat(100)}y`, taken), long)
})

test('arguments whose names providers do not accept have others there, and their own at the server', async () => {
  const long = 'x'.repeat(80)
  const properties = { 'my arg': {}, my_arg: {}, größe: {}, [long]: {}, plain: {} }
  const parameters = { type: 'object', properties, required: ['my arg', 'plain'] }
  const sent: unknown[] = []
  const client = {
    getProtocolEra: () => 'legacy',
    async request({ params }: { params: { arguments: unknown } }) {
      sent.push(params.arguments)
      return { content: [] }
    },
  }
  const server = {
    config: { name: 's', timeoutMs: 1, filter: { include: [], exclude: [] } },
    listing: () => ({ tools: [{ name: 't', description: '', parameters }] }),
    use: (work: (given: unknown) => unknown) => work(client),
  } as unknown as McpServer
  const [tool] = mcpTools([server], { find: () => server })
  const shown = tool?.parameters as { properties: object; required: string[] }
  const names = Object.keys(shown.properties)
  assert.equal(names.toSorted(), [names[3], 'gr__e', 'my_arg', 'my_arg_2', 'plain'].toSorted())
  assert.ok(names.every(name => /^[\w.-]{1,64}$/.test(name)))
  assert.equal(shown.required, ['my_arg_2', 'plain'])
  const args = Object.fromEntries(names.map(name => [name, name]))
  await tool?.run(callContext(), args)
  assert.equal(sent, [
    { 'my arg': 'my_arg_2', my_arg: 'my_arg', größe: 'gr__e', [long]: names[3], plain: 'plain' },
  ])
})

test('secrets are masked, references to variables are shown', () => {
  assert.equal(maskValues({ A: 'secret', B: '${KEY}', C: '' }), { A: HIDDEN, B: '${KEY}', C: '' })
  assert.equal(maskArgs(['--api-key', 'abc', '--token=def', '--key=${KEY}', '--verbose']), [
    '--api-key',
    HIDDEN,
    `--token=${HIDDEN}`,
    '--key=${KEY}',
    '--verbose',
  ])
  assert.is(
    maskUrl('https://u:p@a.example/x?api_key=abc&q=1'),
    `https://${HIDDEN}@a.example/x?api_key=${HIDDEN}&q=1`,
  )
  assert.is(hideValues('value s3cr3t-value, no', ['s3cr3t-value', 'no']), `value ${HIDDEN}, no`)
})

test('a failed call is an error with the text of the server', () => {
  const content = [{ type: 'text', text: 'No such file.' }]
  assert.equal(toResult({ content, isError: true }), {
    content: '{"error":"No such file."}',
    isError: true,
  })
  assert.is(toResult({ isError: true }).content, '{"error":"The tool failed."}')
})

test('images become notes, unknown content stays JSON, structured content is the fallback', () => {
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
  assert.match(toResult({ content: [image] }).content, '[image: image/png, 1 kB')
  assert.is(toResult({ content: [{ type: 'new', a: 1 }] }).content, '{"type":"new","a":1}')
  assert.is(toResult({ structuredContent: { a: 1 } }).content, '{"a":1}')
  assert.is(toResult({}).content, '(The tool returned nothing.)')
})

test('images are stored where that is possible; one that is not stays a note with the reason', () => {
  const data = Buffer.from('an image').toString('base64')
  const content = [
    { type: 'text', text: 'Here:' },
    { type: 'image', data, mimeType: 'image/png' },
    { type: 'resource', resource: { uri: 'a://b', mimeType: 'image/png', blob: data } },
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
  ]
  const image = { file: `image-${'0'.repeat(32)}.png`, width: 2, height: 1, bytes: 8 }
  const result = toResult(
    { content },
    {
      name: 'server/shot',
      image(bytes, name) {
        if (bytes.toString() !== 'an image') throw new Error('It is damaged.')
        return { ...image, name }
      },
    },
  )
  assert.equal(result.images, Array(2).fill({ ...image, name: 'server/shot' }))
  assert.is(
    result.content,
    'Here:\n\n[image: server/shot, 2×1, 1 kB]\n\n[image: server/shot, 2×1, 1 kB]\n\n[image: image/png, 1 kB; It is damaged.]',
  )
})

test('of a result with many images, twenty are stored', () => {
  const content = Array.from({ length: 25 }, () => ({ type: 'image', data: 'AAAA' }))
  const image = { file: `image-${'0'.repeat(32)}.png`, width: 2, height: 1, bytes: 8 }
  const keep = { name: 'a/b', image: (_: Buffer, name: string) => ({ ...image, name }) }
  const { images, content: text } = toResult({ content }, keep)
  assert.is(images?.length, 20)
  assert.is(String(text).split('it cannot be shown here').length, 6)
})

test('audio, documents, and images that no model takes are stored as files', () => {
  const data = Buffer.from('bytes').toString('base64')
  const stored: string[] = []
  const file = (bytes: Buffer, ending: string) => {
    stored.push(`${bytes.toString()}.${ending}`)
    return ending === 'bin' ? null : `/out/${stored.length}.${ending}`
  }
  const image = () => {
    throw new Error('No image.')
  }
  const contents = ['application/pdf', 'image/svg+xml', 'text/../../x', undefined].map(
    mimeType => ({
      uri: 'a:b',
      mimeType,
      blob: data,
    }),
  )
  const content = [
    { type: 'audio', data, mimeType: 'audio/wav' },
    ...contents.map(resource => ({ type: 'resource', resource })),
  ]
  assert.is(
    toResult({ content }, { file, image }).content,
    [
      '[audio: audio/wav, 1 kB; stored in /out/1.wav]',
      '[a:b, application/pdf, 1 kB; stored in /out/2.pdf]',
      '[a:b, image/svg+xml, 1 kB; stored in /out/3.svg]',
      '[a:b, text/../../x, 1 kB; it cannot be shown here]',
      '[a:b, 1 kB; it cannot be shown here]',
    ].join('\n\n'),
  )
  assert.is(resourceResult({ contents }, { file, image }).content.split('stored in').length, 3)
})

test('resources and prompts are text', () => {
  assert.is(resourceResult({}).content, '(The resource is empty.)')
  assert.is(resourceResult({ contents: [{ uri: 'a:b', text: 'x' }] }).content, '[a:b]\nx')
  const messages = [{ role: 'user', content: { type: 'text', text: 'Hello' } }]
  assert.is(promptResult({ description: 'Greets', messages }).content, 'Greets\n\nuser: Hello')
})

test.run()
