/** URL routing. Paths are relative to the page's base. */
import { computed, signal } from '@preact/signals'
import { urlOf } from '../../api.ts'

export const SECTIONS = [
  'general',
  'models',
  'tools',
  'permissions',
  'access',
  'notifications',
  'system',
] as const
export type Section = (typeof SECTIONS)[number]

/** Addresses of earlier versions, in bookmarks and in links of notifications. */
const EARLIER: Readonly<Record<string, Section>> = {
  appearance: 'general',
  mcp: 'tools',
  security: 'access',
  people: 'access',
  budgets: 'system',
  backups: 'system',
  updates: 'system',
  about: 'system',
}

export const USAGE_DAYS = [7, 30, 90] as const
export type UsageDays = (typeof USAGE_DAYS)[number]

const SKILL_TABS = ['commands', 'subagents'] as const
/** Beside the skills; absent for the skills themselves. */
export type SkillTab = (typeof SKILL_TABS)[number]

export type Route =
  | { view: 'chat'; sessionId: string | null }
  | { view: 'settings'; section: Section }
  | { view: 'skills'; tab?: SkillTab; skill: string | null; query: string }
  | { view: 'tasks'; task: string | null }
  | { view: 'memory' }
  | { view: 'inbox' }
  | { view: 'profiles' }
  | { view: 'import' }
  | { view: 'usage'; days: UsageDays }

export type HistoryLike = {
  pushState(data: unknown, unused: string, url: string): void
  replaceState(data: unknown, unused: string, url: string): void
}

const sectionOf = (text: string): Section =>
  SECTIONS.find(name => name === text) ?? EARLIER[text] ?? 'general'

const query = (values: Readonly<Record<string, string | null>>): string => {
  const pairs = Object.entries(values).filter((pair): pair is [string, string] => !!pair[1])
  return pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : ''
}

/** `/tasks/<id>`, as a person may write it; the page itself writes `?task=<id>`. */
const itemOf = (rest: string): string | null => (rest ? decodeURIComponent(rest) : null)

export const parseRoute = (base: string, href: string): Route => {
  const root = new URL(base).pathname
  const { pathname: path, searchParams: params } = new URL(href, base)
  const [view = '', rest = ''] = (path.startsWith(root) ? path.slice(root.length) : '').split('/')
  if (view === 'session' && rest) return { view: 'chat', sessionId: decodeURIComponent(rest) }
  if (view === 'settings' && rest === 'import') return { view: 'import' }
  if (view === 'settings') return { view: 'settings', section: sectionOf(rest) }
  if (view === 'skills') {
    const tab = SKILL_TABS.find(name => name === params.get('tab'))
    return {
      view,
      ...(tab && { tab }),
      skill: params.get('skill') ?? itemOf(rest),
      query: params.get('q') ?? '',
    }
  }
  if (view === 'tasks') return { view, task: params.get('task') ?? itemOf(rest) }
  if (view === 'memory' || view === 'inbox') return { view }
  if (view === 'profiles') return { view }
  if (view === 'usage') {
    return { view, days: USAGE_DAYS.find(days => `${days}` === params.get('days')) ?? 30 }
  }
  return { view: 'chat', sessionId: null }
}

export const pathOf = (route: Route): string => {
  if (route.view === 'settings') return `settings/${route.section}`
  if (route.view === 'skills')
    return `skills${query({ tab: route.tab ?? '', skill: route.skill, q: route.query })}`
  if (route.view === 'tasks') return `tasks${query({ task: route.task })}`
  if (route.view === 'memory' || route.view === 'inbox') return route.view
  if (route.view === 'profiles') return 'profiles'
  if (route.view === 'import') return 'settings/import'
  if (route.view === 'usage')
    return `usage${query({ days: route.days === 30 ? '' : `${route.days}` })}`
  return route.sessionId ? `session/${encodeURIComponent(route.sessionId)}` : ''
}

/** `?file=src/app.ts:12`, with `/` and `:` left unescaped so that the address stays readable. */
export const fileQuery = (target: string): string =>
  `?file=${encodeURIComponent(target).replace(/%2F/g, '/').replace(/%3A/g, ':')}`

/** A row of the transcript, such as `m12` or `m12:a0/call`, and a heading in it. `focus`: also moves the focus there. */
export type TranscriptPlace = { row: string; heading: number | null; focus: boolean }

/** The place of `?at=m14:0~2`: row `m14:0`, its third heading. */
export const placeOf = (href: string): TranscriptPlace | null => {
  const at = URL.parse(href)?.searchParams.get('at')
  const match = at && /^(.+?)(?:~(\d{1,4}))?$/.exec(at)
  return match
    ? { row: match[1]!, heading: match[2] ? Number(match[2]) : null, focus: false }
    : null
}
const placeQuery = ({ row, heading }: TranscriptPlace): string => {
  const target = heading === null ? row : `${row}~${heading}`
  return `at=${encodeURIComponent(target).replace(/%2F/g, '/').replace(/%3A/g, ':')}`
}

