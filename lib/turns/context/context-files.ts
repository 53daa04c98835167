/**
 * Instruction files of a project (AGENTS.md and the like): one per directory, from the repository root down to the workspace,
 * with their imports, checked for prompt injection. Deeper directories are read by the model later; see `instructionsFor`.
 */
import { existsSync, globSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { truncateText, type ContextFile } from '../../agent/prompt.ts'
import { hiddenGuard } from '../../agent/tools/allowed-paths.ts'
import type { DirectoryInstructions } from '../../agent/nested-instructions.ts'
import type { ReadScope } from '../../agent/types.ts'
import { findThreat } from '../../base/prompt-injection.ts'
import type { Bounds } from '../../store/dir-handle.ts'
import { realPath } from '../../store/path-within.ts'
import { importsOf } from './context-imports.ts'
import { type InstructionFile, readContextFile } from './read-context-file.ts'

/** The first that exists in a directory counts: our names, the older ones, and those of other agents. */
const NAMES = ['.agent.md', 'AGENT.md', '.hermes.md', 'HERMES.md', 'AGENTS.md', 'CLAUDE.md']
const CURSOR_FILE = '.cursorrules'
const CURSOR_RULES = join('.cursor', 'rules')
const MAX_RULES = 50

type Limits = { each: number; total: number }

/** Characters of the instruction files in the prompt. */
const PROMPT_LIMITS: Limits = { each: 20_000, total: 40_000 }
/** Of those that a tool result adds. */
const RESULT_LIMITS: Limits = { each: 8_000, total: 16_000 }
/** Less than this of a file is not worth including. */
const MIN_CHARS = 500

/** Directories with other people's code: its instructions are not meant for this project. */
const FOREIGN = new Set(['node_modules', 'bower_components', 'site-packages', 'vendor', '.git'])

/** `path`: absolute and real. `dir`: the directory it is for, which is not its own when it was imported. */
export type ProjectFile = ContextFile & { path: string; dir: string }

/** A file with a prompt injection is named in the prompt, so that the user can check it, but not included. */
const checked = (name: string, text: string): string => {
  const threat = findThreat(text)
  return threat
    ? `[${name} was not loaded: it contains ${threat}. Tell the user if it matters for the task.]`
    : text
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

/** The directory of the repository that contains the workspace; the workspace itself outside a repository. */
export const projectRoot = (workspace: string): string =>
  upToRepository(realPath(workspace)).at(-1) ?? workspace

const fileIn = (bounds: Bounds, dir: string): InstructionFile | undefined => {
  for (const name of NAMES) {
    const file = readContextFile(bounds, join(dir, name))
    if (file) return file
  }
  return undefined
}

const cursorFiles = (bounds: Bounds, dir: string): InstructionFile[] => {
  const rules = globSync('*.mdc', { cwd: join(dir, CURSOR_RULES) }).toSorted()
  return [CURSOR_FILE, ...rules.slice(0, MAX_RULES).map(name => join(CURSOR_RULES, name))].flatMap(
    name => readContextFile(bounds, join(dir, name)) ?? [],
  )
}

/** Cuts to the total size, from the outermost file on: the files of a deeper directory matter more. */
const fit = (files: readonly ProjectFile[], { each, total }: Limits): ProjectFile[] => {
  let budget = total
  return files
    .toReversed()
    .map(file => {
      const { name, text } = file
      const isTooMuch = text.length > budget && budget < MIN_CHARS
      const cut = isTooMuch
        ? `[${name} was left out: together the instruction files are longer than ${total} characters. Read it if it matters for the task.]`
        : truncateText(text, name, Math.min(each, budget))
      budget = Math.max(0, budget - cut.length)
      return { ...file, text: cut }
    })
    .toReversed()
}

/** The bounds of a workspace's project; undefined when the workspace itself may not be read. */
const boundsOf = (workspace: string, scope: ReadScope): Bounds | undefined => {
  const isHidden = hiddenGuard(scope)
  return isHidden(realPath(workspace)) ? undefined : { root: projectRoot(workspace), isHidden }
}

/** Reads the files of these directories, each with its imports after it. */
const load = (
  list: readonly InstructionFile[],
  workspace: string,
  bounds: Bounds,
  loaded: Set<string>,
  { env }: ReadScope,
): ProjectFile[] => {
  for (const { path } of list) loaded.add(path)
  return list.flatMap(file => {
    const name = relative(workspace, file.name)
    const dir = dirname(file.name)
    const { files, note } = importsOf(file, { bounds, loaded, home: env.HOME ?? '' })
    const imported = files.map(({ path, text, name: fullName }) => {
      const importedName = `${relative(workspace, fullName)} (imported by ${name})`
      return { path, dir, name: importedName, text: checked(importedName, text) }
    })
    const own = checked(name, file.text)
    return [{ path: file.path, dir, name, text: note ? `${own}\n\n${note}` : own }, ...imported]
  })
}

/** The files that apply to the workspace, outermost first. Never throws for the contents of the disk. */
export const contextFiles = (workspace: string, scope: ReadScope): ProjectFile[] => {
  const root = realPath(workspace)
  const bounds = boundsOf(workspace, scope)
  if (!bounds) return []
  const dirs = upToRepository(root).toReversed()
  const agentFiles = dirs.flatMap(dir => fileIn(bounds, dir) ?? [])
  const files = agentFiles.length > 0 ? agentFiles : cursorFiles(bounds, root)
  const unique = files.filter(({ path }, at) => files.findIndex(each => each.path === path) === at)
  return fit(load(unique, root, bounds, new Set(), scope), PROMPT_LIMITS)
}

/**
 * The files that apply to one file of the project, outermost first, without those in `knownFiles` (real paths). Empty for a file
 * outside the project.
 */
export const instructionsFor = (
  workspace: string,
  file: string,
  knownFiles: ReadonlySet<string>,
  scope: ReadScope,
): DirectoryInstructions[] => {
  const bounds = boundsOf(workspace, scope)
  if (!bounds || !file.startsWith(bounds.root.endsWith(sep) ? bounds.root : bounds.root + sep))
    return []
  const way = relative(bounds.root, dirname(file)).split(sep).filter(Boolean)
  if (way.some(name => FOREIGN.has(name))) return []
  const dirs = [bounds.root, ...way.map((_, at) => join(bounds.root, ...way.slice(0, at + 1)))]
  const root = realPath(workspace)
  const list = dirs
    .flatMap(dir => fileIn(bounds, dir) ?? [])
    .filter(({ path }) => !knownFiles.has(path) && path !== file)
  const files = fit(load(list, root, bounds, new Set(knownFiles), scope), RESULT_LIMITS)
  return files.map(({ path, dir, text }) => ({
    file: path,
    applies_to: dir.endsWith(sep) ? dir : dir + sep,
    text,
  }))
}
