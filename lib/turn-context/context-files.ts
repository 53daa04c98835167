/** Instruction files of a workspace (AGENTS.md and the like): the first kind found, checked for prompt injection. */
import { closeSync, existsSync, fstatSync, globSync, readSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { truncateText, type ContextFile } from '../agent/prompt.ts'
import { type Bounds, openDirHandle, openEntry } from '../store/dir-handle.ts'
import { realPath } from '../store/path-within.ts'
import { findThreat } from '../prompt-injection.ts'

/** Our names and the older ones; searched from the workspace up to the repository root. */
const AGENT_FILES = ['.agent.md', 'AGENT.md', '.hermes.md', 'HERMES.md']
/** Names of other agents, in the workspace itself. */
const OTHER_FILES = ['AGENTS.md', 'CLAUDE.md']
const CURSOR_FILE = '.cursorrules'
const CURSOR_RULES = join('.cursor', 'rules')
const MAX_RULES = 50
/** More than the prompt includes; larger files are read at their start and end. */
const PART_BYTES = 128 * 1024

const readAt = (fd: number, position: number, size: number): string => {
  const bytes = Buffer.alloc(size)
  return bytes.toString('utf8', 0, readSync(fd, bytes, 0, size, position))
}

/** Undefined for a non-text file, a path outside the bounds, or a hidden one. */
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
    // Missing, not readable, or a link out of the bounds: treated as absent.
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** A file with a prompt injection is named in the prompt, so that the user can check it, but not included. */
const toContext = (name: string, text: string): ContextFile => {
  const threat = findThreat(text)
  return {
    name,
    text: threat
      ? `[${name} was not loaded: it holds ${threat}. Tell the user if it matters for the task.]`
      : truncateText(text, name),
  }
}

/** The workspace and its parents up to the directory with `.git`; only the workspace outside a repository. */
const upToRepository = (workspace: string): string[] => {
  const dirs: string[] = []
  for (let dir = workspace; ; dir = dirname(dir)) {
    dirs.push(dir)
    if (existsSync(join(dir, '.git'))) return dirs
    if (dirname(dir) === dir) return [workspace]
  }
}

const agentContext = (workspace: string, isHidden: Bounds['isHidden']): ContextFile[] => {
  const dirs = upToRepository(workspace)
  const bounds = { root: dirs.at(-1) ?? workspace, isHidden }
  for (const dir of dirs)
    for (const name of AGENT_FILES) {
      const path = join(dir, name)
      const text = readText(bounds, path)
      if (text) return [toContext(relative(workspace, path), text)]
    }
  return []
}

const cursorContext = (bounds: Bounds): ContextFile[] => {
  const rules = globSync('*.mdc', { cwd: join(bounds.root, CURSOR_RULES) }).toSorted()
  return [CURSOR_FILE, ...rules.slice(0, MAX_RULES).map(name => join(CURSOR_RULES, name))].flatMap(
    name => {
      const text = readText(bounds, name)
      return text ? [toContext(name, text)] : []
    },
  )
}

/** `forbidden`: absolute paths that are never read. Never throws for the contents of the disk. */
export const contextFiles = (workspace: string, forbidden: readonly string[]): ContextFile[] => {
  const root = realPath(workspace)
  const forbiddenPaths = forbidden.map(path => realPath(path))
  const isHidden = (real: string): boolean =>
    forbiddenPaths.some(path => real === path || real.startsWith(path + sep))
  if (isHidden(root)) return []
  const own = agentContext(root, isHidden)
  if (own.length > 0) return own
  const bounds = { root, isHidden }
  for (const name of OTHER_FILES) {
    const text = readText(bounds, name)
    if (text) return [toContext(name, text)]
  }
  return cursorContext(bounds)
}