/** The session beside the first one, in `?beside=`; an empty text for a new chat, null for none. */
const besideOf = (href: string): string | null =>
  URL.parse(href)?.searchParams.get('beside') ?? null

export const createRoute = (base: string, href: string, history: HistoryLike) => {
  const current = signal<Route>(parseRoute(base, href))
  /** Closing another view returns to this chat. */
  const lastChat = signal<string | null>(
    current.value.view === 'chat' ? current.value.sessionId : null,
  )
  const beside = signal<string | null>(null)
  /** The chat beside the first one had the focus last. */
  const isBesideChosen = signal(false)

  /** The row of the open chat to show; a new object for each request. */
  const place = signal<TranscriptPlace | null>(placeOf(href))
  let file: string | null = null

  /** The chat that was open before this one. */
  const previous = signal<string | null>(null)

  const set = (route: Route): void => {
    if (route.view === 'chat') {
      if (lastChat.value && lastChat.value !== route.sessionId) previous.value = lastChat.value
      lastChat.value = route.sessionId
    }
    current.value = route
  }
  const readBeside = (at: string): void => {
    if (current.value.view !== 'chat') return
    const id = besideOf(at)
    beside.value = id === current.value.sessionId ? null : id
  }
  readBeside(href)

  /** The address of a view, with the chat beside it. */
  const address = (route: Route, more: readonly string[] = []): string => {
    const parts = [...more]
    if (route.view === 'chat' && beside.value !== null)
      parts.unshift(`beside=${encodeURIComponent(beside.value)}`)
    const url = urlOf(base, pathOf(route))
    return parts.length > 0 ? `${url}?${parts.join('&')}` : url
  }
  let shownUrl = address(current.value)

  const go = (route: Route, { replace = false } = {}): void => {
    const url = address(route)
    if (replace) history.replaceState(null, '', url)
    else if (url !== shownUrl) history.pushState(null, '', url)
    shownUrl = url
    place.value = null
    file = null
    set(route)
  }

  const writeQuery = (): void => {
    const parts = [
      ...(file === null ? [] : [fileQuery(file).slice(1)]),
      ...(place.value === null ? [] : [placeQuery(place.value)]),
    ]
    history.replaceState(null, '', address(current.value, parts))
  }
  const readLocation = (at: string): void => {
    set(parseRoute(base, at))
    readBeside(at)
    shownUrl = address(current.value)
    place.value = placeOf(at)
  }

  return {
    current,
    sessionId: computed(() =>
      current.value.view === 'chat' ? current.value.sessionId : lastChat.value,
    ),
    previous,
    beside,
    isBesideChosen,
    /** The chat beside the first one is shown, and had the focus last. */
    besideActive: computed(
      () => isBesideChosen.value && beside.value !== null && current.value.view === 'chat',
    ),
    /** Shows a session beside the first one; an empty id for a new chat, null to show only the first. */
    openBeside(id: string | null, options?: { replace?: boolean }): void {
      beside.value = id
      if (!options?.replace) isBesideChosen.value = id !== null
      go({ view: 'chat', sessionId: lastChat.value }, options)
    },
    /** Whether a session is shown, on either side. */
    isOpen: (id: string): boolean => id === lastChat.value || id === beside.value,
    hrefOf: (route: Route): string => urlOf(base, pathOf(route)),
    go,
    openSession(id: string | null, options?: { replace?: boolean }): void {
      if (id && id === beside.value) isBesideChosen.value = true
      else go({ view: 'chat', sessionId: id }, options)
    },
    /** The session of the new chat was created: its address takes the place of the one without a session. */
    nameSession(id: string): void {
      if (current.value.view === 'chat') go({ view: 'chat', sessionId: id }, { replace: true })
      else lastChat.value = id
    },
    /** After a request of this view: not when the person has gone elsewhere meanwhile. */
    goWithin(route: Route, options?: { replace?: boolean }): void {
      if (current.peek().view === route.view) go(route, options)
    },
    backToChat: () => go({ view: 'chat', sessionId: lastChat.value }),
    /** Writes the open workspace file into the address, for reloads and links. */
    replaceFile(name: string | null): void {
      file = name
      writeQuery()
    },
    place,
    hrefOfPlace: (row: string): string =>
      address(current.value, [placeQuery({ row, heading: null, focus: false })]),
    /** Shows a row of the open chat and writes it into the address. */
    jumpTo(
      row: string,
      { heading = null, focus = false }: Partial<Omit<TranscriptPlace, 'row'>> = {},
    ): void {
      place.value = { row, heading, focus }
      writeQuery()
    },
    /** Reads the address after back or forward. */
    readLocation,
    /** Goes to the address of a link on the page; a chat beside the first one stays. */
    follow(at: string): void {
      const url = new URL(at)
      const to = parseRoute(base, at)
      if (to.view === 'chat' && beside.value !== null && beside.value !== to.sessionId)
        url.searchParams.set('beside', beside.value)
      history.pushState(null, '', url.href)
      readLocation(url.href)
    },
  }
}

export type RouteState = ReturnType<typeof createRoute>
