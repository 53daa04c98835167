/** Background processes of the session, polled while one is running and the panel is visible. */
import { computed, signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'

export type Process = Api['GET /api/processes']['output']['processes'][number]
export type ProcessLog = { state: 'loading' | 'ready' | 'failed'; text: string }

const POLL_MS = 4_000

export type ProcessesOptions = {
  platform: Pick<Platform, 'api' | 'clock'>
  toasts: Toasts
  /** The panel is visible. */
  isShown: () => boolean
}

export const createProcesses = ({ platform, toasts, isShown }: ProcessesOptions) => {
  const { api, clock } = platform
  const sessionId = signal('')
  const list = signal<readonly Process[]>([])
  const logs = signal<ReadonlyMap<string, ProcessLog>>(new Map())
  const running = computed(() => list.value.filter(({ status }) => status === 'running').length)
  const stop = { again: () => {} }

  const put = (id: string, log: ProcessLog | null): void => {
    const next = new Map(logs.value)
    if (log) next.set(id, log)
    else next.delete(id)
    logs.value = next
  }

  const loadLog = async (process_id: string): Promise<void> => {
    const session = sessionId.value
    try {
      const found = await api('GET /api/process/log', { session_id: session, process_id })
      if (session === sessionId.value && logs.value.has(process_id))
        put(process_id, { state: 'ready', text: found.output })
    } catch {
      // The process may be forgotten by now. Shown in place of the output.
      if (logs.value.has(process_id)) put(process_id, { state: 'failed', text: '' })
    }
  }

  const load = async (): Promise<void> => {
    stop.again()
    const session = sessionId.value
    if (!session) return
    try {
      const { processes } = await api('GET /api/processes', { session_id: session })
      if (session !== sessionId.value) return
      list.value = processes
      await Promise.all([...logs.value.keys()].map(loadLog))
    } catch {
      // The connection bar reports it; keep the last list.
    }
    if (running.value > 0 && isShown()) stop.again = clock.timer(POLL_MS, () => void load())
  }

  return {
    list,
    logs,
    running,
    load,
    async show(session: string): Promise<void> {
      if (session === sessionId.value) return
      sessionId.value = session
      list.value = []
      logs.value = new Map()
      await load()
    },
    toggleLog(id: string): void {
      const isOpen = logs.value.has(id)
      put(id, isOpen ? null : { state: 'loading', text: '' })
      if (!isOpen) void loadLog(id)
    },
    async kill({ process_id }: Process): Promise<void> {
      try {
        await api('POST /api/process/kill', { session_id: sessionId.value, process_id })
      } catch (error) {
        toasts.showError(error)
      }
      await load()
    },
    stop: (): void => stop.again(),
  }
}

export type Processes = ReturnType<typeof createProcesses>
