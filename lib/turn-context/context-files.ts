/** The instructions a workspace holds for agents: the first kind that is there, looked through before a model reads it. */
import { closeSync, existsSync, fstatSync, globSync, readSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { truncateText, type ContextFile } from '../agent/prompt.ts'
import { type Bounds, openDirHandle, openEntry } from '../store/dir-handle.ts'
import { realPath } from '../store/path-within.ts'
import { findThreat } from '../prompt-injection.ts'

/** Ours and the older names; looked for from the workspace up to the root of its repository. */
const OF_THE_AGENT = ['.agent.md', 'AGENT.md', '.hermes.md', 'HERMES.md']
/** Of other agents, in the workspace itself. */
const OF_OTHERS = ['AGENTS.md', 'CLAUDE.md']
const CURSOR_FILE = '.cursorrules'
const CURSOR_RULES = join('.cursor', 'rules')
const MAX_RULES = 50
/** Much more than is shown; of a larger file beginning and end are read. */
const PART_BYTES = 128 * 1024

const readAt = (fd: number, position: number, size: number): string => {
  const bytes = Buffer.alloc(size)
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, size, position))
}

/** Undefined for what is no file of text, leads out of the bounds or may not be seen. */
const readText = (bounds: Bounds, path: string): string | undefined => {
  let fd: number | undefined
  try {
    using held = openDirHandle(bounds, path)
    fd = openEntry(held)
    const stat = fstatSync(fd)
    if (!stat.isFile()) return undefined
    const isLarge = stat.size > 2 * PART_BYTES
    const text = isLarge
      ? `${readAt(fd, 0, PART_BYTES)}\n${readAt(fd, stat.size - PART_BYTES, PART_BYTES)}`
      : readAt(fd, 0, 2 * PART_BYTES)
    return text.includes('\0') ? undefined : text.replace(/^\uFEFF/, '').trim()
  } catch {
    // Missing, closed to us, or a link to somewhere else: as if it were not there.
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** A file that tries to take the model over is named, so that the person can look at it, and not shown. */
const toContext = (name: string, text: string): ContextFile => {
  const threat = findThreat(text)
  return {
    name,
    text: threat
      ? `[${name} was not loaded: it holds ${threat}. Tell the user if it matters for the task.]`
      : truncateText(text, name),
  }
}

/** The workspace, then its parents up to the directory that holds `.git`; only itself where there is none. */
const upToRepository = (workspace: string): string[] => {
  const way: string[] = []
  for (let dir = workspace; ; dir = dirname(dir)) {
    way.push(dir)
    if (existsSync(join(dir, '.git'))) return way
    if (dirname(dir) === dir) return [workspace]
  }
}

const ofTheAgent = (workspace: string, isHidden: Bounds['isHidden']): ContextFile[] => {
  const way = upToRepository(workspace)
  const bounds = { root: way.at(-1) ?? workspace, isHidden }
  for (const dir of way)
    for (const name of OF_THE_AGENT) {
      const path = join(dir, name)
      const text = readText(bounds, path)
      if (text) return [toContext(relative(workspace, path), text)]
    }
  return []
}

const ofCursor = (bounds: Bounds): ContextFile[] => {
  const rules = globSync('*.mdc', { cwd: join(bounds.root, CURSOR_RULES) }).toSorted()
  return [CURSOR_FILE, ...rules.slice(0, MAX_RULES).map(name => join(CURSOR_RULES, name))].flatMap(
    name => {
      const text = readText(bounds, name)
      return text ? [toContext(name, text)] : []
    },
  )
}

/** `forbidden`: places nothing is read from, absolute. Reads the disk; never throws for what lies there. */
export const contextFiles = (workspace: string, forbidden: readonly string[]): ContextFile[] => {
  const root = realPath(workspace)
  const places = forbidden.map(place => realPath(place))
  const isHidden = (real: string): boolean =>
    places.some(place => real === place || real.startsWith(place + sep))
  if (isHidden(root)) return []
  const own = ofTheAgent(root, isHidden)
  if (own.length > 0) return own
  const bounds = { root, isHidden }
  for (const name of OF_OTHERS) {
    const text = readText(bounds, name)
    if (text) return [toContext(name, text)]
  }
  return ofCursor(bounds)
}
