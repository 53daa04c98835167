/** Live updates of host sessions (those of the CLI): events while the server watches them, polling otherwise. */
import { ApiError } from '../../api.ts'
import type { ReadonlySignal } from '@preact/signals'
import type { Frame } from '../../../lib/schema/event.ts'
import type { Connection } from '../shell/connection.ts'
import type { Platform } from '../../platform.ts'
import type { SettingsState } from '../settings/settings.ts'
import type { Toasts } from '../shell/toast.ts'
import { t } from '../../strings/t.ts'

export type HostSessionsOptions = {
  platform: Platform
  settings: SettingsState
  connection: Connection
  toasts: Toasts
  profile: ReadonlySignal<string>
  /** Fetches the list again. */
  reload: () => Promise<unknown>
}

export class HostSessions {
  readonly #options: HostSessionsOptions

  constructor(options: HostSessionsOptions) {
    this.#options = options
  }

  /** Checks once; events only report later changes. */
  async probe(): Promise<void> {
    if (!this.#isShown()) return this.#setAlive(true)
    try {
      await this.#options.platform.api('GET /api/sessions/gateway/stream', { probe: '1' })
      this.#setAlive(true)
    } catch (error) {
      // Other failures are handled by the connection, which polls as well.
      if (error instanceof ApiError && error.status === 503) this.#setAlive(false)
    }
  }

  receive(frame: Frame): void {
    const { profile } = this.#options
    if (frame.type !== 'gateway') return
    const { alive, profile: whose, changed } = frame.data
    if (whose && profile.value && whose !== profile.value) return
    this.#setAlive(alive)
    if (changed && this.#isShown()) this.#refetch()
  }

  async show(isOn: boolean): Promise<void> {
    await this.#options.settings.save('show_cli_sessions', isOn)
    this.#refetch()
    await this.probe()
  }

  #isShown(): boolean {
    return this.#options.settings.current.value.show_cli_sessions
  }

  #setAlive(alive: boolean): void {
    const { connection, toasts } = this.#options
    const was = connection.watchesHostSessions.value
    connection.setWatchesHostSessions(alive || !this.#isShown())
    if (was && !connection.watchesHostSessions.value) toasts.show(t('connection.polling'))
  }

  #refetch(): void {
    const { reload, toasts } = this.#options
    reload().catch((error: unknown) => toasts.showError(error))
  }
}
