/** Storage of one workspace's checkpoints: versions of files, each once under the hash of its bytes, and the records of turns. */
import { type Sentence, sentence } from '../../base/sentences.ts'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompressSync, zstdDecompress } from 'node:zlib'
import { systemClock } from '../../base/clock.ts'
import { localGitEnv, runGit } from '../../base/git.ts'
import { missing } from '../../errors.ts'
import { sha256 } from '../../base/sha256.ts'
import { writeAtomic } from '../../store/atomic-write.ts'
import type { Bounds } from '../../store/dir-handle.ts'
import { readWholeText } from '../../store/read-text.ts'
import { type Content, readContent } from './file-content.ts'
import { OpenRecord, type Snapshot, TurnRecord, type Version } from './records.ts'
import { type Scan, type ScanLimits, scanWorkspace, slices } from './scan-workspace.ts'

const decompress = promisify(zstdDecompress)

const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** The times of files have the resolution of the kernel's clock: a file that changed this recently could change again unnoticed. */
const RECENT_MS = 100

/** The directory is named by a hash of the workspace's absolute path, as the host agent names it. */
export const checkpointDir = (homeDir: string, root: string): string =>
  join(homeDir, 'checkpoints', sha256(root).slice(0, 16))

/** The id of these bytes, as `git hash-object` computes it. */
export const blobId = (bytes: Uint8Array): string =>
  createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')

const MAX_GIT_BYTES = 256 << 20
const GIT_MS = 30_000

const BLOB = /^[0-9a-f]{40}$/
const ID = /^[0-9a-f]{16,64}$/

/** Ids of the `.json` files in a directory; empty when it does not exist. */
const idsIn = (dir: string): string[] =>
  existsSync(dir)
    ? readdirSync(dir)
        .filter(name => name.endsWith('.json'))
        .map(name => name.slice(0, -5))
        .filter(id => ID.test(id))
    : []

/** Undefined for an unreadable record: nothing can be restored from it. */
const readRecord = <T>(path: string, parse: (value: unknown) => T): T | undefined => {
  try {
    return parse(JSON.parse(readWholeText(path)))
  } catch {
    // Damaged, written by another version, or deleted since it was listed.
    return undefined
  }
}

/** Oldest first. Creates nothing. */
export const readTurnRecords = (dir: string): TurnRecord[] =>
  idsIn(join(dir, 'webui', 'turns'))
    .flatMap(id => readRecord(join(dir, 'webui', 'turns', `${id}.json`), TurnRecord.parse) ?? [])
    .sort((a, b) => a.at - b.at)

export const listOpenIds = (dir: string): string[] => idsIn(join(dir, 'webui', 'open'))

export const readOpenRecord = (dir: string, id: string): OpenRecord | undefined =>
  readRecord(join(dir, 'webui', 'open', `${id}.json`), OpenRecord.parse)

export const deleteOpenRecord = (dir: string, id: string): void =>
  rmSync(join(dir, 'webui', 'open', `${id}.json`), { force: true })

/** The workspace `bounds.root`, without what is hidden from requests. */
export type CheckpointContext = { store: CheckpointStore; bounds: Bounds; limits: ScanLimits }

type StampedVersion = { stamp: string; version: Version }

/** How many names one note lists. */
const MAX_LISTED_NAMES = 5

export const listNames = (names: readonly string[]): string =>
  names.length > MAX_LISTED_NAMES
    ? `${names.slice(0, MAX_LISTED_NAMES).join(', ')} and ${names.length - MAX_LISTED_NAMES} more`
    : names.join(', ')

const notesOf = ({ large, unreadable, withoutBuildFolders }: Scan): Sentence[] => [
  ...(large.size > 0
    ? [sentence('checkpoint.large_files', { files: listNames([...large.keys()]) })]
    : []),
  ...(unreadable.length > 0
    ? [sentence('checkpoint.unreadable', { files: listNames(unreadable) })]
    : []),
  ...(withoutBuildFolders ? [sentence('checkpoint.build_folders')] : []),
]

export class CheckpointStore {
  readonly dir: string
  /** The files of the last snapshot, which need not be read again while their stamp is the same. In memory while a turn runs. */
  #lastFiles: Map<string, StampedVersion> | undefined

  /** `root`: the real path of the workspace. */
  constructor(dir: string, root: string) {
    this.dir = dir
    for (const folder of ['turns', 'open', 'blobs'])
      mkdirSync(this.#own(folder), { recursive: true, mode: 0o700 })
    const about = this.#own('workspace.txt')
    if (!existsSync(about)) writeFileSync(about, root, { mode: 0o600 })
  }

  #own(...names: string[]): string {
    return join(this.dir, 'webui', ...names)
  }

