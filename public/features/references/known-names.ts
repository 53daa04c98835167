/** Which paths of a text exist in the workspace: asked in batches, remembered for each session. */
import { effect, type Signal, signal, untracked } from '@preact/signals'
import type { Api } from '../../../router.ts'
import type { Platform } from '../../platform.ts'

type Reply = Api['POST /api/file/named']['output']
export type KnownName = { type: 'file' | 'dir'; path: string }
/** Undefined until the server has answered; null for a name that does not exist. */
type Entry = Signal<KnownName | null | undefined>

/** Names appear in groups, as texts are shown: one request for each group. */
const WAIT_MS = 80
/** The server's limit for one request. */
const MAX_ASKED = 200
const MAX_KEPT = 4_000

export type KnownNamesOptions = {
  platform: Pick<Platform, 'api' | 'clock'>
  /** A turn is running: the agent may create what is missing now. */
  busy: { readonly value: boolean }
}

type Asked = { session: string; name: string }
const keyOf = ({ session, name }: Asked): string => `${session} ${name}`

export const createKnownNames = ({ platform, busy }: KnownNamesOptions) => {
  const entries = new Map<string, Entry>()
  const waiting = new Map<string, Asked>()
  const state = { scheduled: false, asking: false }
  /** Increases when missing names are to be asked for again. */
  const round = signal(0)

  const answer = (asked: readonly Asked[], { entries: found }: Reply): void => {
    const paths = new Map(found.map(({ asked: name, path, type }) => [name, { path, type }]))
    for (const each of asked) {
      const entry = entries.get(keyOf(each))
      if (entry) entry.value = paths.get(each.name) ?? null
    }
  }

  /** The names of one session that fit into one request. */
  const takeBatch = (): Asked[] => {
    const session = waiting.values().next().value?.session
    const taken = [...waiting.values()]
      .filter(asked => asked.session === session)
      .slice(0, MAX_ASKED)
    for (const asked of taken) waiting.delete(keyOf(asked))
    return taken
  }

  const askAll = async (): Promise<void> => {
    state.scheduled = false
    if (state.asking) return
    state.asking = true
    while (waiting.size > 0) {
      const batch = takeBatch()
      try {
        answer(
          batch,
          await platform.api('POST /api/file/named', {
            session_id: batch[0]!.session,
            paths: batch.map(({ name }) => name),
          }),
        )
      } catch {
        // Offline, or the workspace is missing: the names stay plain text until they are asked for again.
        for (const asked of batch) entries.delete(keyOf(asked))
      }
    }
    state.asking = false
  }

  const keep = (key: string): Entry => {
    const entry: Entry = signal(undefined)
    entries.set(key, entry)
    if (entries.size > MAX_KEPT) {
      const [oldest] = entries.keys()
      if (oldest !== undefined) entries.delete(oldest)
    }
    return entry
  }

  /** What the server said about a name; the first use asks for it. */
  const look = (session: string, name: string): Entry => {
    const asked = { session, name }
    const key = keyOf(asked)
    const known = entries.get(key)
    if (known) return known
    waiting.set(key, asked)
    if (!state.scheduled) {
      state.scheduled = true
      platform.clock.timer(WAIT_MS, () => void askAll())
    }
    return keep(key)
  }

  const turn = { running: false }
  effect(() => {
    const running = busy.value
    const hasEnded = turn.running && !running
    turn.running = running
    if (!hasEnded) return
    untracked(() => {
      for (const [key, entry] of entries) if (entry.value === null) entries.delete(key)
      round.value += 1
    })
  })

  return { look, round }
}

export type KnownNames = ReturnType<typeof createKnownNames>
