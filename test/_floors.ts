/** Who may import whom: the floors of the house over the import statements of its files. */
import { posix } from 'node:path'
import type { Source } from './_house.ts'

export type Import = { from: string; to: string; isType: boolean }

const STATEMENT =
  /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[\w*{}\s,$]+?\s+from\s+)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)|new URL\(\s*['"](\.[^'"]+\.ts)['"]\s*,\s*import\.meta\.url\s*\)/g

/** Relative targets become paths from the root; packages and `node:` stay as they are. */
export const importsOf = ({ path, text }: Source): Import[] =>
  [...text.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '').matchAll(STATEMENT)].flatMap(match => {
    // A worker's file is no import: it starts a world of its own.
    if (match[4]) return []
    const target = match[2] ?? match[3] ?? ''
    const to = target.startsWith('.') ? posix.join(posix.dirname(path), target) : target
    return [{ from: path, to, isType: match[1] !== undefined }]
  })

/** Of the store, what knows nothing of the service: where a path leads, and what bytes say. */
const ENGINE_TOOLS = new Set([
  'lib/store/in-place.ts',
  'lib/store/inside.ts',
  'lib/store/text-bytes.ts',
  'lib/store/text-rewrite.ts',
])

type Place = { floor: number; room: string }

const LIB_TOP = new Set([
  'lib/app.ts',
  'lib/stores.ts',
  'lib/engine.ts',
  'lib/ctx.ts',
  'lib/start.ts',
  'lib/preflight.ts',
])
const LIB_GROUND = new Set([
  'config',
  'log',
  'hub',
  'redact',
  'threats',
  'packed',
  'assets',
  'http',
  'store',
])

/** Neighbours of one floor have different rooms. Undefined: not part of the product. */
export const placeOf = (path: string): Place | undefined => {
  const [top = '', second = ''] = path.split('/')
  if (path === 'router.ts') return { floor: 5, room: 'router' }
  if (top === 'handlers') return { floor: 4, room: path }
  if (top === 'public') return { floor: -1, room: 'public' }
  if (top !== 'lib') return undefined
  // A second place that builds everything: the engine without the service.
  if (LIB_TOP.has(path) || second === 'command-line') return { floor: 3, room: 'top' }
  const room = second.replace(/\.ts$/, '')
  if (room === 'schema' || room === 'errors' || room === 'base') return { floor: 0, room }
  if (LIB_GROUND.has(room)) return { floor: 1, room }
  return { floor: room === 'turns' || room === 'cron' ? 2.5 : 2, room }
}

/** Why this import may not be; undefined when it may. */
export const refusal = ({ from, to, isType }: Import): string | undefined => {
  const here = placeOf(from)
  if (!here) return undefined
  const there = placeOf(to)
  if (here.room === 'public') {
    if (to.startsWith('node:')) return 'the page has no Node'
    if (!there || there.room === 'public') return undefined
    // Small shared code without Node: the bundler of the page fails where it has some.
    if (there.room === 'base') return undefined
    const mayKnow = to === 'router.ts' || to.startsWith('lib/schema/')
    return isType && mayKnow
      ? undefined
      : 'the page takes only types, of the router and the schema, and what lies in lib/base'
  }
  if (!there) return to.startsWith('test/') || to.startsWith('bench/') ? 'a test file' : undefined
  if (there.room === 'public') return 'the server does not know the page'
  if (here.room === 'agent') {
    const mayUse = there.floor === 0 || there.room === 'agent' || ENGINE_TOOLS.has(to)
    return mayUse ? undefined : 'the engine knows only schema, errors, paths, text bytes and itself'
  }
  if (there.floor > here.floor) return 'up'
  if (there.floor < here.floor || there.room === here.room) return upperRefusal(from, to, isType)
  // A neighbour's shape may be named; its functions come as arguments.
  return isType || here.floor === 0 ? undefined : 'sideways'
}

const upperRefusal = (from: string, to: string, isType: boolean): string | undefined => {
  if (isType) return undefined
  if (from === 'router.ts') {
    const mayUse = to.startsWith('handlers/') || LIB_TOP.has(to)
    return mayUse ? undefined : 'the table holds handlers and starts them'
  }
  if (!from.startsWith('handlers/')) return undefined
  // Pure verbs of a domain may be called; what lives long or touches the disk comes through the context.
  const isBuilt = (LIB_TOP.has(to) && to !== 'lib/ctx.ts') || /^lib\/(store\/|config|log)/.test(to)
  return !isBuilt ? undefined : 'a handler reaches this through its context'
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
