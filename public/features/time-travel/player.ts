/** Plays a film: position, speed, pause. The clock is the caller's. */
import { computed, signal } from '@preact/signals'
import { advance, type Film, type Moment, stepFrom } from './film.ts'

export const SPEEDS = [1, 4, 16] as const
export type Speed = (typeof SPEEDS)[number]

/** A tab in the background gets no frames: afterwards the film continues where it was. */
const MAX_TICK_MS = 250

/** `isStepped`: shows whole steps only. */
export const createPlayer = (
  film: Film,
  { from, isStepped }: { from: Moment; isStepped: boolean },
) => {
  const end = film.messages.length
  const exact = signal<Moment>(Math.min(from, end))
  const playing = signal(false)
  const speed = signal<Speed>(1)
  const isAtEnd = computed(() => exact.value >= end)
  const seek = (to: Moment): void => {
    exact.value = Math.max(0, Math.min(end, to))
    if (exact.value >= end) playing.value = false
  }
  return {
    end,
    playing,
    speed,
    isAtEnd,
    /** The moment to show. */
    at: computed(() => (isStepped ? Math.floor(exact.value) : exact.value)),
    seek,
    step(by: 1 | -1): void {
      playing.value = false
      seek(stepFrom(film, exact.value, by))
    },
    toggle(): void {
      if (!playing.value && isAtEnd.value) exact.value = 0
      playing.value = !playing.value && end > 0
    },
    tick(ms: number): void {
      if (playing.value) seek(advance(film, exact.value, Math.min(ms, MAX_TICK_MS) * speed.value))
    },
  }
}

export type Player = ReturnType<typeof createPlayer>
