/** What the chat tests share: a service whose model is a scripted server, and a reader of one turn's stream. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../lib/base/clock.ts'
import { startApp } from '../_app.ts'
import { createProvider, type Step } from '../_provider.ts'

export type Seen = { id: string; event: string; data: Record<string, unknown> }

/** A service in a new home that talks to `provider`. Without checkpoints: they cost each command a scan and several git calls. */
export const startChat = (...script: Step[]) => startChatAt(systemClock, ...script)

/** The same, at the time of this clock. */
export const startChatAt = async (clock: Clock, ...script: Step[]) => {
  const provider = await createProvider(...script)
  const app = await startApp({ clock })
  const useProvider = () =>
    writeFileSync(
      join(app.home, 'config.yaml'),
      `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\ncheckpoints:\n  enabled: false\n`,
    )
  useProvider()
  const enableCheckpoints = () => {
    const path = join(app.home, 'config.yaml')
    writeFileSync(path, readFileSync(path, 'utf8').replace('checkpoints:\n  enabled: false\n', ''))
  }

  const newSession = async (): Promise<string> => {
    const { body } = await app.post('/api/session/new', {})
    return body.session.session_id
  }
  const send = async (session_id: string, message: string): Promise<string> => {
    const { status, body } = await app.post('/api/chat/start', { session_id, message })
    if (status !== 200) throw new Error(`chat/start answered ${status} ${JSON.stringify(body)}`)
    return body.stream_id
  }
  /** Every event of a turn to its end, or up to the first of the given type. `onApproval` is done before the next event is read. */
  const follow = async (
    stream_id: string,
    until = 'stream_end',
    after = 0,
    onApproval = async (): Promise<void> => undefined,
  ): Promise<Seen[]> => {
    const seen: Seen[] = []
    for await (const event of app.events(
      `/api/chat/stream?stream_id=${stream_id}&after=${after}`,
    )) {
      seen.push(event as Seen)
      if (event.event === until) break
      if (event.event === 'approval') await onApproval()
    }
    return seen
  }
  const messages = async (session_id: string): Promise<Record<string, unknown>[]> =>
    (await app.get(`/api/session?session_id=${session_id}`)).body.session.messages

  return {
    app,
    provider,
    newSession,
    send,
    follow,
    messages,
    useProvider,
    enableCheckpoints,
    async turn(session_id: string, message: string): Promise<Seen[]> {
      return follow(await send(session_id, message))
    },
    [Symbol.asyncDispose]() {
      return this.close()
    },
    async close() {
      await app.close()
      await provider.close()
    },
  }
}

export const types = (seen: Seen[]): string[] => seen.map(event => event.event)
export const textOf = (seen: Seen[], type = 'token'): string =>
  seen
    .filter(event => event.event === type)
    .map(event => event.data.text)
    .join('')
