/** The one rule of roles: what a person may do in a profile. */
import type { Access, Caller } from '../schema/person.ts'

/**
 * What it takes to change something of a profile: asked by the route that changes it, and by the tools of the agent of whoever
 * began the turn.
 */
export const CHANGES = {
  skills: 'own',
  notes: 'own',
  commands: 'own',
  tasks: 'work',
} as const satisfies Record<string, Access>
export type RoleChange = keyof typeof CHANGES

/** What only a person does: sign in, change a password, invite others, be notified, and decide about what an agent asks. */
const PERSONAL =
  /^\/api\/(?:auth|people|notifications|approval|clarify\/respond|session\/(?:mode|yolo)|settings\/personal)(?:\/|$)/

/** Whether a program with a token may call a path at all. Its scope and its profile are then checked as a role: never an owner's. */
export const mayToken = (path: string): boolean => !PERSONAL.test(path)

/** `profile` null: something that belongs to no profile. */
export const may = (
  { role, profiles }: Pick<Caller, 'role' | 'profiles'>,
  access: Access,
  profile: string | null,
): boolean => {
  if (role === 'owner') return true
  if (access === 'own' || (access === 'work' && role !== 'member')) return false
  return profile === null || (profiles?.includes(profile) ?? false)
}
