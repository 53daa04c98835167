/** The client API with the clients from npm: models, plain and streamed turns, functions of the client, continuation, errors. */
import OpenAI from 'openai'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { all, withApi, WEATHER, weatherCall } from './_client-api.ts'

const api = suite('client API')

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 7,
  prompt_tokens_details: { cached_tokens: 60 },
}

api(
  'chat completions: answers in the form that the client expects, with usage',
  withApi(
    async ({ openai, sessions, asked, provider }) => {
      const done = await openai().chat.completions.create({
        model: 'agent',
        messages: [
          { role: 'system', content: 'Answer in rhymes.' },
          { role: 'user', content: 'Hello' },
        ],
      })
      assert.is(done.choices[0]?.message.content, 'Good day.')
      assert.is(done.choices[0]?.finish_reason, 'stop')
      assert.is(done.object, 'chat.completion')
      assert.is(done.model, 'agent')
      assert.equal(done.usage, {
        prompt_tokens: 100,
        completion_tokens: 7,
        total_tokens: 107,
        prompt_tokens_details: { cached_tokens: 60 },
      })
      const [request] = asked()
      assert.match(request.messages[0].content, /Answer in rhymes\./)
      const [row] = await sessions()
      assert.is(row?.source_tag, 'api')
      assert.is(row?.message_count, 2)
      // No model call for the title.
      assert.is(row?.title, 'Hello')
      assert.is(provider.requests.length, 1)
    },
    { text: ['Good ', 'day.'], usage: USAGE },
  ),
)

api(
  'messages: answers plain and streamed, with cached tokens apart from the input',
  withApi(
    async ({ anthropic }) => {
      const plain = await anthropic().messages.create({
        model: 'agent',
        max_tokens: 100,
        system: 'Be brief.',
        messages: [{ role: 'user', content: 'Hello' }],
      })
      assert.equal(plain.content, [{ type: 'text', text: 'Good day.' }])
      assert.is(plain.stop_reason, 'end_turn')
      assert.is(plain.usage.input_tokens, 40)
      assert.is(plain.usage.cache_read_input_tokens, 60)
      const stream = anthropic().messages.stream({
        model: 'agent',
        max_tokens: 100,
        messages: [{ role: 'user', content: 'Hello again' }],
      })
      const final = await stream.finalMessage()
      assert.equal(final.content, [{ type: 'text', text: 'And again.' }])
      assert.is(final.stop_reason, 'end_turn')
      assert.is(final.usage.output_tokens, 7)
    },
    { text: 'Good day.', usage: USAGE },
    { text: ['And ', 'again.'], usage: USAGE },
  ),
)

api(
  'responses: answers plain and streamed, can be fetched, continued and deleted',
  withApi(
    async ({ openai, sessions, asked }) => {
      const client = openai()
      const first = await client.responses.create({ model: 'agent', input: 'Hello' })
      assert.is(first.output_text, 'Good day.')
      assert.is(first.status, 'completed')
      assert.is(first.usage?.input_tokens_details.cached_tokens, 60)
      const stream = await client.responses.create({
        model: 'agent',
        input: 'And then?',
        previous_response_id: first.id,
        stream: true,
      })
      const events = await all(stream)
      assert.equal(
        events.map(event => event.sequence_number),
        events.map((_, at) => at),
      )
      assert.equal(
        events.map(({ type }) => type.replace('response.', '')),
        [
          'created',
          'in_progress',
          'output_item.added',
          'content_part.added',
          'output_text.delta',
          'output_text.delta',
          'output_text.done',
          'content_part.done',
          'output_item.done',
          'completed',
        ],
      )
      const last = events.at(-1)
      assert.ok(last?.type === 'response.completed')
      assert.is((await sessions()).length, 1)
      assert.is(asked()[1].messages.length, 4)
      const again = await client.responses.retrieve(last.response.id)
      assert.is(again.output_text ?? '', 'That was it.')
      await client.responses.delete(last.response.id)
      await client.responses.retrieve(last.response.id).then(
        () => assert.unreachable(),
        error => assert.ok(error instanceof OpenAI.NotFoundError),
      )
    },
    { text: 'Good day.', usage: USAGE },
    { text: ['That ', 'was it.'] },
  ),
)

const TOOLS = [{ type: 'function' as const, function: WEATHER }]

api(
  'chat completions: a function of the client ends the response, and its result continues the same chat',
  withApi(
    async ({ openai, sessions, asked, messages: transcript }) => {
      const client = openai()
      const history: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'user', content: 'Weather in Rome and Oslo?' },
      ]
      const first = await client.chat.completions.create({
        model: 'agent',
        messages: history,
        tools: TOOLS,
      })
      const [choice] = first.choices
      assert.is(choice?.finish_reason, 'tool_calls')
      const calls = choice?.message.tool_calls ?? []
      assert.equal(
        calls.map(call => call.type === 'function' && call.function.arguments),
        ['{"city":"Rome"}', '{"city":"Oslo"}'],
      )
      // Our own tools are described beside it.
      const described = asked()[0].tools.map(
        (tool: { function: { name: string } }) => tool.function.name,
      )
      assert.ok(described.includes('read_file') && described.includes('get_weather'))
      history.push(choice!.message)
      for (const [at, call] of calls.entries())
        history.push({ role: 'tool', tool_call_id: call.id, content: `${at + 20} degrees` })
      const second = await client.chat.completions.create({
        model: 'agent',
        messages: history,
        tools: TOOLS,
        stream: true,
      })
      const chunks = await all(second)
      assert.is(
        chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''),
        'Warm, and less warm.',
      )
      const rows = await sessions()
      assert.is(rows.length, 1)
      const stored = await transcript(String(rows[0]?.session_id))
      assert.equal(
        stored.map(({ role }) => role),
        ['user', 'assistant', 'tool', 'tool', 'tool', 'assistant'],
      )
      // The prefix of the first request is unchanged, so that the provider's cache holds.
      const [one, two] = asked()
      assert.equal(two.messages.slice(0, one.messages.length), one.messages)
      assert.equal(two.tools, one.tools)
    },
    {
      toolCalls: [
        weatherCall('w1', 'Rome'),
        { id: 'own', name: 'read_file', arguments: { path: 'missing.txt' } },
        weatherCall('w2', 'Oslo'),
      ],
    },
    { text: 'Warm, and less warm.' },
  ),
)

api.run()
