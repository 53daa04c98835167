/** Address of the chat beside the first one: the `beside` of the page's address. */
import { computed, signal } from '@preact/signals'
import { parseRoute, type Place, placeOf, type Route, type RouteState } from './route.ts'

export type SecondRoute = RouteState & { first: RouteState }

export const createSecondRoute = (first: RouteState, base: string): SecondRoute => {
  const place = signal<Place | null>(null)
  const sessionId = computed(() => first.beside.value || null)
  const openSession: RouteState['openSession'] = (id, options) => {
    place.value = null
    if (id && id === first.sessionId.value) first.isBesideChosen.value = false
    else first.openBeside(id ?? '', options)
  }
  return {
    ...first,
    first,
    current: computed<Route>(() => {
      const { value: at } = first.current
      return at.view === 'chat' ? { view: 'chat', sessionId: sessionId.value } : at
    }) as RouteState['current'],
    sessionId,
    place,
    openSession,
    go(route, options) {
      if (route.view === 'chat') openSession(route.sessionId, options)
      else first.go(route, options)
    },
    nameSession(id) {
      // It was closed meanwhile.
      if (first.beside.value === null) return
      place.value = null
      if (first.current.value.view === 'chat') first.openBeside(id, { replace: true })
      else first.beside.value = id
    },
    /** On the other side, which is the first one. */
    openBeside(id) {
      first.isBesideChosen.value = false
      first.openSession(id || null)
    },
    // The address names a file or a place of the first chat only.
    replaceFile() {},
    hrefOfPlace: row =>
      `${first.hrefOf({ view: 'chat', sessionId: sessionId.value })}?at=${encodeURIComponent(row)}`,
    jumpTo(row, { heading = null, focus = false } = {}) {
      place.value = { row, heading, focus }
    },
    follow(at) {
      const to = parseRoute(base, at)
      if (to.view !== 'chat') return first.follow(at)
      openSession(to.sessionId)
      place.value = placeOf(at)
    },
  }
}
