/** Storage of one workspace's checkpoints: file versions in git (plain copies where git is missing) and the records of turns. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../../base/sha256.ts'
import { writeAtomic } from '../../store/atomic-write.ts'
import type { Content } from './file-content.ts'
import { OpenRecord, TurnRecord, type Version } from './records.ts'
import { blobId, type GitOptions, openShadowGit } from './shadow-git.ts'
import { readWhole, readWholeText } from '../../store/read-text.ts'

/** The directory is named by a hash of the workspace's absolute path, as the host agent names it. */
export const checkpointDir = (homeDir: string, root: string): string =>
  join(homeDir, 'checkpoints', sha256(root).slice(0, 16))

export type CheckpointStore = Awaited<ReturnType<typeof openCheckpointStore>>

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

/** Oldest first. Needs no git and creates nothing. */
export const readTurnRecords = (dir: string): TurnRecord[] =>
  idsIn(join(dir, 'webui', 'turns'))
    .flatMap(id => readRecord(join(dir, 'webui', 'turns', `${id}.json`), TurnRecord.parse) ?? [])
    .sort((a, b) => a.at - b.at)

export const listOpenIds = (dir: string): string[] => idsIn(join(dir, 'webui', 'open'))

export const readOpenRecord = (dir: string, id: string): OpenRecord | undefined =>
  readRecord(join(dir, 'webui', 'open', `${id}.json`), OpenRecord.parse)

export const deleteOpenRecord = (dir: string, id: string): void =>
  rmSync(join(dir, 'webui', 'open', `${id}.json`), { force: true })

/** `root`: the real path of the workspace. */
export const openCheckpointStore = async (dir: string, root: string, gitOptions: GitOptions) => {
  const own = (...names: string[]) => join(dir, 'webui', ...names)
  for (const folder of ['turns', 'open', 'files'])
    mkdirSync(own(folder), { recursive: true, mode: 0o700 })
  if (!existsSync(own('workspace.txt'))) writeFileSync(own('workspace.txt'), root, { mode: 0o600 })
  const git = await openShadowGit(dir, root, gitOptions)

  const plain = {
    put(bytes: Buffer): string {
      const id = blobId(bytes)
      if (!existsSync(own('files', id))) writeAtomic(own('files', id), bytes)
      return id
    },
    get: (id: string): Buffer => readWhole(own('files', id)),
  }

  const deleteUnusedFiles = (): void => {
    const turns = readTurnRecords(dir)
    const running = listOpenIds(dir).flatMap(id => readOpenRecord(dir, id) ?? [])
    const steps = [...turns, ...running].flatMap(each => each.steps ?? [])
    const used = new Set(
      [
        ...turns.flatMap(({ changes }) => changes.flatMap(({ before, after }) => [before, after])),
        ...running.flatMap(({ touched }) => touched.map(([, version]) => version)),
        ...steps.flatMap(({ files }) => (files ?? []).map(([, version]) => version)),
      ].map(version => version?.id),
    )
    for (const name of readdirSync(own('files')))
      if (!used.has(name)) rmSync(own('files', name), { force: true })
  }

  return {
    dir,
    root,
    git,
    /** Stores the bytes of a file. */
    async put({ bytes, kind, perm }: Content): Promise<Version> {
      const id = git ? await git.put(bytes) : plain.put(bytes)
      return { kind, perm, id, store: git ? 'git' : 'plain' }
    },
    get: async (version: Version): Promise<Buffer> => {
      if (version.store === 'plain') return plain.get(version.id)
      if (!git) throw new Error("git isn't installed")
      return git.get(version.id)
    },
    turns: () => readTurnRecords(dir),
    writeTurn: (record: TurnRecord) =>
      writeAtomic(own('turns', `${record.id}.json`), JSON.stringify(record)),
    openRecord: (id: string): OpenRecord | undefined => readOpenRecord(dir, id),
    writeOpenRecord: (record: OpenRecord) =>
      writeAtomic(own('open', `${record.id}.json`), JSON.stringify(record)),
    /** Deletes records and the file versions only they refer to. */
    async deleteTurns(ids: readonly string[]): Promise<void> {
      for (const id of ids) {
        rmSync(own('turns', `${id}.json`), { force: true })
        await git?.deleteTurn(id)
      }
      if (ids.length > 0) deleteUnusedFiles()
    },
  }
}
