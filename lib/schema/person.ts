/** People: their roles, and what an endpoint asks of them. */
import { z } from 'zod'

/** An owner decides, a member works, and a viewer reads; the last two in the profiles they were given. */
export const Role = z.enum(['owner', 'member', 'viewer'])
export type Role = z.infer<typeof Role>

/** What an endpoint asks of the person: to see something, to have something done, or to decide about the server. */
export type Access = 'read' | 'work' | 'own'

/** Who makes a request. */
export type Caller = {
  /** Empty: the owner who has the password of the server. */
  readonly id: string
  readonly role: Role
  /** Profiles that were given; null: all, for owners. */
  readonly profiles: readonly string[] | null
}

/** Who makes requests of a server without a password, or signed in with that password. */
export const OWNER: Caller = { id: '', role: 'owner', profiles: null }

/** A request that no person makes: of a public endpoint, or of a program with a token. */
export const NO_PERSON: Caller = { id: '-', role: 'viewer', profiles: [] }
