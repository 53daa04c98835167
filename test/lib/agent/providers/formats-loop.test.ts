/** The same unusual conversations for every wire format, through the loop. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LoopMessage } from '../../../../lib/agent/types.ts'
import { testCall } from '../../../../lib/models/test-call.ts'
import type { Message } from '../../../../lib/schema/message.ts'
import { makeTitle } from '../../../../lib/turns/generate-title.ts'
import { ENCRYPTED, SIGNATURE } from '../../../_formats.ts'
import { FORMATS, said, speaker, withServer } from './_matrix.ts'

for (const format of FORMATS) {
  const test = suite(`loop over ${format.apiMode}`)
  const { endpointAt, converse } = speaker(format)

  test('usage counts the whole prompt and reports cached tokens', () =>
    withServer(
      [
        {
          text: 'x',
          usage: {
            prompt_tokens: 100,
            completion_tokens: 7,
            prompt_tokens_details: { cached_tokens: 60 },
          },
        },
      ],
      async server => {
        const price = { input: 10, output: 100, cacheRead: 1 }
        const { outcome } = await converse(server, { endpoint: endpointAt(server, { price }) })
        assert.is(outcome.usage.last_prompt_tokens, 100)
        assert.is(outcome.usage.output_tokens, 7)
        const cached = format.isNative ? undefined : 60
        assert.equal([outcome.usage.input_tokens, outcome.usage.cache_read_tokens], [100, cached])
        const input = format.isNative ? 100 * 10 : 40 * 10 + 60 * 1
        assert.is(outcome.usage.estimated_cost, (input + 7 * 100) / 1e6)
      },
    ))

  test('shows a refusal and ends the turn', () =>
    withServer([{ refusal: 'I would rather not.', finish: 'content_filter' }], async server => {
      const { outcome, messages } = await converse(server)
      assert.is(outcome.status, 'finished')
      assert.is(messages[0]?.content, 'I would rather not.')
      // Ollama does not name a filter.
      assert.is(messages[0]?.refusal !== undefined, format.isNative !== true)
    }))

  test('adds missing results to the history and sanitizes ids of other providers', () =>
    withServer([{ text: 'ok' }], async server => {
      const history: LoopMessage[] = [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: '',
          tool_calls: [
            {
              id: 'functions.echo:0',
              type: 'function',
              function: { name: 'echo', arguments: '{}' },
            },
          ],
        },
        { role: 'user', content: 'again' },
      ]
      assert.is((await converse(server, { history })).outcome.text, 'ok')
      const { body } = server.requests[0]!
      const [id] = format.callsSent(body)
      assert.equal(format.resultsSent(body), [id])
      if (!['chat_completions', 'ollama_chat'].includes(format.apiMode))
        assert.match(id!, /^[\w-]+$/)
    }))

  test('reasoning is no part of the transcript, from which the next turn is built', () =>
    withServer(
      [
        {
          reasoning: ['I shall ', 'look.'],
          toolCalls: [{ id: 'a', name: 'echo', arguments: { say: '1' } }],
        },
        { text: 'done' },
        { text: 'next' },
      ],
      async server => {
        const { messages } = await converse(server)
        assert.is(messages[0]?.reasoning, 'I shall look.')
        const allowed = ['id', 'role', 'content', 'tool_calls', 'tool_call_id', 'name', 'refusal']
        for (const key of messages.flatMap(message => Object.keys(message)))
          assert.ok([...allowed, 'reasoning', 'model', 'provider'].includes(key), key)
        const sent = JSON.stringify(server.requests[1]!.body)
        assert.not.match(sent, 'providerState')
        const kept = { anthropic_messages: SIGNATURE, codex_responses: ENCRYPTED }
        assert.match(sent, kept[format.apiMode as keyof typeof kept] ?? 'I shall look.')
        const wire = messages.map(({ reasoning: _r, model: _m, provider: _p, ...rest }) => rest)
        const more = { role: 'user' as const, content: 'more' }
        await converse(server, { history: [{ role: 'user', content: 'hello' }, ...wire, more] })
        const later = JSON.stringify(server.requests[2]!.body)
        for (const state of [SIGNATURE, ENCRYPTED, 'I shall look']) assert.not.match(later, state)
      },
    ))

  test('a key test uses a few tokens and no thinking', () =>
    withServer(
      [{ status: 401, body: said('authentication_error', 'bad key') }, { text: ['O', 'K'] }],
      async server => {
        const providers = { [format.apiMode]: format.create() }
        const asked = { provider: 'custom', model: format.model }
        const endpoint = () => endpointAt(server, { effort: 'high' })
        const never = new AbortController().signal
        const wrong = await testCall(providers, asked, endpoint, never)
        assert.equal([wrong.ok, wrong.type], [false, 'auth_mismatch'])
        assert.is((await testCall(providers, asked, endpoint, never)).ok, true)
        const { body } = server.requests[1]!
        assert.is(body.max_tokens ?? body.max_output_tokens ?? body.options.num_predict, 64)
        if (format.isNative) assert.is(body.think, false)
        assert.equal([body.thinking, body.output_config], [undefined, undefined])
        assert.ok(!body.reasoning || body.reasoning.effort === 'none')
      },
    ))

  test('a title', () =>
    withServer([{ text: '"A short title"' }], async server => {
      const exchange = [
        { role: 'user' as const, content: 'What is up?' },
        { role: 'assistant' as const, content: 'Nothing much.' },
      ]
      const made = await makeTitle(
        endpointAt(server, { effort: 'high' }),
        { [format.apiMode]: format.create() },
        exchange as Message[],
        new AbortController().signal,
      )
      assert.equal(made, { title: 'A short title', status: 'llm' })
      const sent = JSON.stringify(server.requests[0]!.body)
      assert.match(sent, 'three to seven words')
      assert.not.match(sent, 'cache_control')
    }))

  test.run()
}
