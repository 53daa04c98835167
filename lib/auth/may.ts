/** The one rule of roles: what a person may do in a profile. */
import type { Access, Caller } from '../schema/person.ts'

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
