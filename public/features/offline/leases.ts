/**
 * Locks over plain HTTP, where browsers have no Web Locks: leases in localStorage, renewed while the work runs. Storage has no
 * compare-and-set, so two tabs may get one in the same moment; a message is then sent twice with one id, and the server takes it once.
 */
import type { JsonStorage, Platform } from '../../platform.ts'

const LEASE_MS = 6_000
const RENEW_MS = 2_000
const RETRY_MS = 300

type Lease = { tab: string; until: number }

type Options = Pick<Platform, 'clock'> & { storage: JsonStorage; tab: string }

export type Leases = {
  exclusively: <T>(name: string, work: () => Promise<T>) => Promise<T>
  /** The page is closed: others need not wait until its leases end. */
  dropAll: () => void
}

export const createLeases = ({ storage, tab, clock }: Options): Leases => {
  const held = new Set<string>()
  let isRenewing = false
  /** The last work of each name in this tab. */
  const last = new Map<string, Promise<unknown>>()
  const keyOf = (name: string): string => `lease:${name}`
  const write = (name: string): void =>
    storage.write(keyOf(name), { tab, until: clock.now() + LEASE_MS } satisfies Lease)

  const take = (name: string): boolean => {
    const lease = storage.read<Lease | null>(keyOf(name), null)
    const left = lease && lease.tab !== tab ? lease.until - clock.now() : 0
    // More is left only when the clock was set back.
    if (left > 0 && left <= LEASE_MS) return false
    write(name)
    held.add(name)
    if (!isRenewing) clock.timer(RENEW_MS, renew)
    isRenewing = true
    return true
  }

  const renew = (): void => {
    for (const name of held) write(name)
    isRenewing = held.size > 0
    if (isRenewing) clock.timer(RENEW_MS, renew)
  }

  const drop = (name: string): void => {
    if (held.delete(name)) storage.remove(keyOf(name))
  }

  const run = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    while (!take(name)) await new Promise<void>(resolve => clock.timer(RETRY_MS, resolve))
    try {
      return await work()
    } finally {
      drop(name)
    }
  }

  return {
    exclusively(name, work) {
      const before = last.get(name)
      // At once where it is free: a message is stored in the same tick.
      const mine = before ? before.then(() => run(name, work)) : run(name, work)
      const ended = mine.then(
        () => undefined,
        () => undefined,
      )
      last.set(name, ended)
      void ended.then(() => {
        if (last.get(name) === ended) last.delete(name)
      })
      return mine
    },
    dropAll() {
      for (const name of [...held]) drop(name)
    },
  }
}
