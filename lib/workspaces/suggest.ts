/** Completes a partly typed directory path, and lists directories to choose from, inside trusted directories only. */
import { existsSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { entriesIn } from '../base/directories.ts'
import { isInside } from '../store/path-within.ts'
import type { FolderList } from '../schema/workspace.ts'
import { expandPath, isSystemPath, realDirectory, type Trust } from './workspace-paths.ts'

const MAX_SUGGESTIONS = 12

/** Enough names to find twelve among; a directory of a million files is not read to its end for a hint. */
const MAX_NAMES = 20_000

const startsLike = (text: string, beginning: string): boolean =>
  text.toLowerCase().startsWith(beginning.toLowerCase())

const byName = (a: string, b: string): number =>
  a.toLowerCase() < b.toLowerCase() ? -1 : a.toLowerCase() > b.toLowerCase() ? 1 : 0

const foldersIn = (dir: string): string[] =>
  entriesIn(dir)
    .slice(0, MAX_NAMES)
    .filter(entry => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name)

/** User home, default workspace and saved workspaces that exist, shortest first. */
const rootsOf = ({ userHome, defaultWorkspace: boot, saved }: Trust): string[] => {
  const real = [userHome, boot, ...saved].flatMap(path => realDirectory(path) ?? [])
  return [...new Set(real)]
    .filter(path => !isSystemPath(path, [userHome, boot]))
    .sort((a, b) => a.length - b.length)
}

/** What was typed, split where the last name begins: the directory to look in and the beginning of the name. */
const split = (prefix: string, userHome: string): { parent: string; start: string } => {
  const full = prefix === '~' || prefix.startsWith('~/') ? userHome + prefix.slice(1) : prefix
  const cut = full.lastIndexOf('/') + 1
  const start = full.slice(cut)
  // `..` is a directory, not the beginning of a name; `.` is the beginning of hidden names.
  if (start === '..') return { parent: resolve(userHome, full), start: '' }
  return { parent: resolve(userHome, full.slice(0, cut)), start }
}

/** Children of `parent` whose resolved path is trusted too: neither `..` nor a symlink leads out. */
const childrenOf = (
  parent: string,
  start: string,
  roots: readonly string[],
  most = MAX_SUGGESTIONS,
): string[] => {
  const real = realDirectory(parent)
  if (real === undefined || !roots.some(root => isInside(root, real))) return []
  const folders: string[] = []
  const names = foldersIn(real)
    .filter(name => startsLike(name, start))
    .filter(name => start.startsWith('.') || !name.startsWith('.'))
  for (const name of names.sort(byName)) {
    const child = realDirectory(join(real, name))
    const isTrusted = child !== undefined && roots.some(root => isInside(root, child))
    if (isTrusted && !isSystemPath(child, roots)) folders.push(child)
    if (folders.length === most) break
  }
  return folders
}

/** Never refuses: an untrusted, broken or absurd prefix suggests nothing. */
export const suggestDirectories = (prefix: string, trust: Trust): string[] => {
  const roots = rootsOf(trust)
  const typed = prefix.trim()
  if (!typed) return roots.slice(0, MAX_SUGGESTIONS)
  if (typed.includes('\0')) return []
  const { parent, start } = split(typed, trust.userHome)
  const beginning = parent.endsWith('/') ? parent + start : `${parent}/${start}`
  const matching = roots.filter(root => startsLike(root, beginning))
  return [...new Set([...matching, ...childrenOf(parent, start, roots)])].slice(0, MAX_SUGGESTIONS)
}

/** More than anyone reads; the next ones are found by typing. */
const MAX_LISTED = 500

/** The directories inside of `path`. Of none, and of one that is not trusted: where one can begin. */
export const listFolders = (path: string, trust: Trust): FolderList => {
  const roots = rootsOf(trust)
  const real = path.trim() ? realDirectory(expandPath(path, trust.userHome)) : undefined
  const here = real !== undefined && roots.some(root => isInside(root, real)) ? real : ''
  const above = here === '' ? null : dirname(here)
  return {
    path: here,
    parent: above === null || roots.some(root => isInside(root, above)) ? above : '',
    // A link beside the directory that it leads to is not another one.
    folders: [...new Set(here ? childrenOf(here, '', roots, MAX_LISTED) : roots)].map(child => ({
      path: child,
      name: here ? basename(child) : child,
      is_repository: existsSync(join(child, '.git')),
    })),
  }
}
