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

class PathEndpoints implements RouteEntry {
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

const entryIn = (
  entries: Map<string, PathEndpoints>,
  path: string,
  make: () => PathEndpoints,
): PathEndpoints => {
  const entry = entries.get(path) ?? make()
  entries.set(path, entry)
  return entry
}

/**
 * Keys of `patternRoutes` end in `/:name` (one more segment, passed to the input under that name) or in `/*`
 * (anything below; the endpoint reads `ctx.url.path`).
 */
export class Routes {
  readonly #exact: ReadonlyMap<string, RouteMatch>
  readonly #withParam = new Map<string, PathEndpoints>()
  readonly #prefixes = new Map<string, PathEndpoints>()

  constructor(routes: RouteTable, patternRoutes: RouteTable) {
    const exact = new Map<string, PathEndpoints>()
    for (const key of routeKeys(routes)) {
      const { method, path } = Routes.#parse(key)
      entryIn(exact, path, () => new PathEndpoints(routes, path)).add(method, key)
    }
    this.#exact = new Map([...exact].map(([path, entry]) => [path, { entry }]))
    for (const key of routeKeys(patternRoutes)) {
      const { method, path } = Routes.#parse(key)
      const cut = path.lastIndexOf('/') + 1
      const tail = path.slice(cut)
      const name = tail.startsWith(':') ? tail.slice(1) : undefined
      if (tail !== '*' && name === undefined)
        throw new Error(`a pattern route ends in /:name or /*: ${key}`)
      const entries = name === undefined ? this.#prefixes : this.#withParam
      const make = () => new PathEndpoints(patternRoutes, path, name)
      entryIn(entries, path.slice(0, cut), make).add(method, key)
    }
  }

  match(path: string): RouteMatch | undefined {
    const exact = this.#exact.get(path)
    if (exact) return exact
    const cut = path.lastIndexOf('/') + 1
    const entry = cut < path.length ? this.#withParam.get(path.slice(0, cut)) : undefined
    if (entry) return { entry, value: path.slice(cut) }
    for (const [start, prefix] of this.#prefixes)
      if (path.startsWith(start)) return { entry: prefix }
    return undefined
  }

  static #parse(key: string): { method: Method; path: string } {
    const [, method, path] = KEY.exec(key) ?? []
    if (!path || !isMethod(method)) throw new Error(`not a route: ${key}`)
    return { method, path }
  }
}
