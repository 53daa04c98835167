/** State of the page frame: address, layout, toasts, connection and sign-in. */
import { type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { type ApiCall, urlOf } from '../../api.ts'
import type { Platform } from '../../platform.ts'
import type { TabLeader } from '../../stream/tab-leader.ts'
import { t } from '../../strings/t.ts'
import { type Auth, createAuth, type SignInGate } from '../sign-in/auth.ts'
import type { Outbox } from '../chat/outbox.ts'
import { type Announcements, createAnnouncements } from './announcements.ts'
import { type ConfigProblemsState, createConfigProblems } from './config-problems.ts'
import { type Connection, createConnection } from './connection.ts'
import { createLayout, type Layout } from './layout.ts'
import { createRoute, type HistoryLike, type RouteState } from './route.ts'
import { createToasts, type Toasts } from './toast.ts'

export type ShellOptions = {
  platform: Platform
  gate: SignInGate
  history: HistoryLike
  href: string
  mac: boolean
  /** Leaves the page: sign-in, downloads. */
  navigate: (url: string, options?: { download?: boolean }) => void
  copy: (text: string) => Promise<void>
}

export type ShellBase = {
  api: ApiCall
  base: string
  platform: Platform
  navigate: ShellOptions['navigate']
  toasts: Toasts
  route: RouteState
  layout: Layout
  connection: Connection
  auth: Auth
  configProblems: ConfigProblemsState
  /** Messages that were written and may not have arrived. */
  outbox: Outbox
  /**
   * To the pages of other tabs: whose page this is; an empty text when the person signs out, so that they close without saving
   * what was written in them. Null until loaded.
   */
  accountTabs: Signal<BroadcastChannel | null>
  /** The person has signed out in another tab: the page is left without a question about unsaved changes. */
  signedOut: Signal<boolean>
  /** Of the polite live region. */
  announcements: Announcements['list']
  announce: Announcements['announce']
  /** Runs an action and shows its error as a toast. Never rejects. */
  attempt: (action: () => Promise<unknown>) => Promise<void>
  /** Copies text to the clipboard and confirms it with a toast. */
  copy: (text: string) => Promise<void>
}

export type Shell = ShellBase & {
  tabs: TabLeader
  /** Of the view beside the chats that is shown; empty for a chat. */
  viewTitle: Signal<string>
  /** Title of the document. */
  title: ReadonlySignal<string>
}

/** `poll` refreshes the session list while the event stream is down. */
export const createShell = (
  options: ShellOptions,
  outbox: Outbox,
  poll: () => Promise<unknown>,
): ShellBase => {
  const { platform, navigate } = options
  const { api, base } = platform
  const copy = async (text: string): Promise<void> => {
    try {
      await options.copy(text)
      toasts.show(t('chat.copied'))
    } catch {
      // Blocked by the browser, for example on a page without HTTPS.
      toasts.show(t('chat.copy.failed'), { kind: 'error' })
    }
  }
  const toasts = createToasts(platform, copy)
  const announcements = createAnnouncements(platform)
  return {
    api,
    base,
    platform,
    navigate,
    toasts,
    route: createRoute(base, options.href, options.history),
    layout: createLayout(platform, options.mac),
    connection: createConnection(platform, poll),
    auth: createAuth(options.gate, api, path => navigate(urlOf(base, path))),
    configProblems: createConfigProblems(api),
    outbox,
    accountTabs: signal<BroadcastChannel | null>(null),
    signedOut: signal(false),
    announcements: announcements.list,
    announce: announcements.announce,
    async attempt(action) {
      try {
        await action()
      } catch (error) {
        toasts.showError(error)
      }
    },
    copy,
  }
}
