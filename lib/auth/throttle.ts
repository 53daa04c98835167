/** Five wrong passwords a minute from one client, then silence until the window clears; a restart does not clear it. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { messageOf, tooMany } from '../errors.ts'
import { readWholeText } from '../store/read-text.ts'

const MAX_ATTEMPTS = 5
/** For all clients together that one proxy nobody has configured vouches for: any local program can claim to be one. */
const MAX_ATTEMPTS_VIA_PROXY = 20
const WINDOW_MS = 60_000
const MAX_CLIENTS = 10_000
/** What a restart remembers; the file is written at each attempt. */
const MAX_SAVED_CLIENTS = 1_000

export type ClientAddress = {
  address: string
  /** The proxy whose word for `address` is all there is. */
  via?: string | undefined
}

/**
 * What is counted as one client: an IPv4 address in whatever spelling, or a /64, which one home or host usually owns
 * and could otherwise try from each of its addresses.
 */
export const bucketOf = (address: string): string => {
  const bare = address.split('%', 1)[0] ?? ''
  if (!ipaddr.isValid(bare)) return address
  const parsed = ipaddr.process(bare)
  if (parsed.kind() === 'ipv4') return parsed.toString()
  return (parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map(part => part.toString(16))
    .join(':')
}

export type Throttle = {
  /**
   * Takes a slot BEFORE the password is looked at, else a parallel burst would all pass the count. Refuses when none
   * is left, even for the right password.
   */
  take(from: ClientAddress): Slot
}

export type Slot = {
  /** It was no attempt after all: nobody looked at the password. */
  release(): void
  /** The password was right: earlier mistakes are forgotten. */
  clear(): void
}

/** Client → times of its attempts, in milliseconds since 1970. */
const Saved = z.record(z.string(), z.array(z.number()))

export type ThrottleOptions = {
  /** Absent: nothing is remembered over a restart. */
  path?: string | undefined
  /** Milliseconds since 1970; used for the file alone. */
  now?: () => number
  /** Milliseconds that never run backwards: a clock that is set does not lock anyone out. */
  ticks?: (() => number) | undefined
  warn?: (text: string) => void
}

export const openThrottle = ({
  path,
  now = Date.now,
  ticks = () => performance.now(),
  warn = () => {},
}: ThrottleOptions = {}): Throttle => {
  const load = (): [string, number[]][] => {
    if (path === undefined) return []
    let saved: z.infer<typeof Saved>
    try {
      saved = Saved.parse(JSON.parse(readWholeText(path)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        warn(`${path} cannot be read; earlier sign-in attempts are not counted`)
      return []
    }
    const [at, wall] = [ticks(), now()]
    return Object.entries(saved).map(([client, times]) => [
      client,
      // A time in the future was written before the clock was set back: it counts from now on.
      times.map(time => at - Math.max(0, wall - time)),
    ])
  }

  const attempts = new Map<string, number[]>(load())
  let isBroken = false

  const recent = (client: string, at: number): number[] =>
    (attempts.get(client) ?? []).filter(time => time > at - WINDOW_MS)

  const save = (): void => {
    if (path === undefined) return
    const [at, wall] = [ticks(), now()]
    const rows = [...attempts.keys()]
      .slice(-MAX_SAVED_CLIENTS)
      .map(client => [client, recent(client, at).map(time => wall - (at - time))] as const)
      .filter(([, times]) => times.length > 0)
    try {
      // Renamed into place, not synced: a power cut may forget a minute, a killed process does not.
      rmSync(`${path}.tmp`, { force: true })
      writeFileSync(`${path}.tmp`, JSON.stringify(Object.fromEntries(rows)), {
        mode: 0o600,
        flag: 'wx',
      })
      renameSync(`${path}.tmp`, path)
      isBroken = false
    } catch (error) {
      if (!isBroken) warn(`${path} cannot be written: ${messageOf(error)}`)
      isBroken = true
    }
  }

  /** Kept in the order of the last attempt, so the first is the stalest. */
  const remember = (client: string, times: number[]) => {
    attempts.delete(client)
    if (times.length > 0) attempts.set(client, times)
    // Under a flood from everywhere the stalest go; the queue of hashes bounds what such a flood can try.
    const [stalest] = attempts.keys()
    if (attempts.size > MAX_CLIENTS && stalest !== undefined) attempts.delete(stalest)
  }

  return {
    take({ address, via }) {
      const at = ticks()
      const counted: [string, number][] = [[bucketOf(address), MAX_ATTEMPTS]]
      if (via !== undefined) counted.push([`via ${bucketOf(via)}`, MAX_ATTEMPTS_VIA_PROXY])
      for (const [client, most] of counted)
        if (recent(client, at).length >= most)
          throw tooMany('Too many attempts. Try again in a minute.', { code: 'too_many_sign_ins' })
      for (const [client] of counted) remember(client, [...recent(client, at), at])
      save()
      const withdraw = (client: string) => {
        const times = attempts.get(client) ?? []
        const i = times.indexOf(at)
        if (i >= 0) remember(client, times.toSpliced(i, 1))
      }
      return {
        release() {
          for (const [client] of counted) withdraw(client)
          save()
        },
        clear() {
          attempts.delete(bucketOf(address))
          // Only its own attempt: a right password says nothing about the others behind the proxy.
          if (via !== undefined) withdraw(`via ${bucketOf(via)}`)
          save()
        },
      }
    },
  }
}
