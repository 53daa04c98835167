/** Path → endpoints. Nearly every path is a lookup; a second small table holds those with one open segment. */
import { type Endpoint, type Method, METHODS, type RouteTable } from './endpoint.ts'

// biome-ignore lint/suspicious/noExplicitAny: as in RouteTable, each entry has its own types
export type AnyEndpoint = Endpoint<any, any, any>

export type RouteEntry = Partial<Record<Method, AnyEndpoint>> & {
  /** Value of the `Allow` header. */
  allow: string
  /** Name of the open segment; absent on exact paths and below `/*`. */
  param?: string
}

export type RouteMatch = { entry: RouteEntry; value?: string }

const KEY = /^([A-Z]+) (\/[^\s?#]*)$/

export const isMethod = (text: string | undefined): text is Method =>
  METHODS.some(method => method === text)

const addTo = (
  places: Map<string, RouteEntry>,
  path: string,
  method: Method,
  endpoint: AnyEndpoint,
  param?: string,
) => {
  const entry = places.get(path) ?? { allow: '' }
  if (param !== undefined) entry.param = param
  entry[method] = endpoint
  entry.allow = METHODS.filter(name => entry[name])
    .map(name => (name === 'GET' && !entry.GET?.effects ? 'GET, HEAD' : name))
    .join(', ')
  places.set(path, entry)
}

/**
 * `tails` keys end in `/:name` (exactly one more segment, handed to the input under that name) or in `/*`
 * (anything below; the endpoint reads `ctx.url.path`).
 */
export const createRouteMatcher = (
  routes: RouteTable,
  patternRoutes: RouteTable,
): ((path: string) => RouteMatch | undefined) => {
  const exact = new Map<string, RouteEntry>()
  const withParam = new Map<string, RouteEntry>()
  const below = new Map<string, RouteEntry>()
  for (const [table, isTail] of [
    [routes, false],
    [patternRoutes, true],
  ] as const) {
    for (const [key, endpoint] of Object.entries(table)) {
      const [, method, path] = KEY.exec(key) ?? []
      if (!path || !isMethod(method)) throw new Error(`not a route: ${key}`)
      if (!isTail) {
        addTo(exact, path, method, endpoint)
        continue
      }
      const cut = path.lastIndexOf('/') + 1
      const tail = path.slice(cut)
      if (tail === '*') addTo(below, path.slice(0, cut), method, endpoint)
      else if (tail.startsWith(':'))
        addTo(withParam, path.slice(0, cut), method, endpoint, tail.slice(1))
      else throw new Error(`a tail ends in /:name or /*: ${key}`)
    }
  }
  const prefixes = [...below.keys()]
  const found = new Map<string, RouteMatch>([...exact].map(([path, entry]) => [path, { entry }]))
  return path => {
    const known = found.get(path)
    if (known) return known
    const cut = path.lastIndexOf('/') + 1
    const entry = cut < path.length ? withParam.get(path.slice(0, cut)) : undefined
    if (entry) return { entry, value: path.slice(cut) }
    const prefix = prefixes.find(start => path.startsWith(start))
    return prefix === undefined ? undefined : { entry: below.get(prefix)! }
  }
}
