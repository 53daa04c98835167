/** Switching and deleting profiles. All state of the page belongs to one profile, so a switch reloads it. */
import { urlOf } from '../../api.ts'
import type { Platform } from '../../platform.ts'
import type { Profiles } from './profiles.ts'
import type { Toasts } from '../shell/toast.ts'
import { t } from '../../strings/t.ts'

export type ProfileActionsOptions = {
  platform: Pick<Platform, 'base' | 'tab'> & { navigate: (url: string) => void }
  toasts: Toasts
  profiles: Profiles
  /** Of all chats. */
  saveDrafts: () => Promise<void>
}

/** sessionStorage key of the toast shown after the reload. */
const PENDING_TOAST = 'said'

export const createProfileActions = ({
  platform,
  toasts,
  profiles,
  saveDrafts,
}: ProfileActionsOptions) => {
  const { base, tab, navigate } = platform

  /** This tab is switching: it must not react to its own switch. */
  let moving = false

  const reloadIn = (name: string, path: string): void => {
    tab.write(PENDING_TOAST, t('profiles.entered', { name }))
    navigate(urlOf(base, path))
  }

  return {
    /** `path` is the view to open in the new profile; a session URL would not exist there. */
    async switchProfile(name: string, path = ''): Promise<void> {
      if (name === profiles.active.value) return
      moving = true
      try {
        await saveDrafts()
        await profiles.switchTo(name)
        reloadIn(name, path)
      } catch (error) {
        moving = false
        toasts.showError(error)
      }
    },
    /** Throws the server's error. */
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
    /** Called when the tab becomes visible: another tab may have switched the profile of this browser. */
    async reloadIfProfileChanged(): Promise<void> {
      try {
        if (!moving && (await profiles.hasChanged()) && !moving) navigate(urlOf(base, ''))
      } catch {
        // Offline or signed out; the next request reports it.
      }
    },
    showPendingToast(): void {
      const text = tab.read(PENDING_TOAST, '')
      if (!text) return
      tab.write(PENDING_TOAST, '')
      toasts.show(text)
    },
  }
}

export type ProfileActions = ReturnType<typeof createProfileActions>