  #readKnown(): Map<string, StampedVersion> {
    const read = (value: unknown) => new Map(value as [string, StampedVersion][])
    this.#lastFiles ??= readRecord(this.#own('known.json'), read) ?? new Map()
    return this.#lastFiles
  }

  #store(bytes: Buffer): string {
    const id = blobId(bytes)
    const path = this.#own('blobs', id)
    // A power cut can leave an empty file: an fsync for each would slow down every turn.
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0)
      writeAtomic(path, zstdCompressSync(bytes, FAST), { sync: false })
    return id
  }

  /** Stores the bytes of a file. */
  put({ bytes, kind, perm }: Content): Version {
    return { kind, perm, id: this.#store(bytes) }
  }

  async get(id: string): Promise<Buffer> {
    try {
      // It becomes a path, and an agent may have written the record.
      if (!BLOB.test(id)) throw new Error(`${id} is no id`)
      return await decompress(await readFile(this.#own('blobs', id)))
    } catch {
      const old = BLOB.test(id) ? await this.#getOld(id) : undefined
      if (old) return old
      // Deleted by hand, or the disk is damaged.
      throw missing('The stored version of this file no longer exists.', {
        code: 'checkpoint_not_found',
      })
    }
  }

  /** Earlier versions kept a Git repository here, whose ids are the same, or plain files. */
  async #getOld(id: string): Promise<Buffer | undefined> {
    const plain = this.#own('files', id)
    if (existsSync(plain)) return readFile(plain)
    if (!existsSync(join(this.dir, 'HEAD'))) return undefined
    const env = { ...localGitEnv(undefined), HOME: this.dir, GIT_DIR: this.dir }
    const options = { cwd: this.dir, env, maxBytes: MAX_GIT_BYTES, timeoutMs: GIT_MS }
    // Without git, what it has cannot be had.
    const result = await runGit(['cat-file', 'blob', id], options).catch(() => undefined)
    return result?.code === 0 ? result.stdout : undefined
  }

  /** Stores the files of the workspace as they are now. `notes`: what is not among them. */
  async takeSnapshot({
    bounds,
    limits,
  }: CheckpointContext): Promise<Snapshot & { notes: Sentence[] }> {
    const scan = await scanWorkspace({ root: bounds.root, isHidden: bounds.isHidden, limits })
    const last = this.#readKnown()
    const files = new Map<string, Version>()
    const next = new Map<string, StampedVersion>()
    const pause = slices()
    for (const [path, { stamp, changedAt }] of scan.files) {
      await pause()
      const before = last.get(path)
      if (before?.stamp === stamp) {
        files.set(path, before.version)
        next.set(path, before)
        continue
      }
      const readAt = systemClock.now()
      const result = readContent(bounds, path, limits.fileBytes)
      if ('problem' in result) scan.unreadable.push(path)
      if ('problem' in result || !result.content) continue
      const version = this.put(result.content)
      files.set(path, version)
      if (readAt - changedAt > RECENT_MS) next.set(path, { stamp, version })
    }
    this.#lastFiles = next
    const { folders, large, unreadable, withoutBuildFolders } = scan
    const skipped = new Map([...large, ...unreadable.map(path => [path, ''] as const)])
    return { files, folders, skipped, withoutBuildFolders, notes: notesOf(scan) }
  }

  /** Returns the id of a snapshot, for `readSnapshot`. */
  putSnapshot({ files, folders, skipped, withoutBuildFolders }: Snapshot): string {
    const lists = [[...files], [...folders], [...skipped], withoutBuildFolders]
    return this.#store(Buffer.from(JSON.stringify(lists)))
  }

  async readSnapshot(id: string): Promise<Snapshot> {
    const [files, folders, skipped, withoutBuildFolders] = JSON.parse(String(await this.get(id)))
    return {
      files: new Map(files),
      folders: new Set(folders),
      skipped: new Map(skipped),
      withoutBuildFolders,
    }
  }

  turns(): TurnRecord[] {
    return readTurnRecords(this.dir)
  }

  writeTurn(record: TurnRecord): void {
    writeAtomic(this.#own('turns', `${record.id}.json`), JSON.stringify(record))
  }

  openRecord(id: string): OpenRecord | undefined {
    return readOpenRecord(this.dir, id)
  }

  writeOpenRecord(record: OpenRecord): void {
    writeAtomic(this.#own('open', `${record.id}.json`), JSON.stringify(record))
  }

  /** After a turn: the next one need not read all files again. */
  saveKnown(): void {
    if (this.#lastFiles)
      writeAtomic(this.#own('known.json'), JSON.stringify([...this.#lastFiles]), { sync: false })
    this.#lastFiles = undefined
  }

  /** Deletes records and the versions only they refer to. */
  async deleteTurns(ids: readonly string[]): Promise<void> {
    for (const id of ids) rmSync(this.#own('turns', `${id}.json`), { force: true })
    const used = await this.#usedIds()
    for (const name of readdirSync(this.#own('blobs')))
      if (!used.has(name)) rmSync(this.#own('blobs', name), { force: true })
  }

  async #usedIds(): Promise<Set<string | undefined>> {
    const turns = this.turns()
    const open = listOpenIds(this.dir).flatMap(id => this.openRecord(id) ?? [])
    const snapshots = open.flatMap(({ snapshot }) => snapshot ?? [])
    const files = await Promise.all(
      snapshots.map(async id => [...(await this.readSnapshot(id)).files.values()]),
    )
    const versions = [
      ...turns.flatMap(({ changes }) => changes.flatMap(({ before, after }) => [before, after])),
      ...open.flatMap(({ touched }) => touched.map(([, version]) => version)),
      ...[...turns, ...open].flatMap(({ steps = [] }) =>
        steps.flatMap(step => (step.files ?? []).map(([, version]) => version)),
      ),
      ...[...this.#readKnown().values()].map(({ version }) => version),
      ...files.flat(),
    ]
    return new Set([...snapshots, ...versions.map(version => version?.id)])
  }
}
