/** Toasts: short messages with at most one action, dismissed after a while unless hovered or focused. */
import { signal } from '@preact/signals'
import type { ApiError } from '../../api.ts'
import type { Platform } from '../../platform.ts'

export type ToastAction = { label: string; run: () => void }
export type Toast = { id: number; text: string; kind: 'info' | 'error'; action: ToastAction | null }

const SHOWN_MS = 5_000
const WITH_ACTION_MS = 10_000
const MAX_TOASTS = 4

/** `copy` puts text on the clipboard and confirms it. */
export class Toasts {
  readonly #platform: Platform
  readonly #copy: ((text: string) => unknown) | undefined
  readonly list = signal<readonly Toast[]>([])
  readonly #timers = new Map<number, () => void>()
  #last = 0

  constructor(platform: Platform, copy?: (text: string) => unknown) {
    this.#platform = platform
    this.#copy = copy
  }

  readonly dismiss = (id: number): void => {
    this.#timers.get(id)?.()
    this.#timers.delete(id)
    this.list.value = this.list.value.filter(toast => toast.id !== id)
  }

  readonly showError = (error: unknown): void => {
    const { message = String(error), copyable } = Object(error) as Partial<ApiError>
    const copy = this.#copy
    const action = copyable && copy && { label: copyable.label, run: () => copy(copyable.text) }
    this.show(message, { kind: 'error', action: action ?? null })
  }

  /** Keeps all toasts while they are hovered or focused. */
  readonly pauseTimers = (): void => {
    for (const stop of this.#timers.values()) stop()
    this.#timers.clear()
  }

  readonly resumeTimers = (): void => {
    for (const toast of this.list.value) this.#startTimer(toast)
  }

  show(text: string, options: Partial<Pick<Toast, 'kind' | 'action'>> = {}): number {
    this.#last += 1
    const toast: Toast = {
      id: this.#last,
      text,
      kind: options.kind ?? 'info',
      action: options.action ?? null,
    }
    // A repeated message replaces the earlier toast.
    for (const same of this.list.value.filter(toast => toast.text === text)) this.dismiss(same.id)
    for (const old of this.list.value.slice(0, -(MAX_TOASTS - 1))) this.dismiss(old.id)
    this.list.value = [...this.list.value, toast]
    this.#startTimer(toast)
    return toast.id
  }

  /** Removes messages whose cause is gone. */
  dismissText(text: string): void {
    for (const other of this.list.value.filter(toast => toast.text === text)) this.dismiss(other.id)
  }

  #startTimer(toast: Toast): void {
    this.#timers.get(toast.id)?.()
    const shownMs = toast.action || toast.kind === 'error' ? WITH_ACTION_MS : SHOWN_MS
    this.#timers.set(
      toast.id,
      this.#platform.clock.timer(shownMs, () => this.dismiss(toast.id)),
    )
  }
}
