/** Streams that break anywhere, in any way: the step is repeated, no text appears twice, no tool runs twice. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import type { AgentEvent, Tool } from '../../../lib/agent/types.ts'
import { createProvider, frame, type Step, streamFor } from '../../_provider.ts'
import { run } from '../../lib/agent/_run.ts'
import { type Body, FORMATS, type Format } from '../../lib/agent/providers/_matrix.ts'
import { createTestClock } from '../../_clock.ts'

const FULL = process.env.PROOF === 'full'

/** Five steps with calls, then the end. */
const STEPS: Step[] = [
  ...[1, 2, 3, 4, 5].map(
    (n): Step => ({
      reasoning: ['I think ', `of ${n}.`],
      text: [`Step ${n}: `, 'Grüße ', '🦊 and so on. '],
      toolCalls: [
        { id: `a${n}`, name: 'count', arguments: { say: `first ${n}` } },
        { id: `b${n}`, name: 'count', arguments: { say: `second ${n}` } },
      ],
    }),
  ),
  { reasoning: 'Last.', text: ['All ', 'is ', 'done.'] },
]

type Breaking = { step: number; broken: (step: Step) => Step; times?: number; isSilent?: boolean }

/** A whole turn in which one step fails first. `stepOf` counts pairs of results in a request. */
const turn = async (
  format: Format,
  { step: at, broken, times = 1, isSilent = false }: Breaking,
) => {
  const server = await createProvider()
  let left = times
  server.otherwise = (body: Body): Step => {
    const step = format.resultsSent(body).length / 2
    const answer = STEPS[step] ?? {}
    return step === at && left-- > 0 ? broken(answer) : answer
  }
  const ran: string[] = []
  const count: Tool = {
    name: 'count',
    summary: 'Counts.',
    input: z.object({ say: z.string() }),
    kind: 'execute',
    preview: () => '',
    run(_, input) {
      const { say } = input as { say: string }
      ran.push(say)
      return { content: JSON.stringify({ say }) }
    },
  }
  try {
    const clock = createTestClock()
    const options = isSilent ? { clock } : {}
    let isOver = false
    /** The server says nothing more in this step. */
    const endSilence = ({ type }: AgentEvent): void => {
      if (!isSilent || isOver || type !== 'token' || server.requests.length <= at) return
      isOver = true
      void clock.advance(60_000)
    }
    const given = {
      endpoint: {
        provider: 'custom',
        model: format.model,
        apiMode: format.apiMode,
        baseUrl: server.url,
        apiKey: null,
        contextLength: 100_000,
        ...(isSilent && { staleTimeoutMs: 60_000 }),
      },
      tools: [count],
      providers: { [format.apiMode]: format.create(options) },
    }
    const result = await run(format.create(), given, endSilence)
    return { ...result, ran, asked: server.requests.length }
  } finally {
    await server.close()
  }
}

/** The final text of each message, from deltas and retries alone. */
const shown = (events: AgentEvent[]): string[] => {
  const said = new Map<string, string>()
  for (const event of events) {
    if (event.type === 'retry') said.delete(event.messageId)
    if (event.type === 'token')
      said.set(event.messageId, (said.get(event.messageId) ?? '') + event.text)
  }
  return [...said.values()]
}

const EXPECTED = STEPS.map(({ text }) => (text as string[]).join(''))

const check = (
  what: string,
  { outcome, messages, events, ran }: Awaited<ReturnType<typeof turn>>,
) => {
  assert.is(outcome.failure?.message, undefined, what)
  const said = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content)
  assert.equal(
    said.map(content => String(content).trim()),
    EXPECTED.map(text => text.trim()),
    what,
  )
  assert.equal(shown(events), EXPECTED, what)
  assert.equal(
    ran,
    [1, 2, 3, 4, 5].flatMap(n => [`first ${n}`, `second ${n}`]),
    what,
  )
}

/** One position of each kind; every seventh of all in the full proof. */
const positions = (format: Format, step: Step): number[] => {
  const bytes = Buffer.from(streamFor(format.path, step))
  const text = bytes.toString('latin1')
  if (FULL) return Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => at * 7)
  const fox = bytes.indexOf(Buffer.from('🦊'))
  const inArguments = text.lastIndexOf(step.toolCalls ? 'second' : 'done')
  const between = text.indexOf('\n\n', text.length / 2) + 2
  const beforeEnd = text.lastIndexOf('\n\n', text.length - 120) + 2
  return [0, 1, fox + 2, inArguments + 3, between, between - 1, beforeEnd].filter(at => at >= 0)
}

