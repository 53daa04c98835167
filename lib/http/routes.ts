/** Route matching: exact paths by lookup, then routes with one parameter, then prefixes. */
import { type AnyEndpoint, type Method, METHODS, type RouteTable } from './endpoint.ts'

/** The endpoints of one path. Reading one may load its code, so that a request loads only what it asks for. */
export type RouteEntry = {
  endpoint(method: Method): AnyEndpoint | undefined
  /** Value of the `Allow` header. */
  readonly allow: string
  /** The path as in the route table, such as `/session/:id`. */
  readonly route: string
  /** Name of the path parameter; absent for exact paths and `/*`. */
  readonly param?: string | undefined
}

export type RouteMatch = { entry: RouteEntry; value?: string }

const KEY = /^([A-Z]+) (\/[^\s?#]*)$/

export const isMethod = (text: string | undefined): text is Method =>
  METHODS.some(method => method === text)

class Entry implements RouteEntry {
  readonly route: string
  readonly param: string | undefined
  readonly #keys: Partial<Record<Method, keyof RouteTable>> = {}
  readonly #table: RouteTable

  constructor(table: RouteTable, route: string, param?: string) {
    this.#table = table
    this.route = route
    this.param = param
  }

  add(method: Method, key: keyof RouteTable): void {
    this.#keys[method] = key
  }

  endpoint(method: Method): AnyEndpoint | undefined {
    const key = this.#keys[method]
    return key && this.#table[key]
  }

  get allow(): string {
    return METHODS.filter(name => this.#keys[name])
      .map(name => (name === 'GET' && !this.endpoint(name)?.effects ? 'GET, HEAD' : name))
      .join(', ')
  }
}

const entryOf = (entries: Map<string, Entry>, path: string, make: () => Entry): Entry => {
  const known = entries.get(path)
  if (known) return known
  const made = make()
  entries.set(path, made)
  return made
}

/** Does not read the endpoints, which may load their code. */
const routeKeys = (table: RouteTable) => Object.keys(table) as (keyof RouteTable)[]

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
  const exact = new Map<string, Entry>()
  const withParam = new Map<string, Entry>()
  const prefixes = new Map<string, Entry>()
  for (const [table, isPattern] of [
    [routes, false],
    [patternRoutes, true],
  ] as const) {
    for (const key of routeKeys(table)) {
      const [, method, path] = KEY.exec(key) ?? []
      if (!path || !isMethod(method)) throw new Error(`not a route: ${key}`)
      const cut = path.lastIndexOf('/') + 1
      const tail = path.slice(cut)
      const name = tail.startsWith(':') ? tail.slice(1) : undefined
      if (isPattern && tail !== '*' && name === undefined)
        throw new Error(`a pattern route ends in /:name or /*: ${key}`)
      const [entries, at] = !isPattern
        ? [exact, path]
        : [name === undefined ? prefixes : withParam, path.slice(0, cut)]
      const make = () => new Entry(table, path, isPattern ? name : undefined)
      entryOf(entries, at, make).add(method, key)
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
