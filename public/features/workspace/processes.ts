/** Background processes of the session, polled while one is running and a panel shows them. */
import { computed, signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Shell } from '../shell/shell-state.ts'

export type Process = Api['GET /api/processes']['output']['processes'][number]
export type ProcessLog = { state: 'loading' | 'ready' | 'failed'; text: string }

const POLL_MS = 4_000

export class Processes {
  readonly #shell: Shell
  readonly #session: { session_id: string }
  readonly list = signal<readonly Process[]>([])
  readonly logs = signal<ReadonlyMap<string, ProcessLog>>(new Map())
  readonly running = computed(
    () => this.list.value.filter(({ status }) => status === 'running').length,
  )
  readonly #newest = createResponseOrder()
  #viewers = 0
  #stopPolling = () => {}

  constructor(shell: Shell, sessionId: string) {
    this.#shell = shell
    this.#session = { session_id: sessionId }
  }

  readonly #loadLog = async (process_id: string): Promise<void> => {
    const { api } = this.#shell
    try {
      const reply = await api('GET /api/process/log', { ...this.#session, process_id })
      if (this.logs.value.has(process_id))
        this.#put(process_id, { state: 'ready', text: reply.output })
    } catch {
      // The process may be forgotten by now. Shown in place of the output.
      if (this.logs.value.has(process_id)) this.#put(process_id, { state: 'failed', text: '' })
    }
  }

  async load(): Promise<void> {
    const { api, platform } = this.#shell
    this.#stopPolling()
    const isNewest = this.#newest('')
    try {
      const { processes } = await api('GET /api/processes', this.#session)
      if (!isNewest()) return
      this.list.value = processes
      await Promise.all([...this.logs.value.keys()].map(this.#loadLog))
    } catch {
      // The connection bar reports it; keep the last list.
    }
    this.#stopPolling()
    if (this.running.value > 0 && this.#viewers > 0)
      this.#stopPolling = platform.clock.timer(POLL_MS, () => void this.load())
  }

  /** A panel shows them, until the result is called: polled from the next `load` on. */
  watch(): () => void {
    this.#viewers += 1
    return () => {
      this.#viewers -= 1
      if (this.#viewers === 0) this.#stopPolling()
    }
  }

  toggleLog(id: string): void {
    const isOpen = this.logs.value.has(id)
    this.#put(id, isOpen ? null : { state: 'loading', text: '' })
    if (!isOpen) void this.#loadLog(id)
  }

  async kill({ process_id }: Process): Promise<void> {
    const { api, toasts } = this.#shell
    try {
      await api('POST /api/process/kill', { ...this.#session, process_id })
    } catch (error) {
      toasts.showError(error)
    }
    await this.load()
  }

  #put(id: string, log: ProcessLog | null): void {
    const next = new Map(this.logs.value)
    if (log) next.set(id, log)
    else next.delete(id)
    this.logs.value = next
  }
}
