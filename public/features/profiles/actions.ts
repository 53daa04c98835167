/** Entering and leaving profiles: everything the page holds belongs to one of them, so it is loaded anew in the other. */
import { urlOf } from '../../api.ts'
import type { Composer } from '../composer/composer.ts'
import type { Platform } from '../../platform.ts'
import type { Profiles } from './profiles.ts'
import type { Toasts } from '../shell/toast.ts'
import { t } from '../../strings/t.ts'

export type ProfileVerbsOptions = {
  platform: Pick<Platform, 'base' | 'tab'> & { leave: (url: string) => void }
  toasts: Toasts
  profiles: Profiles
  composer: Pick<Composer, 'save'>
}

/** What the page says once it is there again. */
const SAID = 'said'

export const createProfileVerbs = ({
  platform,
  toasts,
  profiles,
  composer,
}: ProfileVerbsOptions) => {
  const { base, tab, leave } = platform

  /** This page moves by itself: what it hears of that from the service must not lead it elsewhere. */
  let moving = false

  const arrive = (name: string, path: string): void => {
    tab.write(SAID, t('profiles.entered', { name }))
    leave(urlOf(base, path))
  }

  return {
    /** `path` is where the page begins in the other profile: its conversations are others. */
    async enterProfile(name: string, path = ''): Promise<void> {
      if (name === profiles.active.value) return
      moving = true
      try {
        await composer.save()
        await profiles.enter(name)
        arrive(name, path)
      } catch (error) {
        moving = false
        toasts.fail(error)
      }
    },
    /** Throws the service's refusal. */
    async deleteProfile(name: string): Promise<void> {
      moving = true
      try {
        if (await profiles.remove(name)) return arrive('default', 'profiles')
      } catch (error) {
        moving = false
        throw error
      }
      moving = false
    },
    /** Asked whenever somebody looks at this page again: another tab of the browser may have moved it. */
    async followProfile(): Promise<void> {
      try {
        if (!moving && (await profiles.hasMoved()) && !moving) leave(urlOf(base, ''))
      } catch {
        // Unreachable or signed out: whoever asks next will say so.
      }
    },
    greet(): void {
      const said = tab.read(SAID, '')
      if (!said) return
      tab.write(SAID, '')
      toasts.show(said)
    },
  }
}

export type ProfileVerbs = ReturnType<typeof createProfileVerbs>
