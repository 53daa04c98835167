/** Structured output and forced calls in the three APIs: what the client gets, what the model was asked, and bad requests. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { acceptSettings } from '../_app.ts'
import { bundleProgram } from '../_program.ts'
import type { Step } from '../_provider.ts'
import { type Api, user, WEATHER, weatherCall, withApi } from './_client-api.ts'

const structured = suite('client API: structured output')

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
}
const GOOD = JSON.stringify({ city: 'Rome', degrees: 21 })

/** Bodies in the forms of three APIs. */
type Loose = Awaited<ReturnType<Api['app']['post']>>['body']

type ApiName = 'chat' | 'responses' | 'messages'
const APIS: readonly ApiName[] = ['chat', 'responses', 'messages']

const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' }

const PLAIN: Record<ApiName, Record<string, unknown>> = {
  chat: { model: 'agent', messages: [user('Rome')] },
  responses: { model: 'agent', input: 'Rome' },
  messages: { model: 'agent', max_tokens: 100, messages: [user('Rome')] },
}

/** A request for an answer with this schema; null: any object, which Anthropic's API cannot ask for. */
const bodyFor = (api: ApiName, schema: unknown, more: Record<string, unknown> = {}) => {
  const named = { name: 'city', strict: true, schema }
  const any = { type: 'json_object' }
  const own = {
    chat: { response_format: schema === null ? any : { type: 'json_schema', json_schema: named } },
    responses: { text: { format: schema === null ? any : { type: 'json_schema', ...named } } },
    messages: { output_config: { format: { type: 'json_schema', schema } } },
  }
  return { ...PLAIN[api], ...own[api], ...more }
}

/** The text and the error of a whole answer, whatever its API. */
const textOf = (api: ApiName, body: Loose): unknown => {
  if (api === 'chat') return body.choices[0].message.content
  const parts =
    api === 'messages' ? body.content : body.output.flatMap((item: Loose) => item.content ?? [])
  return parts.map((part: Loose) => part.text ?? part.refusal).join('')
}

const post = ({ app, headers }: Api, api: ApiName, body: Record<string, unknown>) =>
  app.post(PATHS[api], body, { headers })

const reads = { toolCalls: [{ id: 'r1', name: 'read_file', arguments: { path: 'none.txt' } }] }

/** What the model says in turn, and what the client gets: JSON text, or a failure. */
const ANSWERS: [name: string, schema: unknown, says: Step[], expected: string | null][] = [
  ['is right at once', SCHEMA, [{ text: GOOD }], GOOD],
  ['comes in pieces', SCHEMA, [{ text: ['{"city":"Ro', 'me","degrees":', '21}'] }], GOOD],
  ['is in a fence', SCHEMA, [{ text: `\`\`\`json\n${GOOD}\n\`\`\`` }], GOOD],
  ['is in a sentence', SCHEMA, [{ text: `Here it is: ${GOOD} Anything else?` }], GOOD],
  ['follows prose', SCHEMA, [{ text: 'It is warm.' }, { text: GOOD }], GOOD],
  ['lacks a field', SCHEMA, [{ text: '{"city":"Rome"}' }, { text: GOOD }], GOOD],
  ['is cut JSON', SCHEMA, [{ text: '{"city":"Rome","deg' }, { text: GOOD }], GOOD],
  ['comes after a tool', SCHEMA, [{ text: 'I look.', ...reads }, { text: GOOD }], GOOD],
  [
    'follows a subagent, which is held to nothing',
    SCHEMA,
    [
      { toolCalls: [{ id: 'd', name: 'delegate_task', arguments: { goal: 'Look' } }] },
      { text: 'A look.' },
      { text: GOOD },
    ],
    GOOD,
  ],
  ['is a list', { type: 'array', items: { type: 'number' } }, [{ text: '[1, 2]' }], '[1, 2]'],
  ['is one word', { enum: ['warm', 'cold', null] }, [{ text: '"warm"' }], '"warm"'],
  [
    'has a condition',
    { ...SCHEMA, not: { properties: { city: { const: 'Oslo' } } } },
    [{ text: GOOD }],
    GOOD,
  ],
  [
    'refers to a definition',
    { $ref: '#/$defs/city', $defs: { city: SCHEMA } },
    [{ text: '{}' }, { text: GOOD }],
    GOOD,
  ],
  ['is never right', SCHEMA, [{ text: 'Warm.' }, { text: 'Still warm.' }], null],
]

