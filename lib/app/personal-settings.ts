/** Settings as each person has chosen them: those of the first owner are the server's, others add their own to them. */
import type { People } from '../people/people.ts'
import type { Caller } from '../schema/person.ts'
import type { Settings } from '../base/settings.ts'
import type { SettingsStore } from '../profiles/settings.ts'

export type PersonalSettings = ReturnType<typeof createPersonalSettings>

export const createPersonalSettings = (
  settings: Pick<SettingsStore, 'get' | 'of' | 'save' | 'acceptPersonal'>,
  people: Pick<People, 'find' | 'change'>,
) => {
  const ownOf = (id: string) => (id === '' ? undefined : people.find(id)?.settings)
  const readableOf = (id: string) => {
    try {
      return ownOf(id)
    } catch {
      // The file of the people cannot be read, which the sign-in says. A notification is sent all the same.
      return undefined
    }
  }
  return {
    /** Of a person who was removed, or of no person: those of the server. */
    of({ id }: Pick<Caller, 'id'>): Settings {
      const own = readableOf(id)
      return own ? settings.of(own) : settings.get()
    },

    /** Returns the keys that are no personal settings, and those with invalid values. */
    save({ id }: Pick<Caller, 'id'>, patch: Readonly<Record<string, unknown>>): string[] {
      const { accepted, ignored } = settings.acceptPersonal(patch)
      if (Object.keys(accepted).length === 0) return ignored
      if (id === '') settings.save(accepted)
      else people.change(id, { settings: { ...ownOf(id), ...accepted } })
      return ignored
    },
  }
}
