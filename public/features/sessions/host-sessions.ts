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
  platform: Pick<Platform, 'api'>
  settings: Pick<SettingsState, 'current' | 'save'>
  connection: Pick<Connection, 'watchesHostSessions' | 'setWatchesHostSessions'>
  toasts: Toasts
  profile: ReadonlySignal<string>
  /** Fetches the list again. */
  reload: () => Promise<unknown>
}

export const createHostSessions = (options: HostSessionsOptions) => {
  const { platform, settings, connection, toasts, profile, reload } = options
  const isShown = (): boolean => settings.current.value.show_cli_sessions

  const setAlive = (alive: boolean): void => {
    const was = connection.watchesHostSessions.value
    connection.setWatchesHostSessions(alive || !isShown())
    if (was && !connection.watchesHostSessions.value) toasts.show(t('connection.polling'))
  }

  const refetch = (): void => {
    reload().catch((error: unknown) => toasts.showError(error))
  }

  /** Checks once; events only report later changes. */
  const probe = async (): Promise<void> => {
    if (!isShown()) return setAlive(true)
    try {
      await platform.api('GET /api/sessions/gateway/stream', { probe: '1' })
      setAlive(true)
    } catch (error) {
      // Other failures are handled by the connection, which polls as well.
      if (error instanceof ApiError && error.status === 503) setAlive(false)
    }
  }

  return {
    probe,
    receive(frame: Frame): void {
      if (frame.type !== 'gateway') return
      const { alive, profile: whose, changed } = frame.data
      if (whose && profile.value && whose !== profile.value) return
      setAlive(alive)
      if (changed && isShown()) refetch()
    },
    async show(shown: boolean): Promise<void> {
      await settings.save('show_cli_sessions', shown)
      refetch()
      await probe()
    },
  }
}

export type HostSessions = ReturnType<typeof createHostSessions>
