/** What Claude Code, Codex and the AI SDK send, as they come: what is accepted, what is ignored and named, what is refused. */
import type OpenAI from 'openai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Api, all, user, WEATHER, weatherCall, withApi } from './_client-api.ts'

const clients = suite('client API: real clients')

type Body = Record<string, unknown>

const HELLO = [user('Hello')]
const post = ({ app, headers }: Api, path: string, body: Body) =>
  app.post(`/v1/${path}`, { model: 'agent', ...body }, { headers })

const namesIn = (body: { tools?: { function: { name: string } }[] }): string[] =>
  (body.tools ?? []).map(tool => tool.function.name)

const text = (words: string, more: Body = {}) => ({ type: 'text', text: words, ...more })
const cached = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const claudeTool = (name: string, more: Body = {}) => ({
  name,
  description: name,
  input_schema: WEATHER.parameters,
  ...more,
})

const called = (id: string, name: string) => ({
  role: 'assistant',
  content: [
    { type: 'thinking', thinking: 'Hm.', signature: 'x' },
    { type: 'tool_use', id, name, input: {} },
  ],
})
const resultOf = (id: string, content: unknown) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content, ...cached }],
})

type Accepted = [
  name: string,
  path: string,
  body: Body,
  expected: {
    /** In what is sent to the model. */
    has?: string[]
    lacks?: string[]
    tools?: string[]
    noTools?: string[]
    /** `x-ignored-parameters`. */
    ignored?: string
  },
]

const OPENAI_HOSTED = [
  ...['web_search', 'file_search', 'code_interpreter', 'image_generation', 'computer_use_preview'],
  ...['mcp', 'local_shell', 'shell', 'apply_patch', 'custom', 'namespace', 'tool_search'],
]
const ANTHROPIC_HOSTED = [
  ...['web_search_20250305', 'web_fetch_20250910', 'code_execution_20250825', 'bash_20250124'],
  ...['text_editor_20250728', 'computer_20250124', 'memory_20250818', 'mcp_toolset'],
]

const PDF = readFileSync(join(import.meta.dirname, '../fixtures/documents/pages.pdf')).toString(
  'base64',
)

