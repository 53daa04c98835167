/**
 * Requests that wait for an owner's answer, or read it. They are cut when another process owns the cell: a machine whose
 * network is gone never closes a connection, and says nothing any more.
 */
import type { ClientRequest } from 'node:http'
import { type Clock, every } from '../base/clock.ts'

type Open = { cell: string; epoch: number; upstream: ClientRequest }

export class OpenUpstreams {
  readonly #clock: Pick<Clock, 'timer'>
  readonly #ownerOf: (cell: string) => Promise<{ epoch: number } | null>
  readonly #everyMs: number
  readonly #open = new Set<Open>()
  #stopLooks: (() => void) | undefined
  #isLooking = false

  constructor(
    clock: Pick<Clock, 'timer'>,
    ownerOf: (cell: string) => Promise<{ epoch: number } | null>,
    everyMs: number,
  ) {
    this.#clock = clock
    this.#ownerOf = ownerOf
    this.#everyMs = everyMs
  }

  add(cell: string, epoch: number, upstream: ClientRequest): void {
    const entry = { cell, epoch, upstream }
    this.#open.add(entry)
    upstream.once('close', () => this.#open.delete(entry))
    this.#stopLooks ??= every(this.#clock, this.#everyMs, () => {
      if (!this.#isLooking && this.#open.size > 0) void this.#look()
    })
  }

  close(): void {
    this.#stopLooks?.()
  }

  async #look(): Promise<void> {
    this.#isLooking = true
    for (const cell of new Set([...this.#open].map(each => each.cell))) {
      // Without an answer of the database, the next look decides.
      const owner = await this.#ownerOf(cell).catch(() => null)
      for (const each of this.#open)
        if (owner && each.cell === cell && each.epoch < owner.epoch)
          each.upstream.destroy(new Error('another process serves this now'))
    }
    this.#isLooking = false
  }
}
