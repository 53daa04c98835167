/** Every oddity of real servers, over real HTTP and through the loop: see `_quirks.ts` and `_quirks-blocks.ts` for the cases. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Tool } from '../../../../lib/agent/types.ts'
import { createProvider, streamFor } from '../../../_provider.ts'
import { echo, FORMATS, type Format, speaker, textOf, withServer } from './_matrix.ts'
import {
  type Case,
  OF_ANY_FORMAT,
  OF_CHAT,
  OF_FILTERS,
  OF_THINKERS,
  type Result,
} from './_quirks.ts'
import { OF_ANTHROPIC, OF_RESPONSES } from './_quirks-blocks.ts'
import { createTestClock } from '../../../_clock.ts'
import { until } from '../../../_wait.ts'

const OWN: Partial<Record<Format['apiMode'], Record<string, Case>>> = {
  chat_completions: { ...OF_CHAT, ...OF_FILTERS, ...OF_THINKERS },
  anthropic_messages: { ...OF_ANTHROPIC, ...OF_FILTERS },
  codex_responses: { ...OF_RESPONSES, ...OF_FILTERS },
  ollama_chat: OF_THINKERS,
}

for (const format of FORMATS) {
  const test = suite(`quirks over ${format.apiMode}`)
  const { ask, converse } = speaker(format)

  for (const [name, { server: given, result: wanted }] of Object.entries({
    ...OF_ANY_FORMAT,
    ...OWN[format.apiMode],
  }))
    test(name, () =>
      withServer(typeof given === 'function' ? given(format) : given, async server => {
        const ran: string[] = []
        const tool: Tool = {
          ...echo,
          kind: 'execute',
          run(_, input) {
            ran.push(String((input as { say: unknown }).say))
            return { content: JSON.stringify(input) }
          },
        }
        const { outcome, messages, events, waits } = await converse(server, { tools: [tool] })
        const last = server.requests.at(-1)?.body
        const result: Result = {
          // Without the note of an answer that was cut.
          text: events.some(event => event.type === 'warning' && event.kind === 'cut')
            ? String(messages.at(-1)?.content)
            : outcome.text,
          reasoning: messages.map(({ reasoning = '' }) => reasoning).join(''),
          content: String(messages.at(-1)?.content),
          ran,
          waits,
          requests: server.requests.length,
          warnings: events.flatMap(event => (event.type === 'warning' ? [event.kind] : [])),
          advice: `${outcome.failure?.hint}`,
        }
        const { failed, sent, expected, ...same } = wanted
        assert.is(outcome.failure?.type, failed?.[0], `${outcome.failure?.message}`)
        if (failed) assert.match(`${outcome.failure?.message}`, failed[1])
        for (const key of Object.keys(same) as (keyof typeof same)[])
          assert.equal(result[key], same[key], key)
        if (sent) assert.equal(sent(last), expected)
        // What is sent back has one result for each call, with ids that are not used twice.
        for (const { body } of server.requests) {
          assert.equal(format.resultsSent(body), format.callsSent(body))
          assert.is(new Set(format.callsSent(body)).size, format.callsSent(body).length)
        }
      }),
    )

  if (!format.isNative)
    test('comments alone keep a slow server connected', async () => {
      // Longer than the allowed silence, in steps that are shorter.
      const clock = createTestClock()
      const server = createServer(async (_, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        for (let at = 0; at < 3; at++) {
          res.write(': keep-alive\n\n')
          await until(() => clock.waiting()[0] === 500)
          await clock.advance(400)
        }
        res.end(streamFor(format.path, { text: 'done' }))
      })
      await new Promise<void>(ready => server.listen(0, '127.0.0.1', ready))
      const { port } = server.address() as AddressInfo
      try {
        const deltas = await ask({ url: `http://127.0.0.1:${port}/v1` } as never, {
          options: { clock },
          extra: { staleTimeoutMs: 500 },
        })
        assert.is(textOf(deltas), 'done')
      } finally {
        server.close()
      }
    })

  test('a redirect never takes the key to another host', () =>
    withServer([], async server => {
      const other = await createProvider({ text: 'stolen' })
      try {
        for (const status of [301, 302, 307, 308])
          server.push({ status, headers: { location: `${other.url}/x` } })
        for (let round = 0; round < 4; round++)
          assert.match(`${(await converse(server)).outcome.failure?.message}`, 'redirects to')
        assert.is(other.requests.length, 0)
      } finally {
        await other.close()
      }
    }))

  test.run()
}
