/** The last call of a turn that has used its steps: the tools are described, and none may be called. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LoopMessage } from '../../../../lib/agent/types.ts'
import { createProvider, type Step } from '../../../_provider.ts'
import { type Body, FORMATS, type Format, speaker } from './_matrix.ts'

const CALL: Step = { toolCalls: [{ id: 'c1', name: 'echo', arguments: { say: 'hi' } }] }
const DONE: Step = { text: 'done' }
const refuse = (message: string, more: object = {}): Step => ({
  status: 400,
  body: { error: { message, ...more } },
})

const hasCalls = (format: Format, body: Body): boolean => format.callsSent(body).length > 0
const choice = (body: Body): unknown => body.tool_choice?.type ?? body.tool_choice

type Server = {
  name: string
  /** The answer to the last call and to what follows it. */
  answer: (body: Body, format: Format) => Step
  /** Requests of the whole turn. */
  requests: number
  only?: Format['apiMode'][]
}

const SERVERS: Server[] = [
  {
    name: 'Bedrock needs the tools of the history',
    answer: body =>
      body.tools
        ? DONE
        : refuse(
            'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
          ),
    requests: 2,
  },
  {
    name: 'LiteLLM needs them, too',
    answer: body =>
      body.tools
        ? DONE
        : refuse(
            'litellm.UnsupportedParamsError: Anthropic expects the `tools=` param to be passed in, when there are tool calls in the history.',
          ),
    requests: 2,
  },
  {
    name: 'a server that knows only the choice `auto`',
    answer: (body, format) =>
      choice(body) === 'none'
        ? refuse("tool_choice only supports 'auto'", { param: 'tool_choice' })
        : format.apiMode === 'anthropic_messages' || !body.tools
          ? DONE
          : refuse('a tool would be called'),
    requests: 3,
    only: ['chat_completions', 'codex_responses', 'anthropic_messages'],
  },
  {
    name: 'the same without a parameter',
    answer: body => (choice(body) === 'none' ? refuse("Unknown parameter: 'tool_choice'.") : DONE),
    requests: 3,
    only: ['chat_completions', 'codex_responses', 'anthropic_messages'],
  },
  {
    name: 'Groq, whose model calls a tool',
    answer: body =>
      body.tools
        ? refuse('Tool choice is none, but model called a tool', { code: 'tool_use_failed' })
        : DONE,
    requests: 3,
    only: ['chat_completions'],
  },
  {
    name: 'a server that takes neither the choice nor calls without tools',
    answer: (body, format) => {
      if (choice(body) === 'none') return refuse('tool_choice is not supported')
      return hasCalls(format, body) && !body.tools
        ? refuse('The toolConfig field must be defined when using toolUse')
        : DONE
    },
    requests: 3,
    only: ['chat_completions'],
  },
  {
    name: 'a model that calls a tool all the same',
    answer: (body, format) =>
      (format.apiMode === 'anthropic_messages' ? body.tools?.[0].description : body.tools)
        ? { toolCalls: [{ id: 'c2', name: 'echo', arguments: { say: 'again' } }] }
        : DONE,
    requests: 3,
  },
]

const test = suite('step limit')

for (const format of FORMATS)
  for (const { name, answer, requests, only } of SERVERS)
    if (!only || only.includes(format.apiMode))
      test(`${format.apiMode}: ${name}`, async () => {
        await using server = await createProvider(CALL)
        server.otherwise = body => answer(body, format)
        const { outcome, messages } = await speaker(format).converse(server, { maxSteps: 1 })
        assert.is(outcome.failure?.message, undefined)
        assert.is(outcome.text, 'done')
        assert.is(server.requests.length, requests)
        // The cached prefix of the prompt.
        const [first, second] = server.requests.map(({ body }) => body)
        assert.equal(second.tools, first.tools)
        assert.is(choice(second), format.isNative ? undefined : 'none')
        assert.equal(messages.filter(({ tool_calls }) => tool_calls).length, 1, 'calls recorded')
      })

const HISTORY: LoopMessage[] = [
  { role: 'user', content: 'go' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 'o', type: 'function', function: { name: 'echo', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'o', name: 'echo', content: 'what it said' },
  { role: 'user', content: 'and a question beside it' },
]
for (const message of [
  'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
  'litellm.UnsupportedParamsError: Anthropic expects the `tools=` param to be passed in.',
  'tools must be provided when the messages contain tool_calls',
])
  test(`a chat without tools whose history has calls: ${message}`, async () => {
    const [format] = FORMATS
    if (!format) throw new Error('no format')
    await using server = await createProvider()
    server.otherwise = body => (hasCalls(format, body) ? refuse(message) : DONE)
    const { outcome } = await speaker(format).converse(server, { history: HISTORY, tools: [] })
    assert.is(outcome.text, 'done')
    assert.match(JSON.stringify(server.requests.at(-1)?.body), 'what it said')
  })

test('anthropic_messages: a chat without tools whose history has calls, and a server without tool_choice', async () => {
  const format = FORMATS.find(({ apiMode }) => apiMode === 'anthropic_messages')
  if (!format) throw new Error('no format')
  await using server = await createProvider()
  server.otherwise = body =>
    body.tool_choice ? refuse('tool_choice: Extra inputs are not permitted') : DONE
  const { outcome } = await speaker(format).converse(server, { history: HISTORY, tools: [] })
  assert.is(outcome.text, 'done')
})

test.run()
