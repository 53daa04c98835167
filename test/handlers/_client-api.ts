/** What the tests of the client API share: a service with a scripted model, a token, and the clients from npm. */
import { type Clock, systemClock } from '../../lib/base/clock.ts'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Step } from '../_provider.ts'
import { startChatAt } from './_chat.ts'
import { createTestClock } from '../_clock.ts'

/** Answers the requests of turns in order. Requests for a title come in between, at any time. */
export const startApi = (...script: Step[]) => startApiAt(systemClock, ...script)

/** The same, at the time of this clock. */
export const startApiAt = async (clock: Clock, ...script: Step[]) => {
  const chat = await startChatAt(clock)
  const { app, provider } = chat
  const steps = [...script]
  const isTitle = (body: unknown) => JSON.stringify(body).includes('Give this conversation a title')
  provider.otherwise = body =>
    isTitle(body)
      ? { text: 'A title' }
      : (steps.shift() ?? { status: 400, body: { error: { message: 'The script has ended.' } } })
  await app.post('/api/tokens/enable', { enabled: true })

  const makeToken = async (given: Record<string, unknown> = {}) => {
    const { status, body } = await app.post('/api/tokens/create', { name: 'test', ...given })
    if (status !== 200) throw new Error(`tokens/create answered ${status} ${JSON.stringify(body)}`)
    return { secret: body.secret as string, id: body.tokens.at(-1).id as string }
  }
  const token = await makeToken()
  const sessions = async (): Promise<Record<string, unknown>[]> =>
    (await app.get('/api/sessions')).body.sessions

  return {
    ...chat,
    token,
    makeToken,
    push: (...more: Step[]) => void steps.push(...more),
    /** Bodies of the requests of turns. */
    asked: () => provider.requests.map(({ body }) => body).filter(body => !isTitle(body)),
    openai: (key = token.secret) =>
      new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 }),
    anthropic: (key = token.secret) =>
      new Anthropic({ apiKey: key, baseURL: app.url, maxRetries: 0 }),
    headers: { authorization: `Bearer ${token.secret}` },
    sessions,
    /** Ends the wait before the next attempt of the turn that runs, as the user can. */
    async retryNow() {
      for (const { session_id } of await sessions()) {
        const { live } = (await app.get(`/api/session?session_id=${session_id}`)).body.session
        if (!live) continue
        const { stream_id } = live
        await chat.follow(stream_id, 'retry')
        const { body } = await app.post('/api/chat/retry', { stream_id })
        if (!body.retried) throw new Error(body.message)
        return
      }
      throw new Error('No turn runs.')
    },
  }
}

export type Api = Awaited<ReturnType<typeof startApi>>

/** A test with a service of its own, which answers turns with this script. */
export const withApi = (run: (service: Api) => Promise<void>, ...script: Step[]) =>
  withApiAt(systemClock, run, ...script)

/** The same with a clock that does not move: the wait before a retry ends by `retryNow` alone. */
export const withStillApi = (run: (service: Api) => Promise<void>, ...script: Step[]) =>
  withApiAt(createTestClock(Date.now()), run, ...script)

const withApiAt =
  (clock: Clock, run: (service: Api) => Promise<void>, ...script: Step[]) =>
  async () => {
    await using service = await startApiAt(clock, ...script)
    await run(service)
  }

/** The function that the tests offer to the model, in the form of each API. */
export const WEATHER = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
} as const

export const weatherCall = (id: string, city: string) => ({
  id,
  name: 'get_weather',
  arguments: { city },
})

/** Every item of a stream. */
export const all = async <T>(stream: AsyncIterable<T>): Promise<T[]> => {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

export const user = (content: string) => ({ role: 'user' as const, content })
export const assistant = (content: string) => ({ role: 'assistant' as const, content })

/** Sessions that turns of the API created. */
export const chats = async ({ sessions }: Awaited<ReturnType<typeof startApi>>) =>
  (await sessions()).filter(({ source_tag }) => source_tag === 'api')

/** A command that needs approval. */
export const removes = {
  toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command: 'rm -rf victim' } }],
}
