/** Lists, creates and deletes profiles. */
import type { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { messageOf } from '../errors.ts'
import type { Profile } from '../schema/profile.ts'
import { checkNewName, createProfile, type NewProfile } from './create-profile.ts'
import type { Home } from './home.ts'
import type { Homes } from './homes.ts'
import { toProfile } from './profile-summary.ts'
import { requireDeletable, deleteProfile, removeDeletedProfiles } from './delete-profile.ts'

export type ProfilesOptions = {
  homes: Homes
  acceptedSettings: Pick<AcceptedSettings, 'created' | 'edited' | 'forget'>
  env: Readonly<Record<string, string>>
  log: (message: string, extra?: Record<string, unknown>) => void
  /** Notifies open pages that a profile was deleted. */
  onDeleted: (name: string) => void
}

export type Profiles = ReturnType<typeof createProfiles>

export const createProfiles = ({
  homes,
  acceptedSettings: accepted,
  env,
  log,
  onDeleted,
}: ProfilesOptions) => {
  /** The profile is deleted; removing its files is retried at the next start. */
  const logFailure = (error: unknown) =>
    log('could not remove the files of a deleted profile', { error: messageOf(error) })

  void removeDeletedProfiles(homes.dir).catch(logFailure)

  return {
    checkName: checkNewName,
    checkRemovable: requireDeletable,
    record: toProfile,
    /** `active`: the caller's profile. */
    list: (active: string): Promise<Profile[]> =>
      Promise.all(homes.list().map(home => toProfile(home, active))),
    create(given: NewProfile): Home {
      const home = createProfile(homes, env, given)
      accepted.created(home.name, given.source?.name)
      // What the person entered for the new profile.
      accepted.edited(home.name, given.source?.config.peek() ?? {}, home.config.peek())
      return home
    },
    async remove(home: Home): Promise<void> {
      const removal = deleteProfile(homes, home)
      accepted.forget(home.name)
      onDeleted(home.name)
      await removal.catch(logFailure)
    },
  }
}
