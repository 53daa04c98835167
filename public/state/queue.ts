/** Messages written while a turn runs: kept by this tab, sent one by one when the turn has ended well. */
import { signal } from '@preact/signals'
import type { Platform } from './platform.ts'

export type Queued = { id: number; text: string; files: readonly string[] }
type Queues = Readonly<Record<string, readonly Queued[]>>

export const createQueue = ({ tab, nowMs }: Pick<Platform, 'tab' | 'nowMs'>) => {
  const all = signal<Queues>(tab.read<Queues>('queue', {}))
  const of = (session: string): readonly Queued[] => all.value[session] ?? []
  const set = (session: string, list: readonly Queued[]): void => {
    const { [session]: _, ...rest } = all.value
    all.value = list.length > 0 ? { ...rest, [session]: list } : rest
    tab.write('queue', all.value)
  }

  return {
    all,
    of,
    add(session: string, text: string, files: readonly string[]): void {
      const id = Math.max(nowMs(), (of(session).at(-1)?.id ?? 0) + 1)
      set(session, [...of(session), { id, text, files }])
    },
    /** Puts one back in front: it could not be sent. */
    putBack: (session: string, item: Queued): void => set(session, [item, ...of(session)]),
    remove(session: string, id: number): Queued | undefined {
      const item = of(session).find(one => one.id === id)
      if (item)
        set(
          session,
          of(session).filter(one => one !== item),
        )
      return item
    },
    next(session: string): Queued | undefined {
      const [first, ...rest] = of(session)
      if (first) set(session, rest)
      return first
    },
  }
}

export type Queue = ReturnType<typeof createQueue>
