/**
 * Files that decide about the agent, such as its configuration and the scripts of hooks: what they name runs without approval
 * and outside the sandbox. A member changes none of them, by whatever request.
 */
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { HardLinks } from '../../agent/hard-links.ts'
import { forbidden } from '../../errors.ts'
import type { Caller } from '../../schema/person.ts'
import type { Home } from '../../profiles/home.ts'
import { passedEntries, realPath } from '../../store/path-within.ts'
import { controlPathsOf } from './control-files.ts'
import { ownedPaths } from './role-guards.ts'
import { hookScripts } from './turn-hooks.ts'
import type { App } from '../../app/app.ts'

/** File systems of macOS and Windows take these for one name; a folder of Linux can do so, too. */
const fold = (path: string): string => path.normalize('NFC').toLowerCase()

/**
 * With the hooks of all profiles and workspaces: they may use the same folder. Everything below the folder of a pattern
 * counts: it has skills.
 */
const controlPaths = (app: App, home: Home, root: string): string[] => {
  const hooks = app.homes
    .list()
    .flatMap(each =>
      [root, ...app.workspaces.list(each).map(({ path }) => path)].flatMap(workspace =>
        hookScripts(each.lenient, workspace),
      ),
    )
  const owned = ownedPaths(home.dir, app.config.baseHome).map(({ path }) => path)
  return [...new Set([...controlPathsOf(app.config, home, root), ...owned, ...hooks])].map(
    path => path.split('/**/')[0] ?? path,
  )
}

/** The entries that a change of this path may replace or write: itself, and what it leads to. */
const changedEntries = (path: string): string[] => [
  join(realPath(dirname(path)), basename(path)),
  realPath(path),
]

/** Throws a 403 when one of these paths, relative to the folder or absolute, is a control file, contains one, or leads to one. */
export type ControlGuard = (paths: readonly string[]) => void

/** Of a folder in which a session works. */
class ControlFiles {
  readonly #root: string
  readonly #decisive: ReadonlySet<string>
  readonly #folders: readonly string[]
  readonly #linked: HardLinks

  constructor(control: readonly string[], root: string) {
    this.#root = root
    this.#decisive = new Set(control.flatMap(passedEntries).map(fold))
    this.#folders = control.map(path => fold(realPath(path)))
    this.#linked = new HardLinks(control)
  }

  readonly check: ControlGuard = paths => {
    for (const path of paths) {
      if (path.includes('\0')) continue
      const full = isAbsolute(path) ? path : resolve(this.#root, path)
      const isDecisive = changedEntries(full).some(
        entry => entry !== this.#root && this.#isControl(entry),
      )
      if (isDecisive)
        throw forbidden(`“${path}” decides what the agent may do. Only an owner can change it.`, {
          code: 'control_file',
          values: { path },
        })
    }
  }

  #isControl(entry: string): boolean {
    const place = fold(entry)
    return (
      this.#decisive.has(place) ||
      this.#folders.some(folder => place.startsWith(folder + sep)) ||
      this.#linked.find(entry) !== undefined
    )
  }
}

/** For a folder in which a session of this profile works. Undefined for owners, who may change everything. */
export const controlGuard = (
  { app, person }: { app: App; person: Caller },
  home: Home,
  root: string,
): ControlGuard | undefined =>
  person.role === 'owner'
    ? undefined
    : new ControlFiles(controlPaths(app, home, root), realPath(root)).check