const ACCEPTED: Accepted[] = [
  [
    'Claude Code: system messages among the others, betas, cache marks, an unknown effort of thinking',
    'messages?beta=true',
    {
      max_tokens: 32_000,
      system: [text('You are an agent.', cached), text('Be brief.', cached)],
      messages: [
        { role: 'user', content: [text('<system-reminder>x</system-reminder>'), text('Hello')] },
        { role: 'system', content: [text('# Environment', cached)] },
      ],
      metadata: { user_id: '{"device_id":"d","session_id":"s"}' },
      thinking: { type: 'adaptive', display: 'omitted' },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      output_config: { effort: 'high' },
      tools: [claudeTool('Read', cached), claudeTool('Placeholder', { defer_loading: true })],
    },
    {
      has: ['# Environment', 'Be brief.', 'Hello'],
      tools: ['Read'],
      noTools: ['Placeholder'],
    },
  ],
  [
    'a forced tool of a type that is left out',
    'chat/completions',
    {
      messages: HELLO,
      tools: [{ type: 'custom', custom: { name: 'p' } }],
      tool_choice: { type: 'custom', custom: { name: 'p' } },
    },
    { ignored: 'tools.0 (custom), tool_choice' },
  ],
  [
    'Claude Code: a tool that its search found is offered from then on',
    'messages',
    {
      messages: [
        ...HELLO,
        called('t1', 'ToolSearch'),
        resultOf('t1', [{ type: 'tool_reference', tool_name: 'Later' }]),
      ],
      tools: [
        claudeTool('Later', { defer_loading: true }),
        claudeTool('Never', { defer_loading: true }),
      ],
    },
    { tools: ['Later'], noTools: ['Never'], has: ['[tool: Later]'] },
  ],
  [
    'Claude Code: tools that the conversation adds and removes',
    'messages',
    {
      messages: [
        ...HELLO,
        {
          role: 'system',
          content: [
            text('Tools have changed.'),
            {
              type: 'tool_addition',
              tool: { type: 'tool_definition', definition: claudeTool('New') },
            },
            { type: 'tool_addition', tool: { type: 'tool_reference', name: 'Later' } },
            { type: 'tool_removal', tool: { type: 'tool_reference', name: 'Old' } },
          ],
        },
      ],
      tools: [claudeTool('Old'), claudeTool('Later', { defer_loading: true })],
    },
    { has: ['Tools have changed.'], tools: ['New', 'Later'], noTools: ['Old'] },
  ],
  [
    'tools that are found at the provider are all offered',
    'messages',
    {
      messages: HELLO,
      tools: [
        { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
        claudeTool('Later', { defer_loading: true }),
      ],
    },
    { tools: ['Later'], ignored: 'tools.0 (tool_search_tool_bm25_20251119)' },
  ],
  [
    'Claude Code searches the web: the tool of the provider, forced',
    'messages',
    {
      messages: HELLO,
      tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }],
      tool_choice: { type: 'tool', name: 'web_search' },
    },
    { ignored: 'tools.0 (web_search_20250305), tool_choice' },
  ],
  [
    'documents and search results that are text',
    'messages',
    {
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: 'Plain.' },
            },
            {
              type: 'document',
              source: {
                type: 'base64',
                media_type: 'text/markdown',
                data: Buffer.from('Encoded.').toString('base64'),
              },
            },
            { type: 'document', source: { type: 'content', content: [text('Inside.')] } },
            { type: 'search_result', title: 'Found', source: 'x', content: [text('A hit.')] },
            text('Hello'),
          ],
        },
      ],
    },
    { has: ['Plain.', 'Encoded.', 'Inside.', 'Found', 'A hit.'] },
  ],
  [
    'a PDF file for Anthropic',
    'messages',
    {
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              title: 'Pages',
              source: { type: 'base64', media_type: 'application/pdf', data: PDF },
            },
            text('What does it say?'),
          ],
        },
      ],
    },
    { has: ['[file: Pages]', 'Page 1 says hello', 'What does it say?'] },
  ],
  [
    'a PDF file in a response',
    'responses',
    {
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            {
              type: 'input_file',
              filename: 'a.pdf',
              file_data: `data:application/pdf;base64,${PDF}`,
            },
          ],
        },
      ],
    },
    { has: ['[file: a.pdf]', 'Page 3'] },
  ],
  ...ANTHROPIC_HOSTED.map(
    (type): Accepted => [
      `a tool of Anthropic: ${type}`,
      'messages',
      { messages: HELLO, tools: [claudeTool('Mine'), { type, name: 'x' }] },
      { tools: ['Mine'], ignored: `tools.1 (${type})` },
    ],
  ),
  [
    'Codex: developer messages, tools of all kinds, metadata',
    'responses',
    {
      input: [
        {
          type: 'message',
          id: 'msg_1',
          role: 'developer',
          content: [{ type: 'input_text', text: 'You are Codex.' }],
        },
        {
          type: 'message',
          id: 'msg_2',
          role: 'user',
          content: [{ type: 'input_text', text: '<environment_context>' }],
        },
        {
          type: 'message',
          id: 'msg_3',
          role: 'user',
          content: [{ type: 'input_text', text: 'hello' }],
        },
      ],
      tools: [
        { type: 'function', strict: false, ...WEATHER, name: 'exec_command' },
        {
          type: 'namespace',
          name: 'multi_agent_v1',
          tools: [{ type: 'function', name: 'spawn_agent' }],
        },
        { type: 'web_search', external_web_access: false },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      reasoning: { summary: 'auto' },
      store: false,
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'k',
      client_metadata: { session_id: 's' },
    },
    {
      has: ['You are Codex.', '<environment_context>', 'hello'],
      tools: ['exec_command'],
      noTools: ['spawn_agent'],
      ignored: 'tools.1 (namespace), tools.2 (web_search)',
    },
  ],
  ...OPENAI_HOSTED.map(
    (type): Accepted => [
      `a tool of OpenAI: ${type}`,
      'responses',
      { input: 'Hello', tools: [{ type }, { type: 'function', ...WEATHER }] },
      { tools: ['get_weather'], ignored: `tools.0 (${type})` },
    ],
  ),
  [
    'a conversation that another server has begun',
    'responses',
    {
      input: [
        user('First'),
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        { type: 'custom_tool_call', call_id: 'p1', name: 'apply_patch', input: '*** Begin' },
        { type: 'custom_tool_call_output', call_id: 'p1', output: 'Patched.' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] },
        user('Second'),
      ],
    },
    { has: ['*** Begin', 'Patched.', 'Done.', 'Second'] },
  ],
  [
    'a name of a type that no header could have',
    'responses',
    { input: 'Hello', tools: [{ type: 'über\nsearch' }] },
    { ignored: 'tools.0 (?ber?search)' },
  ],
]