const OBJECTS: typeof ANSWERS = [
  ['is any object', null, [{ text: '{"a": 1}' }], '{"a": 1}'],
  ['is a list where an object was asked', null, [{ text: '[1]' }, { text: '{}' }], '{}'],
]

for (const api of APIS)
  structured(
    `${api}: the answer has the form that was asked for, whole and streamed`,
    withApi(async service => {
      const cases = api === 'messages' ? ANSWERS : [...ANSWERS, ...OBJECTS]
      for (const [at, [name, schema, says, expected]] of cases.entries()) {
        const before = service.asked().length
        service.push(...says)
        const whole = await post(service, api, bodyFor(api, schema))
        const words = `${name}: ${whole.text}`
        if (expected === null) {
          const { error } = whole.body
          assert.is(whole.status, 400, words)
          assert.is(error.code ?? error.type, api === 'messages' ? 'api_error' : 'invalid_answer')
          assert.is(whole.headers['x-should-retry'], 'false')
        } else {
          assert.is(whole.status, 200, words)
          assert.is(textOf(api, whole.body), expected, words)
        }
        assert.is(service.asked().length - before, says.length, words)
        // Each is streamed in one of the three.
        if (APIS[at % APIS.length] !== api) continue
        service.push(...says)
        const streamed = await post(service, api, bodyFor(api, schema, { stream: true }))
        if (expected === null) assert.is(streamed.status, 400, streamed.text)
        else assert.ok(streamed.text.includes(JSON.stringify(expected)), streamed.text)
        // Nothing but the answer: neither what came before it, nor what was not right.
        assert.not.ok(/I look|It is warm|Warm\.|Here/.test(streamed.text), streamed.text)
      }
    }),
  )

structured(
  'the model is told the schema; the second call has no tools, and what its API has for a form',
  withApi(
    async service => {
      await post(service, 'chat', bodyFor('chat', SCHEMA))
      const [first, second] = service.asked()
      assert.ok(JSON.stringify(first.messages[0]).includes('degrees'))
      assert.ok(first.tools.length > 0)
      // A local server would hold every token to the form, so that no tool could be called.
      assert.is(first.response_format, undefined)
      assert.is(second.tools, undefined)
      assert.equal(second.response_format.json_schema.schema, SCHEMA)
      assert.equal(
        second.messages.slice(-2).map(({ role }: { role: string }) => role),
        ['assistant', 'user'],
      )
      // The chat has the answer in the place of the first one.
      const [row] = await service.sessions()
      const stored = await service.messages(String(row?.session_id))
      assert.equal(
        stored.map(({ role, content }) => [role, content]),
        [
          ['user', 'Rome'],
          ['assistant', GOOD],
        ],
      )
      // Its history continues it.
      service.push({ text: 'Oslo.' })
      const more = [user('Rome'), { role: 'assistant', content: GOOD }, user('And?')]
      await post(service, 'chat', { model: 'agent', messages: more })
      assert.is((await service.sessions()).length, 1)
    },
    { text: 'Warm.' },
    { text: GOOD },
  ),
)

structured(
  'functions of the program work beside a form: a call is no answer yet',
  withApi(
    async service => {
      const tools = [{ type: 'function', function: WEATHER }]
      const { body } = await post(service, 'chat', bodyFor('chat', SCHEMA, { tools }))
      const { message, finish_reason } = body.choices[0]
      assert.equal([finish_reason, message.content], ['tool_calls', null])
      const messages = [
        user('Rome'),
        message,
        { role: 'tool', tool_call_id: message.tool_calls[0].id, content: '21' },
      ]
      const next = await post(service, 'chat', bodyFor('chat', SCHEMA, { tools, messages }))
      assert.is(textOf('chat', next.body), GOOD)
      assert.is((await service.sessions()).length, 1)
    },
    { text: 'I ask.', toolCalls: [weatherCall('w1', 'Rome')] },
    { text: 'Warm.' },
    { text: GOOD },
  ),
)

const AGENT = bundleProgram(join(import.meta.dirname, '../_acp-agent.ts'))

