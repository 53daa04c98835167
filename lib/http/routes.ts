/** Route matching: exact paths by lookup, then routes with one parameter, then prefixes. */
import { type AnyEndpoint, type Method, METHODS, type RouteTable } from './endpoint.ts'

export type RouteEntry = Partial<Record<Method, AnyEndpoint>> & {
  /** Value of the `Allow` header. */
  allow: string
  /** The path as in the route table, such as `/session/:id`. */
  route: string
  /** Name of the path parameter; absent for exact paths and `/*`. */
  param?: string
}

export type RouteMatch = { entry: RouteEntry; value?: string }

const KEY = /^([A-Z]+) (\/[^\s?#]*)$/

export const isMethod = (text: string | undefined): text is Method =>
  METHODS.some(method => method === text)

const addTo = (
  entries: Map<string, RouteEntry>,
  path: string,
  method: Method,
  endpoint: AnyEndpoint,
  route: string,
  param?: string,
) => {
  const entry = entries.get(path) ?? { allow: '', route }
  if (param !== undefined) entry.param = param
  entry[method] = endpoint
  entry.allow = METHODS.filter(name => entry[name])
    .map(name => (name === 'GET' && !entry.GET?.effects ? 'GET, HEAD' : name))
    .join(', ')
  entries.set(path, entry)
}

/** First segments of all paths. No base path begins with one: whether a proxy removed it could not be known. */
export const firstSegments = (...tables: RouteTable[]): ReadonlySet<string> =>
  new Set(tables.flatMap(table => Object.keys(table).map(key => key.split('/')[1] ?? '')))

/** Why a proxy cannot serve the page below this path; null when it can. */
export const basePathProblem = (basePath: string, ownNames: ReadonlySet<string>): string | null => {
  const [, first = ''] = basePath.split('/')
  return basePath === '' || !ownNames.has(first)
    ? null
    : `AGENT_WEBUI_BASE_PATH must not begin with /${first}, which is a path of agent-webui itself`
}

/**
 * Keys of `patternRoutes` end in `/:name` (one more segment, passed to the input under that name) or in `/*`
 * (anything below; the endpoint reads `ctx.url.path`).
 */
export const createRouteMatcher = (
  routes: RouteTable,
  patternRoutes: RouteTable,
): ((path: string) => RouteMatch | undefined) => {
  const exact = new Map<string, RouteEntry>()
  const withParam = new Map<string, RouteEntry>()
  const prefixes = new Map<string, RouteEntry>()
  for (const [table, isPattern] of [
    [routes, false],
    [patternRoutes, true],
  ] as const) {
    for (const [key, endpoint] of Object.entries(table)) {
      const [, method, path] = KEY.exec(key) ?? []
      if (!path || !isMethod(method)) throw new Error(`not a route: ${key}`)
      if (!isPattern) {
        addTo(exact, path, method, endpoint, path)
        continue
      }
      const cut = path.lastIndexOf('/') + 1
      const tail = path.slice(cut)
      if (tail === '*') addTo(prefixes, path.slice(0, cut), method, endpoint, path)
      else if (tail.startsWith(':'))
        addTo(withParam, path.slice(0, cut), method, endpoint, path, tail.slice(1))
      else throw new Error(`a pattern route ends in /:name or /*: ${key}`)
    }
  }
  const starts = [...prefixes.keys()]
  const found = new Map<string, RouteMatch>([...exact].map(([path, entry]) => [path, { entry }]))
  return path => {
    const known = found.get(path)
    if (known) return known
    const cut = path.lastIndexOf('/') + 1
    const entry = cut < path.length ? withParam.get(path.slice(0, cut)) : undefined
    if (entry) return { entry, value: path.slice(cut) }
    const prefix = starts.find(start => path.startsWith(start))
    return prefix === undefined ? undefined : { entry: prefixes.get(prefix)! }
  }
}
