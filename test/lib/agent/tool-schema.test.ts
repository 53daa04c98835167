/** What a provider receives of a tool's schema: nothing that tells a model nothing, and the same bytes each time. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { toolOf } from './_run.ts'
import { z } from 'zod'
import { describeTool, describeTools } from '../../../lib/agent/tool-schema.ts'
import { toolbox } from '../../../lib/agent/tools/toolbox.ts'

const test = suite('tool schemas')

const tool = (input: z.ZodType, parameters?: Record<string, unknown>) =>
  toolOf('t', undefined, { summary: 's', input, ...(parameters && { parameters }) })
const schemaOf = (input: z.ZodType) => describeTool(tool(input)).parameters
const cleaned = (parameters: Record<string, unknown>) =>
  describeTool(tool(z.looseObject({}), parameters)).parameters

test('leaves out what a model assumes anyway and keeps what limits it', () => {
  const schema = schemaOf(
    z.object({
      path: z.string().min(1).describe('A path.'),
      offset: z.int().default(1),
      many: z.int().min(0).max(20).default(0),
      all: z.boolean().default(false),
      note: z.string().max(9).default(''),
      mode: z.enum(['a', 'b']).default('a'),
    }),
  )
  assert.equal(schema, {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'A path.' },
      offset: { default: 1, type: 'integer' },
      many: { default: 0, type: 'integer', minimum: 0, maximum: 20 },
      all: { type: 'boolean' },
      note: { type: 'string', maxLength: 9 },
      mode: { default: 'a', type: 'string', enum: ['a', 'b'] },
    },
    required: ['path'],
  })
})

test('cleans schemas of MCP servers without touching properties and constants', () => {
  const nullable = { anyOf: [{ type: 'string', title: 'X' }, { type: 'null' }], default: null }
  const schema = cleaned({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Arguments',
    type: 'object',
    additionalProperties: false,
    properties: {
      title: { type: 'string', title: 'Title', description: 'The title.' },
      default: { ...nullable, title: 'Default', description: 'Optional.' },
      needed: nullable,
      list: {
        type: 'array',
        items: { type: 'object', properties: { a: {} }, additionalProperties: true, title: 'Item' },
      },
      map: { type: 'object', additionalProperties: { title: 'Value', type: 'number' } },
      any: { type: 'object', properties: {}, additionalProperties: true },
      ref: { $ref: '#/$defs/title' },
      fixed: { const: { title: 'stays' }, enum: [null, false, ''] },
      choice: {
        oneOf: [
          { title: 'A', type: 'string' },
          { type: 'number', default: 0 },
        ],
      },
    },
    required: ['needed'],
    $defs: { title: { title: 'T', type: 'boolean', default: true } },
  })
  assert.equal(schema, {
    type: 'object',
    properties: {
      title: { type: 'string', description: 'The title.' },
      default: { type: 'string', description: 'Optional.' },
      needed: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      list: { type: 'array', items: { type: 'object', properties: { a: {} } } },
      map: { type: 'object', additionalProperties: { type: 'number' } },
      any: { type: 'object', properties: {}, additionalProperties: true },
      ref: { type: 'boolean', default: true },
      fixed: { const: { title: 'stays' }, enum: [null, false, ''] },
      choice: { oneOf: [{ type: 'string' }, { type: 'number', default: 0 }] },
    },
    required: ['needed'],
  })
})

const TEXT = { type: 'string' }
const OBJECT = { type: 'object', properties: {} }
const node = { type: 'object', properties: { next: { $ref: '#/$defs/node' }, name: TEXT } }
/** Schemas that strict providers reject, and what they get. */
const REPAIRED: [string, Record<string, unknown>, Record<string, unknown>, string[]?][] = [
  [
    'an array without items',
    { a: { type: 'array', description: 'A.' } },
    { a: { type: 'array', description: 'A.', items: TEXT } },
  ],
  [
    'an array with empty items',
    { a: { type: 'array', items: {} } },
    { a: { type: 'array', items: TEXT } },
  ],
  [
    'an array of arrays',
    { a: { type: 'array', items: { type: 'array' } } },
    { a: { type: 'array', items: { type: 'array', items: TEXT } } },
  ],
  [
    'an array with a list of items',
    { a: { type: 'array', items: [TEXT, { type: 'integer' }] } },
    { a: { type: 'array', items: { anyOf: [TEXT, { type: 'integer' }] } } },
  ],
  [
    'items that are true',
    { a: { type: 'array', items: true } },
    { a: { type: 'array', items: TEXT } },
  ],
  ['a type or null', { a: { type: ['string', 'null'] } }, { a: TEXT }],
  [
    'several types',
    { a: { type: ['string', 'array', 'null'] } },
    { a: { anyOf: [TEXT, { type: 'array', items: TEXT }] } },
  ],
  ['one type in a list', { a: { type: ['integer'] } }, { a: { type: 'integer' } }],
  [
    'unknown types',
    { a: { type: 'str' }, b: { type: 'INTEGER' }, c: { type: 'file' } },
    { a: TEXT, b: { type: 'integer' }, c: {} },
  ],
  [
    'types that are missing',
    {
      a: { properties: { b: TEXT } },
      b: { items: TEXT },
      c: { enum: ['x'] },
      d: { enum: [1, 'x'] },
    },
    {
      a: { type: 'object', properties: { b: TEXT } },
      b: { type: 'array', items: TEXT },
      c: { type: 'string', enum: ['x'] },
      d: { enum: [1, 'x'] },
    },
  ],
  [
    'an empty enum',
    { a: { type: 'string', enum: [] }, b: { type: 'string', enum: 'x' } },
    { a: TEXT, b: TEXT },
  ],
  [
    'required inside properties',
    { a: { type: 'string', required: true }, b: { type: 'string', required: false } },
    { a: TEXT, b: TEXT },
    ['a'],
  ],
  [
    'required inside nested properties',
    { o: { type: 'object', properties: { a: { type: 'string', required: true } } } },
    { o: { type: 'object', properties: { a: TEXT }, required: ['a'] } },
  ],
  [
    'schemas as words',
    { a: 'string', b: 'object', c: null, d: true },
    { a: TEXT, b: OBJECT, c: {}, d: {} },
  ],
  ['an object without properties', { a: { type: 'object' } }, { a: OBJECT }],
  ['empty alternatives', { a: { anyOf: [], type: 'string' } }, { a: TEXT }],
  [
    'parts',
    {
      a: {
        allOf: [
          { type: 'object', properties: { x: TEXT }, required: ['x'] },
          { properties: { y: TEXT } },
        ],
      },
    },
    { a: { type: 'object', properties: { y: TEXT, x: TEXT }, required: ['x'] } },
  ],
  [
    'bounds of an older draft',
    { a: { type: 'integer', minimum: 1, exclusiveMinimum: true } },
    { a: { type: 'integer', minimum: 1 } },
  ],
  [
    'a reference that leads nowhere',
    { a: { $ref: 'https://x/y.json', description: 'A.' } },
    { a: { description: 'A.' } },
  ],
]
for (const [what, properties, expected, required] of REPAIRED)
  test(`repairs ${what}`, () => {
    const once = cleaned({ type: 'object', properties })
    assert.equal(once, { type: 'object', properties: expected, ...(required && { required }) })
    assert.is(JSON.stringify(cleaned(once as Record<string, unknown>)), JSON.stringify(once))
  })

