/** Which paths of a text exist in the workspace: asked in batches, remembered for each session. */
import { effect, type Signal, signal, untracked } from '@preact/signals'
import type { Api } from '../../../router.ts'
import type { Platform } from '../../platform.ts'

type Reply = Api['POST /api/file/named']['output']
export type KnownName = { type: 'file' | 'dir'; path: string }
/** Undefined until the server has answered; null for a name that does not exist. */
type NameState = Signal<KnownName | null | undefined>

/** Names appear in groups, as texts are shown: one request for each group. */
const WAIT_MS = 80
/** The server's limit for one request. */
const MAX_ASKED = 200
const MAX_KEPT = 4_000

export type KnownNamesOptions = {
  platform: Platform
  /** A turn is running: the agent may create what is missing now. */
  busy: { readonly value: boolean }
}

type NameRequest = { session: string; name: string }
const keyOf = ({ session, name }: NameRequest): string => `${session} ${name}`

export class KnownNames {
  readonly #options: KnownNamesOptions
  readonly #entries = new Map<string, NameState>()
  readonly #waiting = new Map<string, NameRequest>()
  readonly #state = { scheduled: false, asking: false }
  /** Increases when missing names are to be asked for again. */
  readonly round = signal(0)
  readonly #turn = { running: false }

  constructor(options: KnownNamesOptions) {
    const { busy } = options
    this.#options = options
    effect(() => {
      const running = busy.value
      const hasEnded = this.#turn.running && !running
      this.#turn.running = running
      if (!hasEnded) return
      untracked(() => {
        for (const [key, entry] of this.#entries)
          if (entry.value === null) this.#entries.delete(key)
        this.round.value += 1
      })
    })
  }

  /** What the server said about a name; the first use asks for it. */
  look(session: string, name: string): NameState {
    const request = { session, name }
    const key = keyOf(request)
    const cached = this.#entries.get(key)
    if (cached) return cached
    this.#waiting.set(key, request)
    if (!this.#state.scheduled) {
      this.#state.scheduled = true
      this.#options.platform.clock.timer(WAIT_MS, () => void this.#askAll())
    }
    return this.#keep(key)
  }

  #answer(requests: readonly NameRequest[], { entries }: Reply): void {
    const paths = new Map(entries.map(({ asked: name, path, type }) => [name, { path, type }]))
    for (const each of requests) {
      const entry = this.#entries.get(keyOf(each))
      if (entry) entry.value = paths.get(each.name) ?? null
    }
  }

  /** The names of one session that fit into one request. */
  #takeBatch(): NameRequest[] {
    const session = this.#waiting.values().next().value?.session
    const batch = [...this.#waiting.values()]
      .filter(request => request.session === session)
      .slice(0, MAX_ASKED)
    for (const request of batch) this.#waiting.delete(keyOf(request))
    return batch
  }

  async #askAll(): Promise<void> {
    this.#state.scheduled = false
    if (this.#state.asking) return
    this.#state.asking = true
    while (this.#waiting.size > 0) {
      const batch = this.#takeBatch()
      try {
        this.#answer(
          batch,
          await this.#options.platform.api('POST /api/file/named', {
            session_id: batch[0]!.session,
            paths: batch.map(({ name }) => name),
          }),
        )
      } catch {
        // Offline, or the workspace is missing: the names stay plain text until they are asked for again.
        for (const request of batch) this.#entries.delete(keyOf(request))
      }
    }
    this.#state.asking = false
  }

  #keep(key: string): NameState {
    const entry: NameState = signal(undefined)
    this.#entries.set(key, entry)
    if (this.#entries.size > MAX_KEPT) {
      const [oldest] = this.#entries.keys()
      if (oldest !== undefined) this.#entries.delete(oldest)
    }
    return entry
  }
}
