/** Finds the skills of a profile: its own directory first, then `skills.external_dirs`. Parsed heads are cached by file identity. */
import { type Dirent, lstatSync, readdirSync, type Stats, statSync } from 'node:fs'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Home } from '../home.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import {
  descriptionOf,
  type FrontMatter,
  MAX_NAME_CHARS,
  parseFrontMatter,
  scalarText,
  listOfTexts,
} from './front-matter.ts'
import { type Conditions, conditionsOf } from './prompt-index.ts'
import { readWholeText } from '../../store/read-text.ts'

export type FoundSkill = {
  name: string
  description: string
  category: string | null
  /** The directory of SKILL.md. */
  dir: string
  /** Relative to its root, with slashes: `category/name`. */
  relativePath: string
  root: string
  /** The name of its directory. */
  dirName: string
  readOnly: boolean
  enabled: boolean
  compatible: boolean
  /** The tools it requires or replaces. */
  conditions: Conditions
  slug: string
}

type Head = Pick<FrontMatter, 'values'> & { name: string; description: string }
type Seen = Map<string, { stamp: string; head: Head }>

/** Two levels (category, skill) are usual. */
const MAX_DEPTH = 6
/** A mistyped external directory must not make the service walk a whole disk. */
const MAX_DIRECTORIES = 5_000
/** Only the beginning of a larger file is parsed. */
const MAX_BYTES = 1 << 20

const PLATFORMS: Readonly<Record<string, string>> = { darwin: 'macos', win32: 'windows' }

export const skillsRoot = (home: Home): string => join(home.dir, 'skills')

const statOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false })

/** Resolves `~` and relative paths as the host agent does; missing directories are left out. */
const externalRoots = (home: Home, userHome: string): string[] => {
  return home
    .config()
    .skills.external_dirs.map(path => path.replace(/^~(?=$|[/\\])/, () => userHome))
    .map(path => (isAbsolute(path) ? path : resolve(home.dir, path)))
    .filter(path => statOf(path)?.isDirectory() && realPath(path) !== realPath(skillsRoot(home)))
}

/** Names in `skills.disabled` and in `skills.platform_disabled.cli`. */
const disabledNames = (home: Home): Set<string> => {
  const { disabled, platform_disabled } = home.config().skills
  return new Set([...disabled, ...platform_disabled.cli])
}

const isForUs = (values: Readonly<Record<string, unknown>>): boolean => {
  const { platform } = process
  const platforms = listOfTexts(values.platforms).map(name => name.toLowerCase())
  return platforms.length === 0 || platforms.includes(PLATFORMS[platform] ?? platform)
}

const toSlug = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[\s_]+/g, '-')
    .replace(/[^a-z0-9-]+/g, '')
    .replace(/-{2,}/g, '-')
    .replace(/^-|-$/g, '')

/** Every directory with a SKILL.md below `root`; symlinks are followed, each directory is visited once. */
function* skillDirectories(root: string): Generator<{ dir: string; isLinked: boolean }> {
  const visited = new Set<string>()
  const waiting = [{ dir: root, depth: 0, isLinked: false }]
  while (waiting.length > 0 && visited.size < MAX_DIRECTORIES) {
    const { dir, depth, isLinked } = waiting.shift()!
    const real = realPath(dir)
    if (visited.has(real)) continue
    visited.add(real)
    let entries: Dirent[]
    try {
      entries = readdirSync(dir, { withFileTypes: true })
    } catch {
      // Deleted or not readable.
      continue
    }
    if (depth > 0 && entries.some(entry => entry.name === 'SKILL.md')) {
      yield { dir, isLinked }
      continue
    }
    if (depth === MAX_DEPTH) continue
    for (const { name } of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      // `.git`, `.github`, `.hub`, and directories being deleted.
      if (name.startsWith('.') || name === 'node_modules') continue
      const path = join(dir, name)
      if (!statOf(path)?.isDirectory()) continue
      const link = isLinked || lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
      waiting.push({ dir: path, depth: depth + 1, isLinked: link })
    }
  }
}

/** Rejects a SKILL.md that is a symlink out of its directory: it would expose another file. */
const readHead = (dir: string, seen: Seen, next: Seen): Head | undefined => {
  const path = join(dir, 'SKILL.md')
  const stat = statOf(path)
  if (!stat?.isFile()) return undefined
  if (lstatSync(path).isSymbolicLink() && !isInside(dir, path)) return undefined
  const stamp = `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`
  const cached = seen.get(dir)
  if (cached?.stamp === stamp) {
    next.set(dir, cached)
    return cached.head
  }
  let text: string
  try {
    text = readWholeText(path).slice(0, MAX_BYTES)
  } catch {
    // Not readable, or deleted since.
    return undefined
  }
  const matter = parseFrontMatter(text)
  const name = [...scalarText(matter.values.name)].slice(0, MAX_NAME_CHARS).join('')
  const head = { values: matter.values, name, description: descriptionOf(matter) }
  next.set(dir, { stamp, head })
  return head
}

export class SkillFinder {
  readonly #userHome: string
  readonly #seen = new WeakMap<object, Seen>()

  constructor(userHome: string) {
    this.#userHome = userHome
  }

  /** All skills, disabled ones included, by category and name. The first of a name wins. */
  findAll(home: Home): FoundSkill[] {
    const seen: Seen = this.#seen.get(home.configFile) ?? new Map()
    const next: Seen = new Map()
    const disabled = disabledNames(home)
    const byName = new Map<string, FoundSkill>()
    const own = skillsRoot(home)
    for (const root of [own, ...externalRoots(home, this.#userHome)]) {
      for (const { dir, isLinked } of skillDirectories(root)) {
        const head = readHead(dir, seen, next)
        if (!head) continue
        const parts = relative(root, dir).split(sep)
        const dirName = parts.at(-1) ?? ''
        const name = head.name || dirName
        if (byName.has(name)) continue
        byName.set(name, {
          name,
          description: head.description,
          category: parts.length > 1 ? (parts[0] ?? null) : null,
          dir,
          relativePath: parts.join('/'),
          root,
          dirName,
          readOnly: root !== own || isLinked,
          enabled: !disabled.has(name) && !disabled.has(dirName),
          compatible: isForUs(head.values),
          conditions: conditionsOf(head.values),
          slug: toSlug(name),
        })
      }
    }
    this.#seen.set(home.configFile, next)
    const order = (text: string | null): string => text ?? ''
    const before = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
    return [...byName.values()].sort(
      (a, b) => before(order(a.category), order(b.category)) || before(a.name, b.name),
    )
  }

  /** By name, relative path or directory name. `name` is only compared, never used as a path. */
  find(home: Home, name: string): FoundSkill | undefined {
    const all = this.findAll(home)
    const query = name.trim()
    const by = (key: 'relativePath' | 'dirName' | 'name') => all.find(skill => skill[key] === query)
    return by('name') ?? by('relativePath') ?? by('dirName')
  }
}