/** Whole schemas. */
const ROOTS: [string, Record<string, unknown>, Record<string, unknown>][] = [
  [
    'alternatives',
    {
      anyOf: [
        { type: 'object', properties: { a: TEXT, c: TEXT }, required: ['a', 'c'] },
        { properties: { b: TEXT, c: TEXT }, required: ['b', 'c'] },
      ],
    },
    { type: 'object', properties: { b: TEXT, c: TEXT, a: TEXT }, required: ['c'] },
  ],
  [
    'alternatives of what is required',
    {
      type: 'object',
      properties: { a: TEXT, b: TEXT },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    { type: 'object', properties: { a: TEXT, b: TEXT } },
  ],
  [
    'a reference',
    {
      $ref: '#/definitions/A',
      definitions: { A: { type: 'object', properties: { a: TEXT }, required: ['a'] } },
    },
    { type: 'object', properties: { a: TEXT }, required: ['a'] },
  ],
  [
    'parts',
    { allOf: [{ $ref: '#/$defs/A' }], $defs: { A: { properties: { a: TEXT } } } },
    { type: 'object', properties: { a: TEXT } },
  ],
  [
    'a recursion',
    { properties: { list: { $ref: '#/$defs/node' } }, $defs: { node } },
    {
      type: 'object',
      properties: { list: { type: 'object', properties: { next: OBJECT, name: TEXT } } },
    },
  ],
  [
    'a recursion to itself',
    { type: 'object', properties: { inner: { $ref: '#' } } },
    { type: 'object', properties: { inner: { type: 'object', properties: { inner: OBJECT } } } },
  ],
  [
    'required names of nothing',
    { type: 'object', properties: { a: TEXT }, required: ['a', 'a', 'b', 3] },
    { type: 'object', properties: { a: TEXT }, required: ['a'] },
  ],
  ['no object', { type: 'array', items: TEXT }, { type: 'object', properties: {} }],
  ['nothing', {}, { type: 'object', properties: {} }],
]
for (const [what, given, expected] of ROOTS)
  test(`repairs a root of ${what}`, () => {
    const once = cleaned(given)
    assert.equal(once, expected)
    assert.is(JSON.stringify(cleaned(once as Record<string, unknown>)), JSON.stringify(once))
  })

test('references that would grow without end are not written out', () => {
  const names = Array.from({ length: 40 }, (_, at) => `d${at}`)
  const $defs = Object.fromEntries(
    names.map((name, at) => [
      name,
      {
        type: 'object',
        properties: {
          x: { $ref: `#/$defs/${names[at + 1]}` },
          y: { $ref: `#/$defs/${names[at + 1]}` },
        },
      },
    ]),
  )
  const schema = cleaned({ properties: { a: { $ref: '#/$defs/d0' } }, $defs })
  assert.ok(JSON.stringify(schema).length < 100_000)
})

test('a schema of thousands of levels, and a reference that is no address, fail no request', () => {
  let deep: Record<string, unknown> = TEXT
  for (let level = 0; level < 5_000; level++) deep = { type: 'object', properties: { in: deep } }
  const cut = JSON.stringify(cleaned(deep))
  assert.ok(cut.startsWith('{"type":"object","properties":{"in":{"type":"object"'))
  assert.ok(cut.length < 5_000)
  const properties = { a: { $ref: '#/%zz' }, b: { $ref: '#/$defs/50%' } }
  assert.equal(cleaned({ type: 'object', properties, $defs: { '50%': TEXT } }), {
    type: 'object',
    properties: { a: {}, b: TEXT },
  })
})

test('the tools of the engine have the same bytes each time and no noise', () => {
  const tools = toolbox()
  const once = JSON.stringify(describeTools(tools))
  assert.is(JSON.stringify(describeTools([...tools])), once)
  assert.is(JSON.stringify(describeTools(tools.map(each => ({ ...each })))), once)
  assert.not.match(
    once,
    /\$schema|9007199254740991|"default":(?:""|false|\[\]|\{\})|additionalProp/,
  )
})

test.run()
