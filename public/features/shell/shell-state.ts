/** What every part of the page needs: requests, address, layout, toasts, connection and sign-in. */
import { type Signal, signal } from '@preact/signals'
import { type ApiCall, urlOf } from '../../api.ts'
import type { Platform } from '../../platform.ts'
import { t } from '../../strings/t.ts'
import { Auth, type SignInGate } from '../sign-in/auth.ts'
import { Announcements } from './announcements.ts'
import { Connection } from './connection.ts'
import { createLayout, type Layout } from './layout.ts'
import { createRoute, type HistoryLike, type RouteState } from './route.ts'
import { Toasts } from './toast.ts'
import type { Api } from '../../../router.ts'

type ConfigProblems = Omit<Api['GET /api/config/problems']['output'], 'ignored'>

class ConfigProblemsState {
  readonly #api: ApiCall
  readonly current = signal<ConfigProblems>({ problems: [], guards: [], changed: null })

  constructor(api: ApiCall) {
    this.#api = api
  }

  async load(): Promise<void> {
    this.current.value = await this.#api('GET /api/config/problems')
  }

  /** Accepts what something else changed in guarded settings, or restores the values in force. */
  async settle(change_id: string, accept: boolean): Promise<void> {
    await this.#api('POST /api/guards/changes', { change_id, accept })
    this.current.value = await this.#api('GET /api/config/problems')
  }

  /** Accepts a security setting that isn't supported, until its value changes; or revokes that. */
  async accept(
    key: string,
    value_id: string,
    accepted: boolean,
  ): Promise<Api['GET /api/guards']['output']> {
    const answer = await this.#api('POST /api/guards/accept', { key, value_id, accepted })
    this.current.value = await this.#api('GET /api/config/problems')
    return answer
  }
}

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

export class Shell {
  readonly api: ApiCall
  readonly base: string
  readonly platform: Platform
  readonly navigate: ShellOptions['navigate']
  readonly toasts: Toasts
  readonly route: RouteState
  readonly layout: Layout
  readonly connection: Connection
  readonly auth: Auth
  readonly configProblems: ConfigProblemsState
  /** The polite live region. */
  readonly announcements: Announcements
  /**
   * To the pages of other tabs: whose page this is; an empty text when the person signs out, so that they close without saving
   * what was written in them. Null until loaded.
   */
  readonly accountTabs: Signal<BroadcastChannel | null>
  /** The person has signed out in another tab: the page is left without a question about unsaved changes. */
  readonly signedOut: Signal<boolean>
  readonly #options: ShellOptions

  /** `poll` refreshes the session list while the event stream is down. `page`: the shell of the page, whose side this one is. */
  constructor(
    options: ShellOptions,
    poll: () => Promise<unknown>,
    side?: { page: Shell; route: RouteState; layout: Layout },
  ) {
    const { platform, navigate } = options
    const { api, base } = platform
    const page = side?.page
    this.#options = options
    this.api = api
    this.base = base
    this.platform = platform
    this.navigate = navigate
    this.toasts = page?.toasts ?? new Toasts(platform, text => this.copy(text))
    this.announcements = page?.announcements ?? new Announcements(platform)
    this.route = side?.route ?? createRoute(base, options.href, options.history)
    this.layout = side?.layout ?? createLayout(platform, options.mac)
    this.connection = page?.connection ?? new Connection(platform, poll)
    this.auth = page?.auth ?? new Auth(options.gate, api, path => navigate(urlOf(base, path)))
    this.configProblems = page?.configProblems ?? new ConfigProblemsState(api)
    this.accountTabs = page?.accountTabs ?? signal(null)
    this.signedOut = page?.signedOut ?? signal(false)
  }

  /** The same for one side of the page, which has an address and a layout of its own. */
  side(route: RouteState, layout: Layout): Shell {
    return new Shell(this.#options, async () => undefined, { page: this, route, layout })
  }

  /** Reads a text to people who use a screen reader. */
  readonly announce = (text: string): void => this.announcements.announce(text)

  /** Runs an action and shows its error as a toast. Never rejects. */
  readonly attempt = async (action: () => Promise<unknown>): Promise<void> => {
    try {
      await action()
    } catch (error) {
      this.toasts.showError(error)
    }
  }

  /** Copies text to the clipboard and confirms it with a toast. */
  readonly copy = async (text: string): Promise<void> => {
    try {
      await this.#options.copy(text)
      this.toasts.show(t('chat.copied'))
    } catch {
      // Blocked by the browser, for example on a page without HTTPS.
      this.toasts.show(t('chat.copy.failed'), { kind: 'error' })
    }
  }
}
