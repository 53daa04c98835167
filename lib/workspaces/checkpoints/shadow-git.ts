/**
 * A git repository outside the workspace that stores file versions, with the workspace as its work tree. Nothing in the
 * workspace or in the user's git configuration affects it: no attributes, filters, line endings, hooks or ignore files.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configEnv, type GitConfig, localGitEnv, runGit } from '../../base/git.ts'
import { messageOf } from '../../errors.ts'

const TIMEOUT_MS = 30_000
const MAX_BYTES = 256 * 1024 * 1024
/** Garbage collection starts at this number of loose objects (git's own default for gc.auto is 6700 too). */
const MAX_LOOSE_OBJECTS = 6_700

export type GitOptions = { path: string | undefined; timeoutMs?: number }

type Call = { input?: string | Buffer; maxBytes?: number; timeoutMs?: number }

export type Entry = { mode: string; id: string }

/** The blob id of these bytes, as `git hash-object` computes it. */
export const blobId = (bytes: Uint8Array): string =>
  createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')

/** `info/attributes` takes precedence over every `.gitattributes` in the workspace. */
const ATTRIBUTES = '* -text -eol -crlf -ident -filter !working-tree-encoding !diff\n'

const CONFIG: GitConfig = [
  ['core.autocrlf', 'false'],
  ['core.safecrlf', 'false'],
  ['core.fileMode', 'true'],
  ['core.symlinks', 'true'],
  ['core.ignoreCase', 'false'],
  ['core.precomposeUnicode', 'false'],
  ['core.protectNTFS', 'false'],
  ['core.protectHFS', 'false'],
  ['core.fsmonitor', 'false'],
  ['core.untrackedCache', 'false'],
  ['core.splitIndex', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['core.logAllRefUpdates', 'false'],
  // A power cut may lose the newest versions. An fsync per file would slow down every turn.
  ['core.fsync', 'none'],
  ['core.bare', 'false'],
  ['gc.auto', '0'],
]

const environment = (dir: string, root: string, path: string | undefined) => ({
  ...localGitEnv(path),
  HOME: dir,
  GIT_DIR: dir,
  GIT_WORK_TREE: root,
  // The host agent may have its own index in this directory.
  GIT_INDEX_FILE: join(dir, 'webui', 'index'),
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  ...configEnv(CONFIG),
})

/** `dir`: the repository. `root`: the workspace. Resolves to undefined when git is not installed. */
export const openShadowGit = async (dir: string, root: string, gitOptions: GitOptions) => {
  const env = environment(dir, root, gitOptions.path)

  const call = async (args: readonly string[], options: Call = {}): Promise<Buffer> => {
    const { input, maxBytes = MAX_BYTES, timeoutMs = gitOptions.timeoutMs ?? TIMEOUT_MS } = options
    const done = await runGit(args, { cwd: dir, env, input, maxBytes, timeoutMs })
    if (done.stopped === 'timeout') throw new Error('git took too long')
    if (done.stopped === 'limit') throw new Error('git returned too much data')
    if (done.code === 0) return done.stdout
    throw new Error(`git ${args[0]}: ${done.stderr.trim() || `exit ${done.code}`}`)
  }

  const text = async (args: readonly string[], options?: Call): Promise<string> =>
    (await call(args, options)).toString().trim()

  const prepare = async (): Promise<boolean> => {
    mkdirSync(join(dir, 'webui'), { recursive: true, mode: 0o700 })
    try {
      if (!existsSync(join(dir, 'HEAD'))) await call(['init', '--quiet', '--template='])
    } catch (error) {
      if (/ENOENT/.test(messageOf(error))) return false
      throw error
    }
    mkdirSync(join(dir, 'info'), { recursive: true })
    writeFileSync(join(dir, 'info', 'attributes'), ATTRIBUTES)
    // Left by a killed process. The instance lock rules out another running one.
    rmSync(join(dir, 'webui', 'index.lock'), { force: true })
    return true
  }
  if (!(await prepare())) return undefined

  return {
    /** Updates the index to the files on disk. Paths are relative to the workspace; none of `present` may be a folder. */
    async update(present: readonly string[], deleted: readonly string[]): Promise<void> {
      const lines = (paths: readonly string[]) => paths.map(path => `${path}\0`).join('')
      const stdin = ['-z', '--stdin']
      // First, and by force: a folder may now be where a file was.
      if (deleted.length > 0)
        await call(['update-index', '--force-remove', ...stdin], { input: lines(deleted) })
      if (present.length > 0)
        await call(['update-index', '--add', '--remove', '--replace', ...stdin], {
          input: lines(present),
        })
    },
    /** Forces the next update to read every file. */
    dropIndex: () => rmSync(join(dir, 'webui', 'index'), { force: true }),
    /** The files of the index. */
    async entries(): Promise<Map<string, Entry>> {
      const found = new Map<string, Entry>()
      for (const line of (await call(['ls-files', '--stage', '-z'])).toString().split('\0')) {
        const [, mode = '', id = '', path = ''] =
          /^(\d+) ([0-9a-f]+) \d\t([\s\S]+)$/.exec(line) ?? []
        if (path) found.set(path, { mode, id })
      }
      return found
    },
    /** Writes the index as a tree. A ref protects it from garbage collection until the next call; `protect` for longer. */
    async tree(): Promise<string> {
      const id = await text(['write-tree'])
      await call(['update-ref', 'refs/webui/index', id])
      return id
    },
    /** The paths that differ between two trees. */
    async diffTrees(from: string, to: string) {
      const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', from, to]
      const parts = (await call(args)).toString().split('\0')
      const found: { path: string; from: Entry; to: Entry }[] = []
      for (let at = 0; at + 1 < parts.length; at += 2) {
        const [old = '', mode = '', oldId = '', id = ''] = (parts[at] ?? '').slice(1).split(' ')
        found.push({
          path: parts[at + 1] ?? '',
          from: { mode: old, id: oldId },
          to: { mode, id },
        })
      }
      return found
    },
    /** Stores these bytes; resolves to their blob id. */
    put: (bytes: Buffer): Promise<string> =>
      text(['hash-object', '-w', '--no-filters', '--stdin'], { input: bytes }),
    get: (id: string): Promise<Buffer> => call(['cat-file', 'blob', id]),
    /**
     * Stores the versions of a turn as two flat trees, before and after, with the index of each pair as file name. Refs
     * protect both trees from garbage collection. Resolves to added and removed lines by index; null for binary files.
     */
    async storeTurn(
      name: string,
      pairs: readonly { before: string | null; after: string | null }[],
    ): Promise<Map<number, { added: number; removed: number } | null>> {
      const flat = (side: 'before' | 'after') =>
        text(['mktree', '-z'], {
          input: pairs
            .flatMap((pair, n) => (pair[side] ? [`100644 blob ${pair[side]}\t${n}\0`] : []))
            .join(''),
        })
      const [before, after] = [await flat('before'), await flat('after')]
      for (const [side, id] of Object.entries({ before, after }))
        await call(['update-ref', `refs/webui/turns/${name}/${side}`, id])
      const lines = await call([
        ...['diff-tree', '-r', '-z', '--numstat', '--no-renames', '--no-textconv', '--no-ext-diff'],
        ...[before, after],
      ])
      const counts = new Map<number, { added: number; removed: number } | null>()
      for (const line of lines.toString().split('\0')) {
        const [added = '', removed = '', n] = line.split('\t')
        if (n === undefined) continue
        const isBinary = added === '-'
        counts.set(Number(n), isBinary ? null : { added: Number(added), removed: Number(removed) })
      }
      return counts
    },
    /** Protects the versions between before and after from garbage collection. Rejects when one is gone. */
    async storeSteps(name: string, ids: readonly string[]): Promise<void> {
      const input = ids.map((id, n) => `100644 blob ${id}\t${n}\0`).join('')
      const tree = await text(['mktree', '-z'], { input })
      await call(['update-ref', `refs/webui/turns/${name}/steps`, tree])
    },
    /** Protects objects of a running turn from garbage collection, until `release`. */
    async protect(name: string, ids: readonly string[]): Promise<void> {
      if (ids.length === 0) return
      const input = ids.map(id => `update refs/webui/open/${name}/${id} ${id}\n`).join('')
      await call(['update-ref', '--stdin'], { input })
    },
    async release(name: string): Promise<void> {
      const input = await call([
        'for-each-ref',
        '--format=delete %(refname)',
        `refs/webui/open/${name}/`,
      ])
      if (input.length > 0) await call(['update-ref', '--stdin'], { input })
    },
    async deleteTurn(name: string): Promise<void> {
      for (const side of ['before', 'after', 'steps'])
        await call(['update-ref', '-d', `refs/webui/turns/${name}/${side}`])
    },
    /** Packs loose objects when there are many, and deletes unreferenced ones older than an hour. */
    async collectGarbage(force = false): Promise<void> {
      const [, count = '0'] = /^count: (\d+)/m.exec(await text(['count-objects', '-v'])) ?? []
      if (force || Number(count) > MAX_LOOSE_OBJECTS)
        await call(['gc', '--quiet', '--prune=1.hour.ago'], { timeoutMs: 300_000 })
    },
  }
}
