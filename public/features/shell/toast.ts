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
export const createToasts = (
  { clock }: Pick<Platform, 'clock'>,
  copy?: (text: string) => unknown,
) => {
  const list = signal<readonly Toast[]>([])
  const timers = new Map<number, () => void>()
  let last = 0

  const dismiss = (id: number): void => {
    timers.get(id)?.()
    timers.delete(id)
    list.value = list.value.filter(toast => toast.id !== id)
  }

  const startTimer = (toast: Toast): void => {
    timers.get(toast.id)?.()
    const shownMs = toast.action || toast.kind === 'error' ? WITH_ACTION_MS : SHOWN_MS
    timers.set(
      toast.id,
      clock.timer(shownMs, () => dismiss(toast.id)),
    )
  }

  const show = (text: string, options: Partial<Pick<Toast, 'kind' | 'action'>> = {}): number => {
    last += 1
    const toast: Toast = {
      id: last,
      text,
      kind: options.kind ?? 'info',
      action: options.action ?? null,
    }
    // A repeated message replaces the earlier toast.
    for (const same of list.value.filter(shown => shown.text === text)) dismiss(same.id)
    for (const old of list.value.slice(0, -(MAX_TOASTS - 1))) dismiss(old.id)
    list.value = [...list.value, toast]
    startTimer(toast)
    return toast.id
  }

  return {
    list,
    show,
    dismiss,
    /** Removes messages whose cause is gone. */
    dismissText(text: string): void {
      for (const shown of list.value.filter(toast => toast.text === text)) dismiss(shown.id)
    },
    showError: (error: unknown): void => {
      const { message = String(error), detail } = Object(error) as Partial<ApiError>
      const action = detail && copy && { label: detail.label, run: () => copy(detail.text) }
      show(message, { kind: 'error', action: action ?? null })
    },
    /** Keeps all toasts while they are hovered or focused. */
    pauseTimers(): void {
      for (const stop of timers.values()) stop()
      timers.clear()
    },
    resumeTimers(): void {
      for (const toast of list.value) startTimer(toast)
    },
  }
}

export type Toasts = ReturnType<typeof createToasts>
