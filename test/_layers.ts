/** The layers of the code: who may import whom, checked over the import statements of every file. */
import { posix } from 'node:path'
import type { Source } from './_rules.ts'

export type Import = { from: string; to: string; isType: boolean }

const STATEMENT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[\w*{}\s,$]+?\s+from\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|new URL\(\s*['"](\.[^'"]+\.ts)['"]\s*,\s*import\.meta\.url\s*\)/g

/** Relative targets become paths from the root; packages and `node:` stay as they are. */
export const importsOf = ({ path, text }: Source): Import[] =>
  [...text.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '').matchAll(STATEMENT)].flatMap(match => {
    // A worker file is not an import: the thread loads it.
    if (match[4]) return []
    const target = match[2] ?? match[3] ?? ''
    const to = target.startsWith('.') ? posix.join(posix.dirname(path), target) : target
    return [{ from: path, to, isType: match[1] !== undefined }]
  })

/** The part of the store the engine may use: paths and text bytes, no state of the service. */
const ENGINE_STORE = new Set([
  'lib/store/write-in-place.ts',
  'lib/store/path-within.ts',
  'lib/store/text-bytes.ts',
  'lib/store/text-rewrite.ts',
])

type Module = { layer: number; name: string }

/** Lowest first. A module that is not listed here is a domain module. */
const LAYERS = {
  foundation: 0,
  infrastructure: 1,
  domain: 2,
  turns: 3,
  turnContext: 4,
  conversation: 5,
  cron: 6,
  composition: 7,
  handlers: 8,
  router: 9,
} as const

const COMPOSITION = new Set(['lib/context.ts', 'lib/start.ts', 'lib/preflight.ts'])
const isComposition = (path: string): boolean =>
  COMPOSITION.has(path) || path.startsWith('lib/app/')
const NAMED: Record<string, number> = {
  schema: LAYERS.foundation,
  errors: LAYERS.foundation,
  base: LAYERS.foundation,
  config: LAYERS.infrastructure,
  log: LAYERS.infrastructure,
  hub: LAYERS.infrastructure,
  redact: LAYERS.infrastructure,
  'prompt-injection': LAYERS.infrastructure,
  packed: LAYERS.infrastructure,
  assets: LAYERS.infrastructure,
  http: LAYERS.infrastructure,
  store: LAYERS.infrastructure,
  turns: LAYERS.turns,
  'turn-context': LAYERS.turnContext,
  conversation: LAYERS.conversation,
  'client-api': LAYERS.conversation,
  cron: LAYERS.cron,
  // The engine without the service: a second composition root.
  cli: LAYERS.composition,
}

/** Which module a file belongs to. Undefined: not part of the product. */
const moduleOf = (path: string): Module | undefined => {
  const [top = '', second = ''] = path.split('/')
  if (path === 'router.ts') return { layer: LAYERS.router, name: 'router' }
  if (top === 'handlers') return { layer: LAYERS.handlers, name: path }
  if (top === 'public') return { layer: -1, name: 'public' }
  if (top !== 'lib') return undefined
  if (isComposition(path)) return { layer: LAYERS.composition, name: 'composition' }
  const name = second.replace(/\.ts$/, '')
  const layer = NAMED[name] ?? LAYERS.domain
  return { layer, name: layer === LAYERS.composition ? 'composition' : name }
}

/** Why this import is forbidden; undefined when it is allowed. */
export const violation = ({ from, to, isType }: Import): string | undefined => {
  const here = moduleOf(from)
  if (!here) return undefined
  const there = moduleOf(to)
  if (here.name === 'public') {
    if (to.startsWith('node:')) return 'the page has no Node'
    if (!there || there.name === 'public') return undefined
    // Shared code without Node: bundling the page fails for anything else.
    if (there.name === 'base') return undefined
    const mayKnow = to === 'router.ts' || to.startsWith('lib/schema/')
    return isType && mayKnow
      ? undefined
      : 'the page imports only lib/base, and types of the router and lib/schema'
  }
  if (!there) return /^(?:test|bench|eval)\//.test(to) ? 'a test file' : undefined
  if (there.name === 'public') return 'the server does not import the page'
  if (here.name === 'agent') {
    const mayUse =
      there.layer === LAYERS.foundation || there.name === 'agent' || ENGINE_STORE.has(to)
    return mayUse ? undefined : 'the engine imports only schema, errors, base, ENGINE_STORE, itself'
  }
  if (there.layer > here.layer) return 'a higher layer'
  if (there.layer < here.layer || there.name === here.name) return entryViolation(from, to, isType)
  // Types of another module in the same layer are fine; its functions come as arguments.
  return isType || here.layer === LAYERS.foundation ? undefined : 'another module of the same layer'
}

/** Imports that are forbidden for the route table and the handlers only. */
const entryViolation = (from: string, to: string, isType: boolean): string | undefined => {
  if (isType) return undefined
  if (from === 'router.ts') {
    const mayUse = to.startsWith('handlers/') || isComposition(to)
    return mayUse ? undefined : 'the route table imports handlers and starts the service'
  }
  if (!from.startsWith('handlers/')) return undefined
  // Pure functions of a domain may be called; anything with a lifetime or a file comes through the context.
  const isBuilt =
    (isComposition(to) && to !== 'lib/context.ts') || /^lib\/(store\/|config|log)/.test(to)
  return !isBuilt ? undefined : 'a handler gets this from its context'
}

/** Files that run when `entry` runs: value imports, followed. */
export const reachable = (entry: string, sources: readonly Source[]): Set<string> => {
  const byPath = new Map(sources.map(source => [source.path, source]))
  const seen = new Set<string>()
  const visit = (path: string): void => {
    const source = byPath.get(path)
    if (!source || seen.has(path)) return
    seen.add(path)
    for (const { to, isType } of importsOf(source)) if (!isType) visit(to)
  }
  visit(entry)
  return seen
}
