/** The page without a DOM: created, started, and following its address. */
import { effect, untracked } from '@preact/signals'
import { type AppOptions, Page, type StreamListener } from '../../public/app.ts'
import { SignInGate } from '../../public/features/sign-in/auth.ts'
import type { Platform } from '../../public/platform.ts'
import type { Tabs } from '../../public/stream/tab-leader.ts'

const nothing = (): void => undefined

/** `start` loads it; `stream` is what the connection shared by all tabs calls. */
export const createPage = (platform: Platform, href: string, more: Partial<AppOptions> = {}) => {
  const heard: { listener?: StreamListener } = {}
  const page = new Page({
    platform,
    gate: new SignInGate(),
    history: { pushState: nothing, replaceState: nothing },
    href: `http://host/any/path/${href}`,
    look: {},
    mac: false,
    navigate: nothing,
    copy: async () => undefined,
    tabs(listener) {
      heard.listener = listener
      const leader: Tabs = {
        start: nothing,
        updateSubscriptions: nothing,
        retryNow: nothing,
        isLeader: () => true,
        close: nothing,
      }
      return leader
    },
    ...more,
  })
  return {
    page,
    stream: heard.listener!,
    async start(): Promise<void> {
      await page.start()
      // As `main.tsx` does.
      effect(() => {
        const id = page.shell.route.sessionId.value
        untracked(() => void page.first.show(id))
      })
    },
  }
}