const error = (type: string, message: string) => ({ type: 'error', error: { type, message } })
const inChat = { error: { message: 'Upstream broke', code: 502 } }
const inResponses = {
  type: 'response.failed',
  response: { status: 'failed', error: { code: 'server_error', message: 'Sorry' } },
}

for (const format of FORMATS) {
  const test = suite(`dropped streams over ${format.apiMode}`)

  for (const step of [0, 1, 4, 5])
    test(`cut anywhere in step ${step + 1}`, async () => {
      for (const keep of positions(format, STEPS[step]!)) {
        const result = await turn(format, {
          step,
          broken: whole => ({ ...whole, keep, end: 'cut' }),
        })
        check(`${keep} bytes`, result)
      }
    })

  const half = (step: Step) => Math.floor(Buffer.from(streamFor(format.path, step)).length / 2)

  for (const [name, then] of [
    ['overloaded', frame(error('overloaded_error', 'Overloaded'))],
    ['an error of the server', frame(error('api_error', 'Internal server error'))],
    ['an error of what stands behind it', frame(inChat)],
    ['a failed response', frame(inResponses)],
    ['half an event', 'data: {"choices":[{"delta":{"con\n\n'],
  ] as const)
    test(`${name}, after words`, async () => {
      if (name === 'a failed response' && format.apiMode !== 'codex_responses') return
      for (const step of [0, 1, 5]) {
        const result = await turn(format, {
          step,
          broken: whole => {
            const text = streamFor(format.path, whole)
            const keep = Buffer.byteLength(text.slice(0, text.indexOf('\n\n', text.length / 2) + 2))
            return { ...whole, keep, then }
          },
        })
        check(`step ${step}`, result)
      }
    })

  test('silence after text', async () => {
    const result = await turn(format, {
      step: 1,
      broken: whole => ({ ...whole, keep: half(whole), end: 'body' }),
      isSilent: true,
    })
    check('silent', result)
  })

  test('treats a cleanly closed stream without an end event as truncated when the endpoint usually sends one', async () => {
    for (const step of [1, 5]) {
      const whole = STEPS[step]!
      const open = { ...whole, finish: null, done: false } as const
      const result = await turn(format, { step, broken: () => open })
      check('nothing open', result)
      assert.ok(result.events.some(({ type }) => type === 'retry'))
      check('half', await turn(format, { step, broken: all => ({ ...all, keep: half(all) }) }))
    }
  })

  test('repeated failures with a rejection in between', async () => {
    let round = 0
    const result = await turn(format, {
      step: 1,
      times: 5,
      broken: whole =>
        ++round % 2 === 0
          ? { status: 529, body: error('overloaded_error', 'Overloaded') }
          : { ...whole, keep: half(whole), end: 'cut' },
    })
    check('five', result)
    assert.equal(result.waits, [2000, 4000, 8000, 16_000, 32_000])
    const retries = result.events.filter(event => event.type === 'retry')
    assert.equal(
      retries.map(({ attempt }) => attempt),
      [1, 2, 3, 4, 5],
    )
  })

  test('a used-up budget fails the turn and keeps results and the last text', async () => {
    const { outcome, events, messages, ran } = await turn(format, {
      step: 1,
      times: 99,
      broken: whole => ({ ...whole, keep: half(whole), end: 'cut' }),
    })
    assert.equal([outcome.status, outcome.failure?.type], ['failed', 'network'])
    assert.equal(ran, ['first 1', 'second 1'])
    assert.is(messages.length, 3)
    assert.match(shown(events).at(-1) ?? '', 'Step 2: ')
  })

  test.run()
}

const small = suite('servers without an end event')

for (const format of FORMATS.filter(({ isNative }) => !isNative))
  small(`their answers are whole all the same: ${format.apiMode}`, async () => {
    const server = await createProvider()
    server.otherwise = (body: Body): Step => ({
      ...STEPS[format.resultsSent(body).length / 2],
      finish: null,
      done: false,
    })
    const tool: Tool = {
      name: 'count',
      summary: 'Counts.',
      input: z.object({ say: z.string() }),
      kind: 'execute',
      preview: () => '',
      run: () => ({ content: '{}' }),
    }
    const provider = format.create()
    const { outcome } = await run(provider, {
      endpoint: {
        provider: 'custom',
        model: format.model,
        apiMode: format.apiMode,
        baseUrl: server.url,
        apiKey: null,
        contextLength: 100_000,
      },
      tools: [tool],
      providers: { [format.apiMode]: provider },
    })
    await server.close()
    assert.equal([outcome.text, outcome.steps], ['All is done.', 6])
    assert.is(server.requests.length, 6)
  })

small.run()
