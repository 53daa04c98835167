/** The terminals of a folder: which there are, and which is shown. */
import { type Problem, problemOf } from '../../strings/problem.ts'
import { computed, signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import type { LoadState } from '../../parts/load-state.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Shell } from '../shell/shell-state.ts'
import { t } from './strings.ts'

export type Terminal = Api['GET /api/terminals']['output']['terminals'][number]
type Size = { cols: number; rows: number }

/** Until the screen is measured. */
const FIRST_SIZE: Size = { cols: 80, rows: 24 }

export class Terminals {
  readonly #shell: Shell
  readonly list = signal<readonly Terminal[]>([])
  readonly problem = signal<Problem | null>(null)
  readonly state = signal<LoadState>('loading')
  readonly isOpening = signal(false)
  readonly #currentId = signal('')
  /** Terminals with a bell since they were last looked at. */
  readonly bells = signal<ReadonlySet<string>>(new Set())
  readonly size = { ...FIRST_SIZE }
  readonly #newest = createResponseOrder()
  readonly current = computed(
    () =>
      this.list.value.find(({ terminal_id }) => terminal_id === this.#currentId.value) ??
      this.list.value.at(-1),
  )
  /** The chat of this folder that was shown last: requests name it. */
  sessionId: string

  constructor(shell: Shell, sessionId: string) {
    this.#shell = shell
    this.sessionId = sessionId
  }

  async load(): Promise<void> {
    const { api } = this.#shell
    const isNewest = this.#newest('')
    try {
      const reply = await api('GET /api/terminals', { session_id: this.sessionId })
      if (!isNewest()) return
      this.list.value = reply.terminals
      this.problem.value = problemOf(reply)
      this.state.value = 'ready'
    } catch {
      // Shown in place of the list, with a button.
      if (isNewest() && this.state.value !== 'ready') this.state.value = 'failed'
    }
  }

  async open(): Promise<void> {
    const { api, toasts } = this.#shell
    if (this.isOpening.value) return
    this.isOpening.value = true
    try {
      const { terminal } = await api('POST /api/terminal/open', {
        session_id: this.sessionId,
        ...this.size,
      })
      // Lists that were requested before do not have it.
      this.#newest.dropPending()
      this.list.value = [...this.list.value, terminal]
      this.#currentId.value = terminal.terminal_id
    } catch (error) {
      toasts.showError(error)
    } finally {
      this.isOpening.value = false
    }
  }

  /** The dock shows them, for a chat in their folder. A terminal is opened only when the person asked for one. */
  async show(sessionId: string, isAsked: boolean): Promise<void> {
    this.sessionId = sessionId
    await this.load()
    const isEmpty = this.list.value.length === 0
    if (isAsked && isEmpty && this.state.value === 'ready' && !this.problem.value) await this.open()
  }

  choose({ terminal_id }: Terminal): void {
    this.#currentId.value = terminal_id
    this.bells.value = new Set([...this.bells.value].filter(id => id !== terminal_id))
  }

  ring(id: string): void {
    this.bells.value = new Set(this.bells.value).add(id)
  }

  seen(id: string): void {
    if (this.bells.value.has(id))
      this.bells.value = new Set([...this.bells.value].filter(each => each !== id))
  }

  ended(id: string, exitCode: number | null): void {
    this.list.value = this.list.value.map(each =>
      each.terminal_id === id ? { ...each, status: 'exited', exit_code: exitCode } : each,
    )
  }

  /** Asks only when something runs in it. */
  async close(terminal: Terminal): Promise<void> {
    await this.load()
    const now = this.list.value.find(({ terminal_id: id }) => id === terminal.terminal_id)
    const names = now?.programs
    if (now?.status !== 'running' || names?.length === 0) return this.#remove(terminal)
    this.#shell.layout.confirmation.value = {
      title: t('terminal.close.title'),
      text: names
        ? t('terminal.close.programs', { names: [...new Set(names)] })
        : t('terminal.close.text'),
      confirm: t('terminal.close.run'),
      danger: true,
      run: () => this.#remove(terminal),
    }
  }

  resize(id: string, next: Size): void {
    const { api } = this.#shell
    Object.assign(this.size, next)
    const terminal = this.list.value.find(({ terminal_id }) => terminal_id === id)
    // The note that it has ended changes the height; it may be closed when the request arrives.
    if (terminal?.status !== 'running') return
    const input = { session_id: this.sessionId, terminal_id: id, ...next }
    // The next change of the size tries again.
    api('POST /api/terminal/resize', input).catch(() => undefined)
  }

  async #remove({ terminal_id }: Terminal): Promise<void> {
    const { api, toasts } = this.#shell
    // Its screen stops reading first: a read of a closed terminal is an error.
    this.list.value = this.list.value.filter(each => each.terminal_id !== terminal_id)
    try {
      await api('POST /api/terminal/close', { session_id: this.sessionId, terminal_id })
    } catch (error) {
      toasts.showError(error)
    }
    await this.load()
  }
}
