/** Finds files and folders of a workspace by parts of their path. */
import type { Clock } from '../base/clock.ts'
import type { FoundFile } from '../schema/workspace.ts'
import { fuzzyMatches } from '../base/fuzzy.ts'
import type { FileScope } from './file-scope.ts'

type Listing = { files: readonly { relative: string }[]; isPartial: boolean }
type ListFiles = (walk: {
  root: string
  denied: (fullPath: string) => boolean
  signal: AbortSignal
  until: number
}) => Promise<Listing>

/** A listing is kept this long, so that a query that grows letter by letter reads the disk once. */
const KEPT_MS = 5_000
const LISTING_MS = 2_000
const MAX_FILES = 100_000

type Paths = { texts: string[]; isPartial: boolean }

/** Files and the folders that contain them; folders end with a slash. */
const pathsOf = ({ files, isPartial }: Listing): Paths => {
  const folders = new Set<string>()
  const first = files.slice(0, MAX_FILES)
  for (const { relative } of first)
    for (let at = relative.lastIndexOf('/'); at > 0; at = relative.lastIndexOf('/', at - 1)) {
      const folder = relative.slice(0, at + 1)
      if (folders.has(folder)) break
      folders.add(folder)
    }
  return {
    texts: [...first.map(({ relative }) => relative), ...folders],
    isPartial: isPartial || first.length < files.length,
  }
}

const toFound = (text: string, ranges: number[]): FoundFile => {
  const isFolder = text.endsWith('/')
  return { path: isFolder ? text.slice(0, -1) : text, type: isFolder ? 'dir' : 'file', ranges }
}

/** Where the name begins that a path ends with. */
const nameStart = (path: string): number => path.lastIndexOf('/', path.length - 2) + 1

/** Finds files of a workspace by their names; the list of a workspace is kept for a short time. */
export class FileSearch {
  readonly #listFiles: ListFiles
  readonly #clock: Clock
  readonly #lists = new Map<string, Promise<Paths>>()

  constructor(listFiles: ListFiles, clock: Clock) {
    this.#listFiles = listFiles
    this.#clock = clock
  }

  /** Best first: matches in the name before matches in the folders above it. `isPartial`: the workspace has more files than were listed. */
  async find(
    home: string,
    area: FileScope,
    { query, limit }: { query: string; limit: number },
  ): Promise<{ files: FoundFile[]; isPartial: boolean }> {
    const { texts, isPartial } = await this.#list(`${home}\0${area.root}`, area)
    const matches = fuzzyMatches(texts, query)
    const inName = Map.groupBy(
      matches,
      ({ at, ranges }) => (ranges[0] ?? 0) >= nameStart(texts[at]!),
    )
    const files = [...(inName.get(true) ?? []), ...(inName.get(false) ?? [])]
      .slice(0, limit)
      .map(({ at, ranges }) => toFound(texts[at]!, ranges))
    return { files, isPartial }
  }

  /** Hidden paths differ between homes, so they are part of the key. */
  #list(key: string, { root, isHidden }: FileScope): Promise<Paths> {
    const earlier = this.#lists.get(key)
    if (earlier) return earlier
    const started = this.#listFiles({
      root,
      denied: isHidden,
      signal: AbortSignal.timeout(LISTING_MS * 5),
      until: performance.now() + LISTING_MS,
    }).then(pathsOf)
    this.#lists.set(key, started)
    const forget = () => void this.#lists.delete(key)
    started.then(() => this.#clock.timer(KEPT_MS, forget), forget)
    return started
  }
}
