/** Settings as each person has chosen them: those of the first owner are the server's, others add their own to them. */
import type { SettingsStore } from '../profiles/settings.ts'
import type { Settings } from '../base/settings.ts'
import type { People } from './people.ts'

export class PersonalSettings {
  readonly #settings: SettingsStore
  readonly #people: People

  constructor(settings: SettingsStore, people: People) {
    this.#settings = settings
    this.#people = people
  }

  /** Those of the server for a person who was removed, and for no person. */
  of({ id }: { id: string }): Settings {
    const own = this.#readableOf(id)
    return own ? this.#settings.of(own) : this.#settings.get()
  }

  /** Returns the keys that are no personal settings, and those with invalid values. */
  save({ id }: { id: string }, patch: Readonly<Record<string, unknown>>): string[] {
    const { accepted, ignored } = this.#settings.acceptPersonal(patch)
    if (Object.keys(accepted).length === 0) return ignored
    if (id === '') this.#settings.save(accepted)
    else this.#people.change(id, { settings: { ...this.#ownOf(id), ...accepted } })
    return ignored
  }

  #ownOf(id: string) {
    return id === '' ? undefined : this.#people.find(id)?.settings
  }

  #readableOf(id: string) {
    try {
      return this.#ownOf(id)
    } catch {
      // The file of the people cannot be read, which the sign-in says. A notification is sent all the same.
      return undefined
    }
  }
}
