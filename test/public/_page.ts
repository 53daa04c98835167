/** Fakes for page tests: API, storage, event source. */
import { signal } from '@preact/signals'
import type { ApiCall } from '../../public/api.ts'
import { ApiError } from '../../public/api.ts'
import { Shell } from '../../public/features/shell/shell-state.ts'
import { SignInGate } from '../../public/features/sign-in/auth.ts'
import { createServerClock } from '../../public/parts/server-clock.ts'
import type { JsonStorage, Platform } from '../../public/platform.ts'
import type { Frame } from '../../lib/schema/event.ts'
import type { SessionRow } from '../../lib/schema/session.ts'
import { createTestClock } from '../_clock.ts'

export const fakeMemory = (): JsonStorage & { values: Map<string, unknown> } => {
  const values = new Map<string, unknown>()
  return {
    values,
    read: <T>(key: string, otherwise: T) => (values.has(key) ? (values.get(key) as T) : otherwise),
    write: (key, value) => void values.set(key, value),
    remove: key => void values.delete(key),
    keys: () => [...values.keys()],
    clear: () => values.clear(),
  }
}

export type Call = { route: string; input: Record<string, unknown> }
type Answer = (input: Record<string, unknown>) => unknown

/** Replies from a table; a thrown ApiError is an error reply, an unknown route a 404. */
export const fakeApi = (answers: Record<string, Answer>) => {
  const calls: Call[] = []
  const api = (async (route: string, input: Record<string, unknown> = {}) => {
    calls.push({ route, input })
    const answer = answers[route]
    if (!answer) throw new ApiError(404, 'not found')
    return await answer(input)
  }) as unknown as ApiCall
  return {
    api,
    calls,
    answers,
    of: (route: string) => calls.filter(call => call.route === route).map(({ input }) => input),
  }
}

export const fakePlatform = (answers: Record<string, Answer> = {}) => {
  const clock = createTestClock(1_000_000)
  const service = fakeApi(answers)
  const device = fakeMemory()
  const tab = fakeMemory()
  const platform: Platform = {
    api: service.api,
    awaited: signal(0),
    fetchBlob: async (path, query) => new Blob([`${path} ${JSON.stringify(query)}`]),
    upload: async ({ sessionId, name, directory, file }) => {
      const input = { session_id: sessionId, name, path: directory, size: file.size }
      return (await service.api('POST /api/upload' as never, input as never)) as never
    },
    base: 'http://host/any/path/',
    account: 'ann',
    device,
    drafts: device,
    tab,
    clock,
    serverClock: createServerClock(clock),
    exclusively: (_, work) => work(),
    isFree: async () => true,
    nextFrame: run => run(),
  }
  return { platform, clock, service, device, tab }
}

/** `left`: where the page was led to. */
export const fakeShell = (platform: Platform, left: unknown[][] = []): Shell =>
  new Shell(
    {
      platform,
      gate: new SignInGate(),
      history: { pushState: () => undefined, replaceState: () => undefined },
      href: platform.base,
      mac: false,
      navigate: (...to) => void left.push(to),
      copy: async () => undefined,
    },
    async () => undefined,
  )

/** Waits for all settled promises. */
export const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 60; turn += 1) await Promise.resolve()
}

export const fakeRow = (id: string, patch: Partial<SessionRow> = {}): SessionRow => ({
  session_id: id,
  title: `Title ${id}`,
  workspace: '/work',
  model: null,
  message_count: 2,
  created_at: 1,
  updated_at: 1,
  pinned: false,
  archived: false,
  project_id: null,
  profile: 'default',
  input_tokens: 0,
  output_tokens: 0,
  estimated_cost: 0,
  personality: null,
  compression_anchor_visible_idx: null,
  compression_anchor_message_key: null,
  active_stream_id: null,
  is_streaming: false,
  waiting: 0,
  last_turn: 'done',
  preview: '',
  ...patch,
})

export const fakeSession = (id: string, patch: Record<string, unknown> = {}) => ({
  ...fakeRow(id),
  messages: [],
  tool_calls: [],
  pending_user_message: null,
  pending_attachments: [],
  pending_started_at: null,
  composer_draft: { text: '', files: [] },
  questions: [],
  queued: [],
  live: null,
  last_usage: null,
  summaries: [],
  cursor: 'aaaaaaaa-0',
  _messages_truncated: false,
  _messages_offset: 0,
  ...patch,
})

export const rowFrame = (n: number, row: SessionRow): Frame => ({
  source: 'list',
  n,
  type: 'row',
  data: { row },
})

type Listener = (event: { data: string; lastEventId: string }) => void

/** An EventSource driven by the test. */
export const fakeSource = (query: { watch: string; after: string }) => {
  const listeners = new Map<string, Listener>()
  const source = {
    query,
    closed: false,
    addEventListener: (type: string, listener: Listener) => void listeners.set(type, listener),
    close() {
      source.closed = true
    },
    say(type: string, data: unknown = {}, lastEventId = '') {
      listeners.get(type)?.({ data: JSON.stringify(data), lastEventId })
    },
  }
  return source
}
export type FakeSource = ReturnType<typeof fakeSource>

/** Without the random ids of messages and of drafts. */
export const unnamed = (inputs: Record<string, unknown>[]) =>
  inputs.map(({ client_message_id: id, ...rest }) => {
    if (!/^[0-9a-f]{32}$/.test(String(id))) throw new Error(`no id: ${JSON.stringify(rest)}`)
    return rest
  })
