/** Which view the address bar names, and the verbs that change it; addresses are relative to the page's base. */
import { computed, signal } from '@preact/signals'
import { urlOf } from '../api.ts'

export const SECTIONS = ['general', 'appearance', 'security', 'about'] as const
export type Section = (typeof SECTIONS)[number]

export type Route =
  | { view: 'chat'; sessionId: string | null }
  | { view: 'settings'; section: Section }

export type HistoryLike = {
  pushState(data: unknown, unused: string, url: string): void
  replaceState(data: unknown, unused: string, url: string): void
}

const isSection = (text: string): text is Section => SECTIONS.includes(text as Section)

export const parseRoute = (base: string, href: string): Route => {
  const root = new URL(base).pathname
  const path = new URL(href, base).pathname
  const [view = '', rest = ''] = (path.startsWith(root) ? path.slice(root.length) : '').split('/')
  if (view === 'session' && rest) return { view: 'chat', sessionId: decodeURIComponent(rest) }
  if (view === 'settings') {
    return { view: 'settings', section: isSection(rest) ? rest : 'general' }
  }
  return { view: 'chat', sessionId: null }
}

export const pathOf = (route: Route): string => {
  if (route.view === 'settings') return `settings/${route.section}`
  return route.sessionId ? `session/${encodeURIComponent(route.sessionId)}` : ''
}

export const createRoute = (base: string, href: string, history: HistoryLike) => {
  const current = signal<Route>(parseRoute(base, href))
  /** Settings lie over the conversation: closing them returns to it. */
  const lastChat = signal<string | null>(
    current.value.view === 'chat' ? current.value.sessionId : null,
  )

  const set = (route: Route): void => {
    if (route.view === 'chat') lastChat.value = route.sessionId
    current.value = route
  }

  const go = (route: Route, { replace = false } = {}): void => {
    const url = urlOf(base, pathOf(route))
    if (replace) history.replaceState(null, '', url)
    else if (pathOf(route) !== pathOf(current.value)) history.pushState(null, '', url)
    set(route)
  }

  return {
    current,
    sessionId: computed(() =>
      current.value.view === 'chat' ? current.value.sessionId : lastChat.value,
    ),
    hrefOf: (route: Route): string => urlOf(base, pathOf(route)),
    go,
    openSession: (id: string | null, options?: { replace?: boolean }) =>
      go({ view: 'chat', sessionId: id }, options),
    closeSettings: () => go({ view: 'chat', sessionId: lastChat.value }),
    /** After back or forward. */
    arrive: (at: string): void => set(parseRoute(base, at)),
  }
}

export type RouteState = ReturnType<typeof createRoute>
