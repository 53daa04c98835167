/** Finds files that changed since the last check, because language servers rely on their client for that. */
import { lstat, readdir } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** As in the protocol: created 1, changed 2, deleted 3. */
export type FileEvent = { uri: string; type: 1 | 2 | 3 }

/** In larger projects a server may rely on what it read first. */
const MAX_FILES = 5_000
const MAX_DIRECTORIES = 1_000
/** Installed packages are noticed by the time of their directory. */
const SKIPPED = new Set(['node_modules', '.git', 'target', '.venv', 'venv', '__pycache__'])
const PROJECT_FILES = new Set(['.json', '.toml', '.mod', '.sum', '.work', '.lock'])

type Stamps = Map<string, number>

/** Undefined: too many to look at. */
const stampsOf = async (
  root: string,
  endings: ReadonlySet<string>,
): Promise<Stamps | undefined> => {
  const stamps: Stamps = new Map()
  const stamp = async (path: string) => {
    const stat = await lstat(path).catch(() => null)
    if (stat) stamps.set(path, stat.mtimeMs)
  }
  const dirs = [root]
  for (let at = 0; at < dirs.length; at++) {
    if (at > MAX_DIRECTORIES || stamps.size > MAX_FILES) return undefined
    const dir = dirs[at] ?? root
    const entries = await readdir(dir, { withFileTypes: true }).catch(() => [])
    const files: string[] = []
    for (const entry of entries) {
      const path = join(dir, entry.name)
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) dirs.push(path)
      else if (entry.name === 'node_modules') files.push(path)
      else if (entry.isFile()) {
        const ending = extname(entry.name).toLowerCase()
        if (endings.has(ending) || PROJECT_FILES.has(ending)) files.push(path)
      }
    }
    await Promise.all(files.map(stamp))
  }
  return stamps
}

/** The files below a directory that a language server must hear about when they change. */
export class FileChanges {
  readonly #root: string
  readonly #endings: ReadonlySet<string>
  #last: Stamps | undefined

  constructor(root: string, endings: ReadonlySet<string>) {
    this.#root = root
    this.#endings = endings
  }

  /** The changes since the last call; the first call lists none. */
  async list(): Promise<FileEvent[]> {
    const now = await stampsOf(this.#root, this.#endings)
    const last = this.#last
    this.#last = now
    if (!now || !last) return []
    const event = (path: string, type: FileEvent['type']) => ({
      uri: pathToFileURL(path).href,
      type,
    })
    return [
      ...[...now].flatMap(([path, time]) => {
        const old = last.get(path)
        return old === time ? [] : [event(path, old === undefined ? 1 : 2)]
      }),
      ...[...last.keys()].filter(path => !now.has(path)).map(path => event(path, 3)),
    ]
  }
}
