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
  platform: Pick<Platform, 'api' | 'clock'>
  /** Reports fake updates, for development. */
  simulate: boolean
  /** Loads the page of the new version. */
  reload: () => void
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : `${error}`)

export const createUpdates = ({ platform, simulate, reload }: UpdatesOptions) => {
  const { api, clock } = platform
  const found = signal<UpdateCheck | null>(null)
  const checking = signal(false)
  const problem = signal('')
  const applying = signal<Applying>({ kind: 'idle' })
  const results = signal<Partial<Record<UpdateTarget, UpdateResult>>>({})

  const check = async (force = false): Promise<void> => {
    checking.value = true
    problem.value = ''
    try {
      found.value = await api('GET /api/updates/check', {
        ...(force ? { force: '1' } : {}),
        ...(simulate ? { simulate: '1' } : {}),
      })
    } catch (error) {
      problem.value = messageOf(error)
    }
    checking.value = false
  }

  /** An uptime shorter than our wait means a new process. */
  const isBack = async (sinceMs: number): Promise<boolean> => {
    try {
      const { uptime_seconds } = await api('GET /health')
      return uptime_seconds * 1_000 < clock.now() - sinceMs
    } catch {
      // No process is listening during the restart.
      return false
    }
  }

  const awaitRestart = (): void => {
    const sinceMs = clock.now()
    applying.value = { kind: 'restarting' }
    const look = async (): Promise<void> => {
      if (await isBack(sinceMs)) reload()
      else if (clock.now() - sinceMs > RESTART_TIMEOUT_MS) applying.value = { kind: 'late' }
      else clock.timer(POLL_MS, () => void look())
    }
    clock.timer(FIRST_POLL_MS, () => void look())
  }

  return {
    found,
    checking,
    problem,
    applying,
    results,
    check,
    /** `force` discards local changes. */
    async apply(target: UpdateTarget, force = false): Promise<void> {
      if (applying.value.kind === 'applying' || applying.value.kind === 'restarting') return
      applying.value = { kind: 'applying', target }
      let result: UpdateResult
      try {
        const route = force ? 'POST /api/updates/force' : 'POST /api/updates/apply'
        result = await api(route, { target })
      } catch (error) {
        result = { ok: false, message: messageOf(error) }
      }
      results.value = { ...results.value, [target]: result }
      if (result.restart_scheduled) return awaitRestart()
      applying.value = { kind: 'idle' }
      if (result.ok) await check()
    },
  }
}

export type Updates = ReturnType<typeof createUpdates>
