/** One MCP tool that an endpoint rejects does not fail a chat: it is left out, and that is said once. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Tool } from '../../../../lib/agent/types.ts'
import { echo, FORMATS, speaker, withServer } from './_matrix.ts'

const test = suite('rejected tools')

const named = (name: string): Tool => ({ ...echo, name })
const TOOLS = ['echo', 'mcp_a_good', 'mcp_a_bad', 'mcp_a_bad_too'].map(named)
const namesIn = (body: unknown): string[] =>
  TOOLS.map(({ name }) => name).filter(name => JSON.stringify(body).includes(`"name":"${name}"`))
const saying = (message: string) => ({ status: 400, body: { error: { message } } })
const BUT = (...left: string[]) =>
  TOOLS.map(({ name }) => name).filter(name => !left.includes(name))

/** What servers say of the third tool, and which tools the next request has. */
const SAID: [string, string[]][] = [
  [
    "Invalid schema for function 'mcp_a_bad': In context=('properties', 'a'), array schema missing items.",
    BUT('mcp_a_bad'),
  ],
  [
    'tools.2.custom.input_schema: JSON schema is invalid. It must match draft 2020-12',
    BUT('mcp_a_bad'),
  ],
  [
    "tools.2.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    BUT('mcp_a_bad'),
  ],
  [
    '* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties[a].items: missing field.',
    BUT('mcp_a_bad'),
  ],
  ["Invalid 'tools[2].function.name': string does not match pattern.", BUT('mcp_a_bad')],
  ['The tool mcp_a_bad has an invalid description.', BUT('mcp_a_bad')],
  ['JSON schema conversion failed: Unrecognized schema: {"type":"file"}', ['echo']],
]
for (const format of FORMATS)
  for (const [message, left] of SAID)
    test(`${format.apiMode}: ${message}`, () =>
      withServer([saying(message), { text: 'done' }, { text: 'again' }], async server => {
        const { converse } = speaker(format)
        const provider = { [format.apiMode]: format.create() }
        const turn = () => converse(server, { tools: TOOLS, providers: provider })
        const first = await turn()
        assert.is(first.outcome.text, 'done')
        assert.equal(
          server.requests.map(({ body }) => namesIn(body)),
          [BUT(), left],
        )
        const second = await turn()
        assert.equal(namesIn(server.requests[2]?.body), left)
        const warnings = [first, second].map(({ events }) =>
          events.flatMap(event => (event.type === 'warning' ? [event.kind] : [])),
        )
        assert.equal(warnings, [['model'], []])
      }))

/** Rejections of something else: no tool is left out for them. */
const OTHER = [
  'The model m does not exist.',
  'tools.0.custom.name: String should have at most 64 characters',
  "messages[3].content: invalid type for 'name'",
  'Invalid value for mcp_a_badly.',
  "Invalid schema for response_format 'answer': 'additionalProperties' is required to be false.",
]
for (const message of OTHER)
  test(`not a tool: ${message}`, () =>
    withServer([saying(message), saying(message)], async server => {
      const { outcome } = await speaker(FORMATS[0]!).converse(server, { tools: TOOLS })
      assert.is(outcome.status, 'failed')
      assert.equal(namesIn(server.requests.at(-1)?.body), BUT())
    }))

test('after several, all tools of MCP servers are left out: the chat goes on', () => {
  const many = Array.from({ length: 30 }, (_, at) => named(`mcp_b_${at}`))
  const rejections = many
    .slice(0, 8)
    .map(({ name }) => saying(`Invalid schema for function '${name}'`))
  return withServer([...rejections.slice(0, 5), { text: 'done' }], async server => {
    const { outcome } = await speaker(FORMATS[0]!).converse(server, { tools: [echo, ...many] })
    assert.is(outcome.text, 'done')
    assert.is(server.requests.at(-1)?.body.tools.length, 1)
  })
})

test.run()
