/** What a provider receives of a tool's schema: nothing that tells a model nothing, and the same bytes each time. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { describeTool, describeTools } from '../../../lib/agent/tool-schema.ts'
import { createToolbox } from '../../../lib/agent/tools/toolbox.ts'
import type { Tool } from '../../../lib/agent/types.ts'

const test = suite('tool schemas')

const tool = (input: z.ZodType, parameters?: Record<string, unknown>): Tool => ({
  name: 't',
  summary: 's',
  input,
  ...(parameters && { parameters }),
  kind: 'read',
  preview: () => '',
  run: () => ({ content: '' }),
})
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

test('cleans schemas of MCP servers without touching properties, constants and references', () => {
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
      ref: { $ref: '#/$defs/title' },
      fixed: { const: { title: 'stays' }, enum: [null, false, ''] },
      choice: { oneOf: [{ type: 'string' }, { type: 'number', default: 0 }] },
    },
    required: ['needed'],
    $defs: { title: { type: 'boolean', default: true } },
  })
})

test('changes nothing in a schema that was cleaned before: it is stored and sent again', () => {
  const text = { anyOf: [{ type: 'string' }, { type: 'null' }], default: null }
  const once = cleaned({
    type: 'object',
    properties: { deep: { anyOf: [text, { type: 'null' }] }, 2: text, 1: text },
  }) as Record<string, unknown>
  assert.equal(once, {
    type: 'object',
    properties: { 1: { type: 'string' }, 2: { type: 'string' }, deep: { type: 'string' } },
  })
  assert.is(JSON.stringify(cleaned(JSON.parse(JSON.stringify(once)))), JSON.stringify(once))
})

test('survives schemas that are not schemas', () => {
  const odd = {
    type: 'object',
    properties: [1],
    anyOf: 'x',
    items: true,
    required: 'all',
    not: null,
  }
  assert.equal(cleaned(odd), odd)
})

test('the tools of the engine have the same bytes each time and no noise', () => {
  const toolbox = createToolbox()
  const once = JSON.stringify(describeTools(toolbox))
  assert.is(JSON.stringify(describeTools([...toolbox])), once)
  assert.is(JSON.stringify(describeTools(toolbox.map(each => ({ ...each })))), once)
  assert.not.match(
    once,
    /\$schema|9007199254740991|"default":(?:""|false|\[\]|\{\})|additionalProp/,
  )
})

test.run()
