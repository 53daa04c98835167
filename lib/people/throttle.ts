/** Sign-in throttle: five wrong passwords per minute and client. Survives a restart. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { messageOf, tooMany } from '../errors.ts'
import { readWholeText } from '../store/read-text.ts'

const MAX_ATTEMPTS = 5
/** For all clients behind a proxy that was not configured: any local program can claim to be one. */
const MAX_ATTEMPTS_VIA_PROXY = 20
const WINDOW_MS = 60_000
const MAX_CLIENTS = 10_000
/** Clients in the file, which is written at every attempt. */
const MAX_SAVED_CLIENTS = 1_000

export type ClientAddress = {
  address: string
  /** The unconfigured proxy that reported `address`. */
  via?: string | undefined
}

/**
 * The key that attempts are counted under: a normalized IPv4 address, or an IPv6 /64, which usually belongs to one
 * network that could otherwise use each of its addresses.
 */
export const bucketOf = (address: string): string => {
  const bare = address.split('%', 1)[0] ?? ''
  if (!ipaddr.isValid(bare)) return address
  const ip = ipaddr.process(bare)
  if (ip.kind() === 'ipv4') return ip.toString()
  return (ip as ipaddr.IPv6).parts
    .slice(0, 4)
    .map(part => part.toString(16))
    .join(':')
}

export type Slot = {
  /** Gives the slot back: the password was not checked. */
  release(): void
  /** The password was correct: clears earlier attempts. */
  clear(): void
}

/** Client → times of its attempts, in milliseconds since 1970. */
export const ThrottleFile = z.record(z.string(), z.array(z.number()))

export class Throttle {
  readonly #path: string | undefined
  readonly #clock: Clock
  readonly #warn: (text: string) => void
  readonly #maxAttempts: number
  readonly #windowMs: number
  readonly #refusal: () => Error
  readonly #attempts
  #isBroken = false

  constructor({
    path,
    clock,
    warn = () => {},
    maxAttempts = MAX_ATTEMPTS,
    windowMs = WINDOW_MS,
    refusal = () =>
      tooMany('Too many attempts. Try again in a minute.', { code: 'too_many_sign_ins' }),
  }: {
    /** Absent: attempts are lost at a restart. */
    path?: string | undefined
    /** Attempts age by its monotonic time: setting the clock must not lock clients out. The file has the time of day. */
    clock: Clock
    warn?: (text: string) => void
    maxAttempts?: number
    windowMs?: number
    /** The 429. */
    refusal?: () => Error
  }) {
    this.#path = path
    this.#clock = clock
    this.#warn = warn
    this.#maxAttempts = maxAttempts
    this.#windowMs = windowMs
    this.#refusal = refusal
    this.#attempts = new Map<string, number[]>(this.#load())
  }

  /**
   * Takes a slot BEFORE the password is looked at, else a parallel burst would all pass the count. Throws a 429 when
   * none is left, even for the right password.
   */
  take({ address, via }: ClientAddress): Slot {
    const at = this.#clock.monotonic()
    const counted: [string, number][] = [[bucketOf(address), this.#maxAttempts]]
    if (via !== undefined) counted.push([`via ${bucketOf(via)}`, MAX_ATTEMPTS_VIA_PROXY])
    for (const [client, max] of counted)
      if (this.#recent(client, at).length >= max) throw this.#refusal()
    for (const [client] of counted) this.#setAttempts(client, [...this.#recent(client, at), at])
    this.#save()
    const withdraw = (client: string) => {
      const times = this.#attempts.get(client) ?? []
      const i = times.indexOf(at)
      if (i >= 0) this.#setAttempts(client, times.toSpliced(i, 1))
    }
    return {
      release: () => {
        for (const [client] of counted) withdraw(client)
        this.#save()
      },
      clear: () => {
        this.#attempts.delete(bucketOf(address))
        // Only this attempt: a correct password says nothing about other clients behind the proxy.
        if (via !== undefined) withdraw(`via ${bucketOf(via)}`)
        this.#save()
      },
    }
  }

  #load(): [string, number[]][] {
    if (this.#path === undefined) return []
    let file: z.infer<typeof ThrottleFile>
    try {
      file = ThrottleFile.parse(JSON.parse(readWholeText(this.#path)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#warn(`${this.#path} cannot be read; earlier sign-in attempts are not counted`)
      return []
    }
    const [at, wall] = [this.#clock.monotonic(), this.#clock.now()]
    return Object.entries(file).map(([client, times]) => [
      client,
      // A time in the future was written before the clock was set back; it counts as now.
      times.map(time => at - Math.max(0, wall - time)),
    ])
  }

  #recent(client: string, at: number): number[] {
    return (this.#attempts.get(client) ?? []).filter(time => time > at - this.#windowMs)
  }

  #save(): void {
    if (this.#path === undefined) return
    const [at, wall] = [this.#clock.monotonic(), this.#clock.now()]
    const rows = [...this.#attempts.keys()]
      .slice(-MAX_SAVED_CLIENTS)
      .map(client => [client, this.#recent(client, at).map(time => wall - (at - time))] as const)
      .filter(([, times]) => times.length > 0)
    try {
      // Renamed but not synced: survives a kill. A power cut may lose a minute of attempts.
      rmSync(`${this.#path}.tmp`, { force: true })
      writeFileSync(`${this.#path}.tmp`, JSON.stringify(Object.fromEntries(rows)), {
        mode: 0o600,
        flag: 'wx',
      })
      renameSync(`${this.#path}.tmp`, this.#path)
      this.#isBroken = false
    } catch (error) {
      if (!this.#isBroken) this.#warn(`${this.#path} cannot be written: ${messageOf(error)}`)
      this.#isBroken = true
    }
  }

  /** Ordered by last attempt, so the first entry is the oldest. */
  #setAttempts(client: string, times: number[]) {
    this.#attempts.delete(client)
    if (times.length > 0) this.#attempts.set(client, times)
    // Under a distributed attack the oldest are dropped; the hash queue bounds the number of attempts.
    const [oldest] = this.#attempts.keys()
    if (this.#attempts.size > MAX_CLIENTS && oldest !== undefined) this.#attempts.delete(oldest)
  }
}