clients(
  'what the clients send is accepted; what cannot be served is named in a header',
  withApi(async service => {
    for (const [name, path, body, expected] of ACCEPTED) {
      service.push({ text: 'Yes.' })
      const answer = await post(service, path, body)
      assert.is(answer.status, 200, `${name}: ${answer.text}`)
      assert.is(answer.headers['x-ignored-parameters'], expected.ignored, name)
      const asked = service.asked().at(-1)
      const sent = JSON.stringify(asked.messages)
      for (const words of expected.has ?? []) assert.ok(sent.includes(words), `${name}: ${words}`)
      const offered = namesIn(asked)
      for (const tool of expected.tools ?? []) assert.ok(offered.includes(tool), `${name}: ${tool}`)
      for (const tool of expected.noTools ?? [])
        assert.not.ok(offered.includes(tool), `${name}: ${tool}`)
    }
  }),
)

const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }
const item = (given: Body) => ({ input: [user('Hello'), given] })

const REFUSED: [path: string, body: Body, status: number, param: string][] = [
  ['messages', { messages: [{ role: 'robot', content: 'x' }] }, 400, 'messages.0.role'],
  ['messages', { messages: [{ role: 'system', content: 'Only this.' }] }, 400, 'messages'],
  [
    'messages',
    { messages: [...HELLO, { role: 'system', content: [{ type: 'image' }] }] },
    400,
    'messages.1.content',
  ],
  [
    'messages',
    { messages: [{ role: 'user', content: [{ type: 'document', source: pdf }] }] },
    400,
    'messages.0.content.0',
  ],
  [
    'messages',
    { messages: [{ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }] },
    400,
    'messages.0.content.0',
  ],
  ['messages', { messages: HELLO, mcp_servers: [{ url: 'x' }] }, 400, 'mcp_servers'],
  ['messages', { messages: HELLO, container: 'c' }, 400, 'container'],
  ['messages', { messages: HELLO, tools: [{ input_schema: {} }] }, 400, 'tools.0.name'],
  ['responses', { input: 'x', tools: [{ type: 'function' }] }, 400, 'tools.0.name'],
  ['responses', { input: 'x', tools: [{ type: 5 }] }, 400, 'tools.0.type'],
  ['responses', { input: 'x', prompt: { id: 'p' } }, 400, 'prompt'],
  ['responses', item({ type: 'something_new' }), 400, 'input.1'],
  ['responses', item({ type: 'custom_tool_call', name: 'x' }), 400, 'input.1'],
  ['responses', item({ type: 'item_reference', id: 'msg_0123abcd' }), 404, 'input.1'],
  ['responses', item({ type: 'item_reference', id: 'fc_0123abcd_0' }), 404, 'input.1'],
  ['responses', item({ type: 'item_reference', id: 'rs_1' }), 404, 'input.1'],
  ['responses', item({ type: 'item_reference', id: '../../etc' }), 404, 'input.1'],
  ['responses', item({ id: 'msg_0123abcd' }), 404, 'input.1'],
]

clients(
  'what cannot be answered honestly is refused, and the parameter named',
  withApi(async service => {
    for (const [path, body, status, param] of REFUSED) {
      const answer = await post(service, path, body)
      const words = `${JSON.stringify(body)} ${answer.text}`
      assert.is(answer.status, status, words)
      const { error } = answer.body
      if (path === 'messages') assert.is(error.type, 'invalid_request_error', words)
      else assert.is(error.param, param, words)
    }
    assert.is(service.asked().length, 0)
  }),
)

