/**
 * Requests that wait for an owner's answer, or read it. They are cut when another process owns the cell: a machine whose
 * network is gone never closes a connection, and says nothing any more.
 */
import type { ClientRequest } from 'node:http'
import { type Clock, every } from '../base/clock.ts'

type Open = { cell: string; epoch: number; upstream: ClientRequest }

export type OpenUpstreams = {
  add(cell: string, epoch: number, upstream: ClientRequest): void
  close(): void
}

export const createOpenUpstreams = (
  clock: Pick<Clock, 'timer'>,
  ownerOf: (cell: string) => Promise<{ epoch: number } | null>,
  everyMs: number,
): OpenUpstreams => {
  const open = new Set<Open>()
  let stopLooks: (() => void) | undefined
  let isLooking = false

  const look = async (): Promise<void> => {
    isLooking = true
    for (const cell of new Set([...open].map(each => each.cell))) {
      // Without an answer of the database, the next look decides.
      const owner = await ownerOf(cell).catch(() => null)
      for (const each of open)
        if (owner && each.cell === cell && each.epoch < owner.epoch)
          each.upstream.destroy(new Error('another process serves this now'))
    }
    isLooking = false
  }

  return {
    add(cell, epoch, upstream) {
      const entry = { cell, epoch, upstream }
      open.add(entry)
      upstream.once('close', () => open.delete(entry))
      stopLooks ??= every(clock, everyMs, () => {
        if (!isLooking && open.size > 0) void look()
      })
    },
    close: () => stopLooks?.(),
  }
}
