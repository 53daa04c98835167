/** The document of the table: every route, every named noun once, every error. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { createOpenApiDocument } from '../../../lib/http/openapi.ts'
import { Message } from '../../../lib/schema/message.ts'
import { Session } from '../../../lib/schema/session.ts'
import { endpoint } from './_server.ts'

const Tree: z.ZodType = z
  .object({
    get children() {
      return z.array(Tree)
    },
  })
  .meta({ id: 'Tree' })
const Color = z.object({ name: z.string().default('red') }).meta({ id: 'Color' })

const document = createOpenApiDocument(
  {
    'GET /api/session': endpoint({
      summary: 'one',
      input: z.object({ session_id: z.string(), limit: z.coerce.number().int().optional() }),
      output: z.object({ session: Session }),
      run: () => ({}) as never,
    }),
    'POST /api/session': endpoint({
      summary: 'save',
      public: true,
      input: z.object({ message: Message, color: Color }),
      output: Color,
      run: () => ({}) as never,
    }),
    'POST /api/upload': endpoint({
      summary: 'send a file',
      multipart: true,
      raw: 'text/plain',
      loopback: true,
      run: () => ({}) as never,
    }),
    'GET /api/tree': endpoint({ summary: 'tree', output: Tree, run: () => ({}) as never }),
  },
  {
    'GET /session/:id': endpoint({
      summary: 'page',
      page: true,
      raw: 'text/html',
      run: () => ({}) as never,
    }),
  },
  '1.2.3',
) as {
  info: unknown
  paths: Record<
    string,
    Record<
      string,
      {
        parameters: unknown[]
        responses: Record<string, unknown>
        requestBody?: unknown
        security?: unknown
      }
    >
  >
  components: { schemas: Record<string, unknown> }
}

const test = suite('http/openapi')

test('lists every route with its parameters', () => {
  assert.equal(Object.keys(document.paths), [
    '/api/session',
    '/api/upload',
    '/api/tree',
    '/session/{id}',
  ])
  const { get, post } = document.paths['/api/session']!
  assert.equal(
    (get!.parameters as { name: string; required: boolean }[]).map(({ name, required }) => [
      name,
      required,
    ]),
    [
      ['session_id', true],
      ['limit', false],
    ],
  )
  assert.equal(post!.parameters, [])
  assert.equal(post!.security, [])
  assert.equal(document.paths['/session/{id}']!.get!.parameters, [
    { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
  ])
})

test('lists every reply, errors included', () => {
  assert.equal(Object.keys(document.paths['/api/session']!.get!.responses), [
    '200',
    '400',
    '401',
    '403',
    '500',
    'default',
  ])
  assert.equal(Object.keys(document.paths['/api/upload']!.post!.responses), [
    '200',
    '400',
    '401',
    '403',
    '404',
    '500',
    'default',
  ])
  assert.equal(Object.keys(document.paths['/session/{id}']!.get!.responses), [
    '200',
    '302',
    '403',
    '500',
    'default',
  ])
})

test('lists named schemas once, and every $ref resolves', () => {
  const text = JSON.stringify(document)
  assert.not.match(text, '$defs')
  const { schemas } = document.components
  assert.ok(schemas.Session && schemas.Message && schemas.ToolCall && schemas.Tree && schemas.Error)
  assert.ok(schemas.Color && schemas.ColorOutput)
  for (const [, ref = ''] of text.matchAll(/"\$ref":"([^"]+)"/g)) {
    assert.ok(schemas[/^#\/components\/schemas\/(.+)$/.exec(ref)?.[1] ?? ''], ref)
  }
})

test.run()
