/** What the proofs of a cluster share: a real PostgreSQL, services on directories of their own, and chats with many tool calls. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { type SpawnedApp, spawnApp } from '../../_app.ts'
import { startPostgres } from '../../_postgres.ts'
import { startService } from '../../../build/start-program.ts'
import { createProvider, type Recorded, type Step } from '../../_provider.ts'
import { until } from '../../_wait.ts'

/** A standby starts when the owner ends: on a busy machine, several rounds later. */
export const STANDBY_MS = 900_000

/** Repeatable chance: a failure must be able to happen again. */
export const createDice = (seed: number) => {
  let state = seed
  return (sides: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state % sides
  }
}

const words = Array.from({ length: 12 }, (_, i) => `word${i} `)
export const steps = (): Step[] => [
  ...Array.from({ length: 6 }, (_, round) => ({
    text: words,
    toolCalls: Array.from({ length: 3 }, (_, i) => ({
      id: `r${round}c${i}`,
      name: 'terminal',
      arguments: { command: `echo ${round}-${i}` },
    })),
    portion: 200,
  })),
  { text: ['The', ' end.'] },
]

export type Event = { id?: string; event: string; data: Record<string, unknown> }
export type Message = {
  id: string
  role: string
  content: string
  tool_call_id?: string
  tool_calls?: { id: string }[]
}

export const startAll = async (extra: Record<string, string> = {}) => {
  const db = await startPostgres()
  const provider = await createProvider()
  const workspace = mkdtempSync(join(tmpdir(), 'shared-'))
  const env: Record<string, string> = {
    AGENT_WEBUI_CLUSTER_URL: db.url,
    AGENT_WEBUI_CLUSTER_KEY: 'a key that is only used in this test 01',
    AGENT_WEBUI_DEFAULT_WORKSPACE: workspace,
    ...extra,
  }
  const first = await spawnApp({ env, startTimeoutMs: STANDBY_MS })
  writeFileSync(
    join(first.home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`,
  )
  // Written by another program: it is found by the next look at the files.
  await until(async () => {
    const found = await db.query("select 1 from agent_webui.file where path = 'home/config.yaml'")
    return found.length > 0
  }, 'the copy of config.yaml')
  return { db, provider, env, first, workspace }
}

export const startChat = async (app: Pick<SpawnedApp, 'post'>, message: string) => {
  const { body } = await app.post('/api/session/new', {})
  const id: string = body.session.session_id
  const started = await app.post('/api/chat/start', { session_id: id, message })
  assert.is(started.status, 200)
  return { id, stream: String(started.body.stream_id) }
}

/** Reads events until there are so many or the stream ends. */
export const readEvents = async (
  app: SpawnedApp,
  stream: string,
  count: number,
): Promise<Event[]> => {
  const sent: Event[] = []
  for await (const event of app.events(`/api/chat/stream?stream_id=${stream}`)) {
    sent.push(event as Event)
    if (sent.length >= count || event.event === 'stream_end') break
  }
  return sent
}

/** As an EventSource: from its last event on again and again, on whatever machine, until it is told the end. The ids of the messages. */
export const followByCursor = async (
  client: Pick<SpawnedApp, 'events'>,
  stream: string,
): Promise<string[]> => {
  const seen: string[] = []
  let last = '0'
  const readOn = async (): Promise<boolean> => {
    const headers = { 'Last-Event-ID': last }
    try {
      for await (const { id, event, data } of client.events(
        `/api/chat/stream?stream_id=${stream}`,
        { headers },
      )) {
        if (id) last = id
        if (event === 'message') seen.push((data.message as Message).id)
        if (event === 'stream_end') return true
      }
    } catch {
      // Cut, or no owner at the moment.
    }
    return false
  }
  await until(readOn, 'the end of the stream')
  return seen
}

const announcedIn = (events: readonly Event[]): string[] =>
  events.flatMap(({ event, data }) => (event === 'message' ? [(data.message as Message).id] : []))

/** Everything that was shown is there, once, in order; each call has exactly one result. */
export const checkMessages = (
  messages: readonly Message[],
  text: string,
  sent: readonly Event[],
) => {
  assert.is(messages[0]?.content, text)
  const ids = messages.map(({ id }) => id)
  assert.is(new Set(ids).size, ids.length)
  const announced = announcedIn(sent)
  assert.equal(ids.slice(0, announced.length), announced)
  for (const { id } of messages.flatMap(message => message.tool_calls ?? []))
    assert.is(messages.filter(message => message.tool_call_id === id).length, 1, id)
}

export type Api = Pick<SpawnedApp, 'get'>

export const sessionOf = async (app: Api, id: string) =>
  (await app.get(`/api/session?session_id=${id}`)).body.session

/** Ends when no turn runs in the session. */
export const settledSession = async (app: Api, id: string) => {
  await until(async () => (await sessionOf(app, id)).is_streaming === false, 'the end of the turn')
  return sessionOf(app, id)
}

/** By the message, because the request for a title may come at any time. */
export const theEndOrHere = ({ messages }: Recorded['body']): Step => ({
  text: /\band now\?$/.test(String(messages.at(-1)?.content)) ? 'Here again.' : 'The end.',
})

/** False where nothing listens. */
export const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )

export const closeAll = async (
  apps: readonly SpawnedApp[],
  others: { close(): Promise<void> }[],
) => {
  for (const app of apps) await app.close()
  for (const other of others) await other.close()
}

/** `start` uses the same port again, as after a kill. */
export const startForwarder = async (url: string) => {
  const home = mkdtempSync(join(tmpdir(), 'forwarder-'))
  const boot = (port?: number) =>
    startService({
      home,
      args: ['forward'],
      env: { AGENT_WEBUI_CLUSTER_URL: url },
      ready: ' forwards at ',
      ...(port !== undefined && { port }),
    })
  let running = await boot()
  return {
    url: running.url,
    async kill() {
      await running.stop('SIGKILL')
    },
    async start() {
      running = await boot(running.port)
    },
    async close() {
      await running.stop('SIGKILL')
      rmSync(home, { recursive: true, force: true })
    },
  }
}
