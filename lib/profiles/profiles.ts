/** Lists, creates and deletes profiles. */
import type { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { messageOf } from '../errors.ts'
import type { Profile } from '../schema/profile.ts'
import { checkNewName, createProfile, type NewProfile } from './create-profile.ts'
import type { Home } from './home.ts'
import type { Homes } from './homes.ts'
import { toProfile } from './profile-summary.ts'
import { requireDeletable, deleteProfile, removeDeletedProfiles } from './delete-profile.ts'

export class Profiles {
  readonly #homes: Homes
  readonly #accepted: Pick<AcceptedSettings, 'created' | 'edited' | 'forget'>
  readonly #env: Readonly<Record<string, string>>
  readonly #log: (message: string, extra?: Record<string, unknown>) => void
  readonly #onDeleted: (name: string) => void
  /** The profile is deleted; removing its files is retried at the next start. */
  readonly #logFailure = (error: unknown) =>
    this.#log('could not remove the files of a deleted profile', { error: messageOf(error) })
  readonly checkName = checkNewName
  readonly checkRemovable = requireDeletable
  readonly record = toProfile

  constructor({
    homes,
    acceptedSettings: accepted,
    env,
    log,
    onDeleted,
  }: {
    homes: Homes
    acceptedSettings: Pick<AcceptedSettings, 'created' | 'edited' | 'forget'>
    env: Readonly<Record<string, string>>
    log: (message: string, extra?: Record<string, unknown>) => void
    /** Notifies open pages that a profile was deleted. */
    onDeleted: (name: string) => void
  }) {
    this.#homes = homes
    this.#accepted = accepted
    this.#env = env
    this.#log = log
    this.#onDeleted = onDeleted
    void removeDeletedProfiles(homes.dir).catch(this.#logFailure)
  }

  /** `active`: the caller's profile. */
  list(active: string): Promise<Profile[]> {
    return Promise.all(this.#homes.list().map(home => toProfile(home, active)))
  }

  create(given: NewProfile): Home {
    const home = createProfile(this.#homes, this.#env, given)
    this.#accepted.created(home.name, given.source?.name)
    // What the person entered for the new profile.
    this.#accepted.edited(home.name, given.source?.config.peek() ?? {}, home.config.peek())
    return home
  }

  async remove(home: Home): Promise<void> {
    const removal = deleteProfile(this.#homes, home)
    this.#accepted.forget(home.name)
    this.#onDeleted(home.name)
    await removal.catch(this.#logFailure)
  }
}
