/** Updates of the server and of the host agent: checking, applying, and reconnecting after a restart. */
import { signal } from '@preact/signals'
import type { UpdateCheck, UpdateResult, UpdateTarget } from '../../../lib/schema/update.ts'
import type { Platform } from '../../platform.ts'

export type Applying =
  | { kind: 'idle' }
  | { kind: 'applying'; target: UpdateTarget }
  | { kind: 'restarting' }
  | { kind: 'late' }

/** The server restarts after two seconds. */
const FIRST_POLL_MS = 2_500
const POLL_MS = 500
const RESTART_TIMEOUT_MS = 60_000

export type UpdatesOptions = {
  platform: Platform
  /** Reports fake updates, for development. */
  simulate: boolean
  /** Loads the page of the new version. */
  reload: () => void
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : `${error}`)

export class Updates {
  readonly #options: UpdatesOptions
  readonly result = signal<UpdateCheck | null>(null)
  readonly checking = signal(false)
  readonly problem = signal('')
  readonly applying = signal<Applying>({ kind: 'idle' })
  readonly results = signal<Partial<Record<UpdateTarget, UpdateResult>>>({})

  constructor(options: UpdatesOptions) {
    this.#options = options
  }

  async check(force = false): Promise<void> {
    const { api } = this.#options.platform
    const { simulate } = this.#options
    this.checking.value = true
    this.problem.value = ''
    try {
      this.result.value = await api('GET /api/updates/check', {
        ...(force ? { force: '1' } : {}),
        ...(simulate ? { simulate: '1' } : {}),
      })
    } catch (error) {
      this.problem.value = messageOf(error)
    }
    this.checking.value = false
  }

  /** `force` discards local changes. */
  async apply(target: UpdateTarget, force = false): Promise<void> {
    if (this.applying.value.kind === 'applying' || this.applying.value.kind === 'restarting') return
    this.applying.value = { kind: 'applying', target }
    let result: UpdateResult
    try {
      const route = force ? 'POST /api/updates/force' : 'POST /api/updates/apply'
      result = await this.#options.platform.api(route, { target })
    } catch (error) {
      result = { ok: false, message: messageOf(error) }
    }
    this.results.value = { ...this.results.value, [target]: result }
    if (result.restart_scheduled) return this.#awaitRestart()
    this.applying.value = { kind: 'idle' }
    if (result.ok) await this.check()
  }

  /** An uptime shorter than our wait means a new process. */
  async #isBack(sinceMs: number): Promise<boolean> {
    const { api, clock } = this.#options.platform
    try {
      const { uptime_seconds } = await api('GET /health')
      return uptime_seconds * 1_000 < clock.now() - sinceMs
    } catch {
      // No process is listening during the restart.
      return false
    }
  }

  #awaitRestart(): void {
    const { clock } = this.#options.platform
    const { reload } = this.#options
    const sinceMs = clock.now()
    this.applying.value = { kind: 'restarting' }
    const look = async (): Promise<void> => {
      if (await this.#isBack(sinceMs)) reload()
      else if (clock.now() - sinceMs > RESTART_TIMEOUT_MS) this.applying.value = { kind: 'late' }
      else clock.timer(POLL_MS, () => void look())
    }
    clock.timer(FIRST_POLL_MS, () => void look())
  }
}
