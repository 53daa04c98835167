/** Background processes of the session, polled while one is running and a panel shows them. */
import { computed, signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'

export type Process = Api['GET /api/processes']['output']['processes'][number]
export type ProcessLog = { state: 'loading' | 'ready' | 'failed'; text: string }

const POLL_MS = 4_000

export type ProcessesOptions = {
  platform: Pick<Platform, 'api' | 'clock'>
  sessionId: string
  toasts: Toasts
}

export const createProcesses = ({ platform, sessionId, toasts }: ProcessesOptions) => {
  const { api, clock } = platform
  const list = signal<readonly Process[]>([])
  const logs = signal<ReadonlyMap<string, ProcessLog>>(new Map())
  const running = computed(() => list.value.filter(({ status }) => status === 'running').length)
  const newest = createResponseOrder()
  let viewers = 0
  let stopPolling = () => {}

  const put = (id: string, log: ProcessLog | null): void => {
    const next = new Map(logs.value)
    if (log) next.set(id, log)
    else next.delete(id)
    logs.value = next
  }

  const loadLog = async (process_id: string): Promise<void> => {
    try {
      const found = await api('GET /api/process/log', { session_id: sessionId, process_id })
      if (logs.value.has(process_id)) put(process_id, { state: 'ready', text: found.output })
    } catch {
      // The process may be forgotten by now. Shown in place of the output.
      if (logs.value.has(process_id)) put(process_id, { state: 'failed', text: '' })
    }
  }

  const load = async (): Promise<void> => {
    stopPolling()
    const isNewest = newest('')
    try {
      const { processes } = await api('GET /api/processes', { session_id: sessionId })
      if (!isNewest()) return
      list.value = processes
      await Promise.all([...logs.value.keys()].map(loadLog))
    } catch {
      // The connection bar reports it; keep the last list.
    }
    stopPolling()
    if (running.value > 0 && viewers > 0) stopPolling = clock.timer(POLL_MS, () => void load())
  }

  return {
    list,
    logs,
    running,
    load,
    /** A panel shows them, until the result is called: polled from the next `load` on. */
    watch(): () => void {
      viewers += 1
      return () => {
        viewers -= 1
        if (viewers === 0) stopPolling()
      }
    },
    toggleLog(id: string): void {
      const isOpen = logs.value.has(id)
      put(id, isOpen ? null : { state: 'loading', text: '' })
      if (!isOpen) void loadLog(id)
    },
    async kill({ process_id }: Process): Promise<void> {
      try {
        await api('POST /api/process/kill', { session_id: sessionId, process_id })
      } catch (error) {
        toasts.showError(error)
      }
      await load()
    },
  }
}