structured(
  'an external agent is told the form with the message, and once more when its answer is prose',
  withApi(async service => {
    const { app } = service
    writeFileSync(
      join(app.home, 'config.yaml'),
      JSON.stringify({
        model: { default: '@acp:tester' },
        providers: {
          tester: { name: 'Tester', acp_command: process.execPath, acp_args: [AGENT] },
        },
      }),
    )
    await acceptSettings(app)
    for (const [message, status] of [
      ['prose', 200],
      ['prose forever', 400],
    ] as const) {
      const answer = await post(
        service,
        'chat',
        bodyFor('chat', SCHEMA, { messages: [user(message)] }),
      )
      assert.is(answer.status, status, answer.text)
      if (status === 200) assert.is(textOf('chat', answer.body), GOOD)
      else assert.is(answer.body.error.code, 'invalid_answer')
    }
  }),
)

const format = (given: Record<string, unknown>) => ({ response_format: given })
const named = (json_schema: unknown) => format({ type: 'json_schema', json_schema })
const textFormat = (given: unknown) => ({ text: { format: given } })
const outputFormat = (given: unknown) => ({ output_config: { format: given } })
const schemaOf = (schema: unknown) => ({ name: 'x', schema })
const tools = [{ type: 'function', function: WEATHER }]
const flat = [{ type: 'function', ...WEATHER }]
const theirs = [{ name: 'get_weather', input_schema: WEATHER.parameters }]

const BAD: [api: ApiName, body: Record<string, unknown>, param: string][] = [
  ['chat', format({ type: 'yaml' }), 'response_format.type'],
  ['chat', named(undefined), 'response_format.json_schema.schema'],
  ['chat', named({ name: 'a b', schema: SCHEMA }), 'response_format.json_schema.name'],
  ['chat', named({ ...schemaOf(SCHEMA), strict: 'yes' }), 'response_format.json_schema.strict'],
  ['chat', named(schemaOf({ type: 'objekt' })), 'response_format.json_schema.schema'],
  ['chat', named(schemaOf({ $ref: '#/nowhere' })), 'response_format.json_schema.schema'],
  [
    'chat',
    named(schemaOf({ type: 'string', pattern: '([' })),
    'response_format.json_schema.schema',
  ],
  // The validator has schemas that answer later, by a rejection that nobody would handle.
  ['chat', named(schemaOf({ ...SCHEMA, $async: true })), 'response_format.json_schema.schema'],
  ['chat', format({ type: 'json_object', json_schema: schemaOf(SCHEMA) }), 'response_format.type'],
  ['responses', textFormat({ type: 'xml' }), 'text.format.type'],
  [
    'responses',
    textFormat({ type: 'json_schema', ...schemaOf({ enum: [] }) }),
    'text.format.schema',
  ],
  [
    'messages',
    outputFormat({ type: 'json_schema', schema: { type: 1 } }),
    'output_config.format.schema',
  ],
  [
    'messages',
    {
      ...outputFormat({ type: 'json_schema', schema: SCHEMA }),
      output_format: { type: 'json_schema', schema: SCHEMA },
    },
    'output_format',
  ],
  ['chat', { tool_choice: 'required' }, 'tool_choice'],
  ['chat', { tools, tool_choice: 'sometimes' }, 'tool_choice'],
  [
    'chat',
    { tools, tool_choice: { type: 'function', function: { name: 'other' } } },
    'tool_choice',
  ],
  [
    'chat',
    { tools, tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'always' } } },
    'tool_choice',
  ],
  ['responses', { tools: flat, tool_choice: { type: 'function', name: 'other' } }, 'tool_choice'],
  ['responses', { tools: flat, tool_choice: { type: 'web_search' } }, 'tool_choice'],
  ['messages', { tool_choice: { type: 'any' } }, 'tool_choice'],
  ['messages', { tools: theirs, tool_choice: { type: 'tool' } }, 'tool_choice.name'],
  ['messages', { tools: theirs, tool_choice: { type: 'tool', name: 'other' } }, 'tool_choice'],
  ['messages', { tools: theirs, tool_choice: { type: 'all' } }, 'tool_choice.type'],
]

structured(
  'a schema that is none, a format that is unclear, a choice that cannot be met: 400, with the name of the parameter',
  withApi(async service => {
    for (const [api, given, param] of BAD) {
      const answer = await post(service, api, { ...PLAIN[api], ...given })
      const words = `${JSON.stringify(given)} ${answer.text}`
      assert.is(answer.status, 400, words)
      if (api === 'messages') assert.ok(answer.body.error.type === 'invalid_request_error', words)
      else assert.is(answer.body.error.param, param, words)
    }
    assert.is(service.asked().length, 0)
    assert.is((await service.sessions()).length, 0)
  }),
)

