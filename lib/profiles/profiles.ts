/** Lists, creates and deletes profiles. */
import type { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { messageOf } from '../errors.ts'
import type { Profile } from '../schema/profile.ts'
import { checkNewName, createProfile, type NewProfile } from './create-profile.ts'
import type { Home } from './home.ts'
import type { Homes } from './homes.ts'
import { toProfile } from './profile-summary.ts'
import { requireDeletable, deleteProfile, removeDeletedProfiles } from './delete-profile.ts'

type ProfilesOptions = {
  homes: Homes
  acceptedSettings: AcceptedSettings
  env: Readonly<Record<string, string>>
  log: (message: string, extra?: Record<string, unknown>) => void
  /** Notifies open pages that a profile was deleted. */
  onDeleted: (name: string) => void
}

export class Profiles {
  readonly #options: ProfilesOptions
  readonly checkName = checkNewName
  readonly checkRemovable = requireDeletable
  readonly record = toProfile

  constructor(options: ProfilesOptions) {
    this.#options = options
    void this.#finish(removeDeletedProfiles(options.homes.dir))
  }

  /** The profile is deleted; removing its files is retried at the next start. */
  async #finish(removal: Promise<void>): Promise<void> {
    try {
      await removal
    } catch (error) {
      const { log } = this.#options
      log('could not remove the files of a deleted profile', { error: messageOf(error) })
    }
  }

  /** `active`: the caller's profile. */
  list(active: string): Promise<Profile[]> {
    return Promise.all(this.#options.homes.list().map(home => toProfile(home, active)))
  }

  create(given: NewProfile): Home {
    const home = createProfile(this.#options.homes, this.#options.env, given)
    this.#options.acceptedSettings.created(home.name, given.source?.name)
    // What the person entered for the new profile.
    this.#options.acceptedSettings.edited(
      home.name,
      given.source?.config.peek() ?? {},
      home.config.peek(),
    )
    return home
  }

  async remove(home: Home): Promise<void> {
    const removal = deleteProfile(this.#options.homes, home)
    this.#options.acceptedSettings.forget(home.name)
    this.#options.onDeleted(home.name)
    await this.#finish(removal)
  }
}
