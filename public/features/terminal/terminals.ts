/** The terminals of a session: which there are, and which is shown. */
import { type Problem, problemOf } from '../../strings/problem.ts'
import { computed, signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import type { LoadState } from '../../parts/load-state.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Platform } from '../../platform.ts'
import type { Confirmation } from '../shell/layout.ts'
import type { Toasts } from '../shell/toast.ts'
import { t } from './strings.ts'

export type Terminal = Api['GET /api/terminals']['output']['terminals'][number]
type Size = { cols: number; rows: number }

/** Until the screen is measured. */
const FIRST_SIZE: Size = { cols: 80, rows: 24 }

export type TerminalsOptions = {
  platform: Pick<Platform, 'api'>
  sessionId: string
  toasts: Toasts
  ask: (question: Confirmation) => void
}

export const createTerminals = ({ platform, sessionId, toasts, ask }: TerminalsOptions) => {
  const { api } = platform
  const list = signal<readonly Terminal[]>([])
  const problem = signal<Problem | null>(null)
  const state = signal<LoadState>('loading')
  const isOpening = signal(false)
  const chosen = signal('')
  /** Terminals with a bell since they were last looked at. */
  const bells = signal<ReadonlySet<string>>(new Set())
  const size = { ...FIRST_SIZE }
  const newest = createResponseOrder()
  let begun: Promise<void> | null = null

  const load = async (): Promise<void> => {
    const isNewest = newest('')
    try {
      const found = await api('GET /api/terminals', { session_id: sessionId })
      if (!isNewest()) return
      list.value = found.terminals
      problem.value = problemOf(found)
      state.value = 'ready'
    } catch {
      // Shown in place of the list, with a button.
      if (isNewest() && state.value !== 'ready') state.value = 'failed'
    }
  }

  const open = async (): Promise<void> => {
    if (isOpening.value) return
    isOpening.value = true
    try {
      const { terminal } = await api('POST /api/terminal/open', { session_id: sessionId, ...size })
      // Lists that were requested before do not have it.
      newest.dropPending()
      list.value = [...list.value, terminal]
      chosen.value = terminal.terminal_id
    } catch (error) {
      toasts.showError(error)
    } finally {
      isOpening.value = false
    }
  }

  const shown = computed(
    () => list.value.find(({ terminal_id }) => terminal_id === chosen.value) ?? list.value.at(-1),
  )

  const remove = async ({ terminal_id }: Terminal): Promise<void> => {
    try {
      await api('POST /api/terminal/close', { session_id: sessionId, terminal_id })
    } catch (error) {
      toasts.showError(error)
    }
    await load()
  }

  const begin = async (): Promise<void> => {
    await load()
    // The tab was opened for one.
    if (state.value === 'ready' && !problem.value && list.value.length === 0) await open()
  }

  return {
    sessionId,
    list,
    problem,
    state,
    isOpening,
    shown,
    bells,
    size,
    load,
    open,
    /** The tab is shown. The first time it opens a terminal when there is none. */
    async show(): Promise<void> {
      if (begun) return load()
      begun = begin()
      await begun
    },
    choose({ terminal_id }: Terminal): void {
      chosen.value = terminal_id
      bells.value = new Set([...bells.value].filter(id => id !== terminal_id))
    },
    ring(id: string): void {
      bells.value = new Set(bells.value).add(id)
    },
    seen(id: string): void {
      if (bells.value.has(id)) bells.value = new Set([...bells.value].filter(each => each !== id))
    },
    ended(id: string, exitCode: number | null): void {
      list.value = list.value.map(each =>
        each.terminal_id === id ? { ...each, status: 'exited', exit_code: exitCode } : each,
      )
    },
    close(terminal: Terminal): void {
      if (terminal.status === 'exited') return void remove(terminal)
      ask({
        title: t('terminal.close.title'),
        text: t('terminal.close.text'),
        confirm: t('terminal.close.run'),
        danger: true,
        run: () => void remove(terminal),
      })
    },
    resize(id: string, next: Size): void {
      Object.assign(size, next)
      const terminal = list.value.find(({ terminal_id }) => terminal_id === id)
      // The note that it has ended changes the height; it may be closed when the request arrives.
      if (terminal?.status !== 'running') return
      const input = { session_id: sessionId, terminal_id: id, ...next }
      // The next change of the size tries again.
      api('POST /api/terminal/resize', input).catch(() => undefined)
    },
  }
}

export type Terminals = ReturnType<typeof createTerminals>
