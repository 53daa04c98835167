/** Five wrong passwords a minute from one client, then silence until the window clears. */
import { isIPv6 } from 'node:net'
import { tooMany } from '../errors.ts'

const ATTEMPTS = 5
const WINDOW_MS = 60_000
const CLIENTS = 10_000

/** One home or host usually owns a whole /64, and could otherwise try from each of its addresses. */
export const bucketOf = (address: string): string => {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('%', 1)[0]!.split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros =
    tail === undefined ? [] : Array(Math.max(0, 8 - groups.length - after.length)).fill('0')
  return [...groups, ...zeros, ...after]
    .slice(0, 4)
    .map(group => Number.parseInt(group, 16).toString(16))
    .join(':')
}

export type Throttle = {
  /**
   * Takes a slot BEFORE the password is looked at, else a parallel burst would all pass the count. Refuses when none
   * is left, even for the right password.
   */
  take(address: string): Slot
}

export type Slot = {
  /** It was no attempt after all: nobody looked at the password. */
  giveBack(): void
  /** The password was right: earlier mistakes are forgotten. */
  clear(): void
}

export const createThrottle = (now: () => number = Date.now): Throttle => {
  const taken = new Map<string, number[]>()

  /** Kept in the order of the last attempt, so the first is the stalest. */
  const remember = (client: string, times: number[]) => {
    taken.delete(client)
    taken.set(client, times)
    // Under a flood from everywhere the stalest go; the queue of hashes bounds what such a flood can try.
    const [stalest] = taken.keys()
    if (taken.size > CLIENTS && stalest !== undefined) taken.delete(stalest)
  }

  return {
    take(address) {
      const client = bucketOf(address)
      const at = now()
      const recent = (taken.get(client) ?? []).filter(time => time > at - WINDOW_MS)
      if (recent.length >= ATTEMPTS) throw tooMany('Too many attempts. Try again in a minute.')
      remember(client, [...recent, at])
      return {
        giveBack() {
          const times = taken.get(client) ?? []
          const i = times.indexOf(at)
          if (i >= 0) taken.set(client, times.toSpliced(i, 1))
        },
        clear: () => void taken.delete(client),
      }
    },
  }
}