const other = { ...WEATHER, name: 'get_time' }

/** By API: a choice that forces a call, and the functions that are left. */
const FORCED: [api: ApiName, given: Record<string, unknown>, offered: string[]][] = [
  ['chat', { tools, tool_choice: 'required' }, ['get_weather']],
  [
    'chat',
    {
      tools: [...tools, { type: 'function', function: other }],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    },
    ['get_weather'],
  ],
  [
    'chat',
    {
      tools: [...tools, { type: 'function', function: other }],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'required',
          tools: [{ type: 'function', function: { name: 'get_weather' } }],
        },
      },
    },
    ['get_weather'],
  ],
  ['responses', { tools: flat, tool_choice: 'required' }, ['get_weather']],
  [
    'responses',
    {
      tools: [...flat, { type: 'function', ...other }],
      tool_choice: { type: 'function', name: 'get_weather' },
    },
    ['get_weather'],
  ],
  [
    'messages',
    {
      tools: [...theirs, { ...theirs[0], name: 'get_time' }],
      tool_choice: { type: 'any' },
    },
    ['get_weather', 'get_time'],
  ],
  [
    'messages',
    {
      tools: [...theirs, { ...theirs[0], name: 'get_time' }],
      tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true },
    },
    ['get_weather'],
  ],
  [
    'messages',
    {
      tools: [{ ...theirs[0], defer_loading: true }],
      tool_choice: { type: 'tool', name: 'get_weather' },
    },
    ['get_weather'],
  ],
]

const callsIn = (api: ApiName, body: Loose): unknown[] => {
  if (api === 'chat')
    return (body.choices[0].message.tool_calls ?? []).map((call: Loose) => call.function.name)
  const items: Loose[] = api === 'messages' ? body.content : body.output
  return items.filter(({ type }) => /tool_use|function_call/.test(type)).map(({ name }) => name)
}

structured(
  'a forced call: after its own tools, at once, after prose; without one the request fails',
  withApi(async service => {
    for (const [api, given, offered] of FORCED) {
      const body = { ...PLAIN[api], ...given }
      const call = { toolCalls: [weatherCall('w1', 'Rome')] }
      for (const says of [[call], [reads, call], [{ text: 'Warm.' }, call]]) {
        service.push(...says)
        const answer = await post(service, api, body)
        assert.is(answer.status, 200, answer.text)
        assert.equal(callsIn(api, answer.body), ['get_weather'], answer.text)
        assert.not.ok(answer.text.includes('Warm.'), answer.text)
      }
      const last = service.asked().at(-1)
      assert.is(last.tool_choice, 'required')
      assert.equal(
        last.tools.map((tool: { function: { name: string } }) => tool.function.name),
        offered,
      )
      service.push({ text: 'Warm.' }, { text: 'Still warm.' })
      const without = await post(service, api, body)
      assert.is(without.status, 400, without.text)
      if (api !== 'messages') assert.is(without.body.error.code, 'tool_not_called')
    }
  }),
)

structured(
  'an allowed function that need not be called, a function that is taken away, and arguments that are corrected',
  withApi(async service => {
    const more = [...tools, { type: 'function', function: other }]
    const choice = {
      type: 'allowed_tools',
      allowed_tools: {
        mode: 'auto',
        tools: [{ type: 'function', function: { name: 'get_time' } }],
      },
    }
    const messages = [user('Rome')]
    service.push({ text: 'Warm.' })
    const free = { model: 'agent', messages, tools: more, tool_choice: choice }
    assert.is(textOf('chat', (await post(service, 'chat', free)).body), 'Warm.')
    const names = service
      .asked()
      .at(-1)
      .tools.map((tool: Loose) => tool.function.name)
    assert.equal([names.includes('get_time'), names.includes('get_weather')], [true, false])
    const strict = [{ type: 'function', function: { ...WEATHER, strict: true } }]
    service.push(
      { text: 'Warm.' },
      { toolCalls: [{ id: 'a', name: 'get_weather', arguments: { town: 'Rome' } }] },
      { toolCalls: [weatherCall('w1', 'Rome')] },
    )
    const forced = { model: 'agent', messages, tools: strict, tool_choice: 'required' }
    const answer = await post(service, 'chat', forced)
    assert.equal(callsIn('chat', answer.body), ['get_weather'], answer.text)
  }),
)

structured.run()
