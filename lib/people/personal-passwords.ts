/** Passwords and sign-ins of people beside the first owner, who has the password of the server. */
import { isSameSecret } from '../base/sha256.ts'
import { unauthorized } from '../errors.ts'
import { fingerprintOf } from './auth-mode.ts'
import { verifyCookie } from './cookie.ts'
import type { SignIn, SignIns } from './login-sessions.ts'
import { normalizePassword, passwordCandidates } from './normalize-password.ts'
import type { Hasher } from './password.ts'
import type { People, Person } from './people.ts'

export type PeopleOfSignIn = Pick<People, 'caller' | 'find' | 'hasOthers' | 'named' | 'owner'>

/** What sign-ins of a person are bound to: a new password ends them, as it ends those of the first owner. */
export const stampOf = ({ id, password }: Pick<Person, 'id' | 'password'>): string =>
  fingerprintOf(password ?? `person ${id}`)

/** The id is hashed too, so that equal passwords have different hashes. */
const textOf = (id: string, password: string): string => `${id}:${password}`

/** For a name that no one has, so that it takes as long as a wrong password. */
const UNKNOWN: Pick<Person, 'id' | 'password'> = { id: '' }

type Parts = {
  people: PeopleOfSignIn | undefined
  hasher: Hasher
  key: Buffer
  signIns: SignIns
  lookup: {
    find(cookie: string | undefined): SignIn | undefined
    end(matches: (entry: SignIn) => boolean): number
    clearCache(): void
  }
}

export const createPersonalPasswords = ({ people, hasher, key, signIns, lookup }: Parts) => {
  const isPasswordOf = async (
    { id, password: expected }: Pick<Person, 'id' | 'password'>,
    password: string,
  ): Promise<boolean> => {
    for (const candidate of passwordCandidates(password)) {
      const hash = await hasher.hash(textOf(id, candidate))
      if (expected && isSameSecret(expected, hash)) return true
    }
    return false
  }

  return {
    /** The person of this name, if it is their password; undefined: no name, or that of the first owner. Throws a 401. */
    async verifyNamed(name: string, password: string): Promise<Person | undefined> {
      if (!people || name.trim() === '') return undefined
      const person = people.named(name)
      if (person?.id === people.owner().id) return undefined
      const isRight = await isPasswordOf(person ?? UNKNOWN, password)
      if (!person || !isRight) throw unauthorized('Invalid password', { code: 'wrong_password' })
      return person
    },

    async verifyPerson(id: string, password: string): Promise<boolean> {
      const person = people?.find(id)
      return person !== undefined && (await isPasswordOf(person, password))
    },

    forAuth: {
      /** Hash of a new password of a person. Throws a 400 for one that cannot be used. */
      hashFor: (id: string, password: string): Promise<string> =>
        hasher.hash(textOf(id, normalizePassword(password))),

      /** The person of the sign-in that `signInOf` named; undefined: the first owner. */
      personBehind: (hash: string): string | undefined =>
        signIns.list().find(entry => entry.hash === hash)?.person,

      /** Ends the sign-ins of a person, except that of the cookie `keep`. */
      endPerson(id: string, keep?: string): void {
        const own = lookup.find(keep)
        lookup.end(({ person, hash }) => person === id && hash !== own?.hash)
      },

      /** Binds the sign-in of a cookie to the new password of its person. */
      rebindPerson(cookie: string | undefined, person: Person): void {
        const token = cookie === undefined ? undefined : verifyCookie(key, cookie)
        const entry = token === undefined ? undefined : signIns.find(token)
        lookup.clearCache()
        if (entry?.person === person.id) signIns.rebind(entry, stampOf(person))
      },
    },
  }
}