const TOOLS = [{ type: 'function' as const, strict: false, ...WEATHER }]
const reference = (id: string | undefined) => ({ type: 'item_reference' as const, id: id ?? '' })

clients(
  'items of stored responses are named instead of repeated, whole and streamed, and continue the same chat',
  withApi(
    async service => {
      const client = service.openai()
      const ask = (input: OpenAI.Responses.ResponseInput, more = {}) =>
        client.responses.create({ model: 'agent', input, tools: TOOLS, ...more })
      const first = await ask([user('Rome?')])
      const [message, call] = first.output
      assert.ok(message?.type === 'message' && call?.type === 'function_call')
      const output = { type: 'function_call_output' as const, call_id: call.call_id, output: '21' }
      const before = [user('Rome?'), reference(message.id), reference(call.id), output]
      const second = await ask(before)
      assert.is(second.output_text, 'Warm.')
      const third = await client.responses.create({
        model: 'agent',
        input: [...before, reference(second.output[0]?.id), user('And Oslo?')],
        tools: TOOLS,
        stream: true,
      })
      const events = await all(third)
      const added = events.flatMap(event =>
        event.type === 'response.output_item.added' ? [event.item] : [],
      )
      const done = events.at(-1)
      assert.ok(done?.type === 'response.completed')
      // The ids in the stream are those of the stored response.
      assert.equal(
        added.map(({ id }) => id),
        done.response.output.map(({ id }) => id),
      )
      assert.is((await service.sessions()).length, 1)
      // The same call id in another answer is another item.
      assert.is.not(added.at(-1)?.id, call.id)

      const stranger = await service.makeToken()
      const body = { model: 'agent', input: [user('Hi'), reference(message.id), user('Go on')] }
      const headers = { authorization: `Bearer ${stranger.secret}` }
      assert.is((await service.app.post('/v1/responses', body, { headers })).status, 404)
      await client.responses.delete(first.id)
      assert.is((await post(service, 'responses', body)).status, 404)
    },
    { text: 'I ask.', toolCalls: [weatherCall('w1', 'Rome')] },
    { text: 'Warm.' },
    { text: 'I ask again.', toolCalls: [weatherCall('w1', 'Oslo')] },
  ),
)

const FAILING = [
  { text: 'I look.', toolCalls: [{ id: 'r', name: 'read_file', arguments: { path: 'none' } }] },
  { status: 401, body: { error: { message: 'bad key' } } },
]

clients(
  'a stream that fails after its first text ends with an event that each client raises',
  withApi(async ({ openai, anthropic, push, app, headers }) => {
    const model = 'agent'
    const tries: (() => Promise<unknown>)[] = [
      async () =>
        all(await openai().chat.completions.create({ model, messages: HELLO, stream: true })),
      async () => all(await openai().responses.create({ model, input: 'Hello', stream: true })),
      async () => openai().responses.stream({ model, input: 'Hello' }).finalResponse(),
      async () =>
        anthropic().messages.stream({ model, max_tokens: 9, messages: HELLO }).finalMessage(),
    ]
    for (const attempt of tries) {
      push(...FAILING)
      const raised = await attempt().then(
        () => null,
        (error: unknown) => error,
      )
      assert.ok(raised instanceof Error, String(attempt))
    }
    push(...FAILING)
    const { text: frames } = await app.post(
      '/v1/responses',
      { model, input: 'Hello', stream: true },
      { headers },
    )
    const types = [...frames.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)
    assert.equal(types.slice(-2), ['error', 'response.failed'])
  }),
)

clients(
  'tokens are counted of what Claude Code sends, with a beta in the address',
  withApi(async ({ app, anthropic, token }) => {
    const [, , body] = ACCEPTED[0]!
    const headers = { 'x-api-key': token.secret, 'anthropic-version': '2023-06-01' }
    const counted = await app.post(
      '/v1/messages/count_tokens?beta=true',
      { model: 'agent', ...body },
      { headers },
    )
    assert.is(counted.status, 200, counted.text)
    assert.ok(counted.body.input_tokens > 20)
    const { input_tokens } = await anthropic().messages.countTokens({
      model: 'agent',
      messages: HELLO,
    })
    assert.ok(input_tokens > 0)
  }),
)

clients.run()
