/** Entering and leaving profiles: everything the page holds belongs to one of them, so it is loaded anew in the other. */
import { urlOf } from '../../api.ts'
import type { Composer } from '../composer/composer.ts'
import type { Platform } from '../../platform.ts'
import type { Profiles } from './profiles.ts'
import type { Toasts } from '../shell/toast.ts'
import { t } from '../../strings/t.ts'

export type ProfileActionsOptions = {
  platform: Pick<Platform, 'base' | 'tab'> & { navigate: (url: string) => void }
  toasts: Toasts
  profiles: Profiles
  composer: Pick<Composer, 'save'>
}

/** What the page says once it is there again. */
const PENDING_TOAST = 'said'

export const createProfileActions = ({
  platform,
  toasts,
  profiles,
  composer,
}: ProfileActionsOptions) => {
  const { base, tab, navigate } = platform

  /** This page moves by itself: what it hears of that from the service must not lead it elsewhere. */
  let moving = false

  const reloadIn = (name: string, path: string): void => {
    tab.write(PENDING_TOAST, t('profiles.entered', { name }))
    navigate(urlOf(base, path))
  }

  return {
    /** `path` is where the page begins in the other profile: its conversations are others. */
    async switchProfile(name: string, path = ''): Promise<void> {
      if (name === profiles.active.value) return
      moving = true
      try {
        await composer.save()
        await profiles.switchTo(name)
        reloadIn(name, path)
      } catch (error) {
        moving = false
        toasts.showError(error)
      }
    },
    /** Throws the service's refusal. */
    async deleteProfile(name: string): Promise<void> {
      moving = true
      try {
        if (await profiles.remove(name)) return reloadIn('default', 'profiles')
      } catch (error) {
        moving = false
        throw error
      }
      moving = false
    },
    /** Asked whenever somebody looks at this page again: another tab of the browser may have moved it. */
    async reloadIfProfileChanged(): Promise<void> {
      try {
        if (!moving && (await profiles.hasChanged()) && !moving) navigate(urlOf(base, ''))
      } catch {
        // Unreachable or signed out: whoever asks next will say so.
      }
    },
    showPendingToast(): void {
      const said = tab.read(PENDING_TOAST, '')
      if (!said) return
      tab.write(PENDING_TOAST, '')
      toasts.show(said)
    },
  }
}

export type ProfileActions = ReturnType<typeof createProfileActions>
