/** MCP without servers: argument conversion, tool names, masking, results. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { coerceArguments } from '../../../lib/mcp/coerce-arguments.ts'
import { HIDDEN, hideValues, maskArgs, maskUrl, maskValues } from '../../../lib/mcp/mask-config.ts'
import { promptText, resourceText, toResult } from '../../../lib/mcp/results.ts'
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

test('tool names have allowed characters, are unique and at most 64 characters', () => {
  const taken = new Set<string>()
  assert.is(toolName('my server', 'läs.fil', taken), 'mcp_my_server_l_s_fil')
  assert.is(toolName('my server', 'läs.fil', taken), 'mcp_my_server_l_s_fil_2')
  const long = toolName('s', 'x'.repeat(100), taken)
  assert.is(long.length, 64)
  assert.is(toolName('s', 'x'.repeat(100), new Set()), long)
  assert.is.not(toolName('s', `${'x'.repeat(100)}y`, taken), long)
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
  const result = toResult({ content }, 'server/shot', (bytes, name) => {
    if (bytes.toString() !== 'an image') throw new Error('It is damaged.')
    return { ...image, name }
  })
  assert.equal(result.images, Array(2).fill({ ...image, name: 'server/shot' }))
  assert.is(
    result.content,
    'Here:\n\n[image: server/shot, 2×1, 1 kB]\n\n[image: server/shot, 2×1, 1 kB]\n\n[image: image/png, 1 kB; it cannot be shown here] (It is damaged.)',
  )
})

test('of a result with many images, twenty are stored', () => {
  const content = Array.from({ length: 25 }, () => ({ type: 'image', data: 'AAAA' }))
  const image = { file: `image-${'0'.repeat(32)}.png`, width: 2, height: 1, bytes: 8 }
  const { images, content: text } = toResult({ content }, 'a/b', (_, name) => ({ ...image, name }))
  assert.is(images?.length, 20)
  assert.is(String(text).split('it cannot be shown here').length, 6)
})

test('resources and prompts are text', () => {
  assert.is(resourceText({}), '(The resource is empty.)')
  assert.is(resourceText({ contents: [{ uri: 'a:b', text: 'x' }] }), '[a:b]\nx')
  const messages = [{ role: 'user', content: { type: 'text', text: 'Hello' } }]
  assert.is(promptText({ description: 'Greets', messages }), 'Greets\n\nuser: Hello')
})

test.run()
