/** The signed-in devices: one per sign-in, with the name a person gave it, when and how it was used, and signing it out. */
import type { SignIn, SignInMethod, SignIns } from './login-sessions.ts'

export type Device = {
  /** First characters of the token's hash. */
  id: string
  created_at: number
  expires_at: number
  /** Of the sign-in. */
  address: string
  agent: string
  /** The device that made this request. */
  current: boolean
  /** Empty: never renamed; a client shows what the user agent says. */
  name: string
  how: SignInMethod
  /** To the minute. */
  seen_at: number
  seen_address: string
  /** Id of the person who signed in; absent: the first owner. */
  person?: string
}

const DEVICE_ID_CHARS = 16

export const deviceIdOf = ({ hash }: Pick<SignIn, 'hash'>): string => hash.slice(0, DEVICE_ID_CHARS)

/** `find` resolves a cookie; `end` signs out the matching sign-ins and returns their number. */
export type DeviceLookup = {
  find(cookie: string | undefined): SignIn | undefined
  isBound(entry: SignIn): boolean
  end(matches: (entry: SignIn) => boolean): number
}

const toDevice = (entry: SignIn, current: boolean): Device => {
  const { created_at, expires_at, address, agent } = entry
  return {
    id: deviceIdOf(entry),
    created_at,
    expires_at,
    address,
    agent,
    current,
    name: entry.name ?? '',
    how: entry.how ?? 'password',
    seen_at: entry.seen_at ?? created_at,
    seen_address: entry.seen_address ?? address,
    ...(entry.person !== undefined && { person: entry.person }),
  }
}

export const createDevices = (signIns: SignIns, { find, isBound, end }: DeviceLookup) => {
  const bound = (): SignIn[] => signIns.list().filter(isBound)
  const byId = (id: string): SignIn | undefined =>
    id.length === DEVICE_ID_CHARS ? bound().find(({ hash }) => hash.startsWith(id)) : undefined
  const isMine = (entry: SignIn, own: SignIn | undefined): boolean => entry.person === own?.person

  return {
    /** Signed-in devices, newest first. */
    list(cookie: string | undefined): Device[] {
      const own = find(cookie)
      return bound()
        .map(entry => toDevice(entry, entry.hash === own?.hash))
        .toReversed()
    },

    /** Names a device; an empty name shows the user agent again. False when there is no such device. */
    rename(id: string, name: string): boolean {
      const entry = byId(id)
      if (entry) signIns.rename(entry, name)
      return entry !== undefined
    },

    /** Signs one device out; false when there is no such device. */
    revoke(id: string): boolean {
      const entry = byId(id)
      return entry !== undefined && end(other => other.hash === entry.hash) > 0
    },

    /** Signs out the devices that this identity signed in. */
    revokeIdentity(key: string): void {
      end(entry => entry.identity === key)
    },

    /** Signs out every device of the person except that of the cookie `keep`; returns their number. */
    revokeOthers(keep: string | undefined): number {
      const own = find(keep)
      return end(entry => entry.hash !== own?.hash && isMine(entry, own))
    },

    /** Whether a device is of the person of this cookie. */
    isOwnDevice(id: string, cookie: string | undefined): boolean {
      const entry = byId(id)
      return entry !== undefined && isMine(entry, find(cookie))
    },
  }
}
