/** `agent-webui export`: sessions in the format of Hermes WebUI with an index, or as Markdown, one file each. */
import { makeDir } from '../store/make-dir.ts'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { invalid, missing, messageOf } from '../errors.ts'
import { idOfName, SessionFiles } from '../sessions/files.ts'
import type { Folded } from '../sessions/fold.ts'
import { toMarkdown, toRecord } from '../sessions/transfer.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import type { CommandContext } from './run.ts'
import { readWholeText } from '../store/read-text.ts'

/** Files that both programs keep in the state directory, with the same name and format. */
const SHARED = ['settings.json', 'projects.json', 'workspaces.json', 'last_workspace.txt'] as const

const toText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const idsIn = (dir: string): string[] =>
  existsSync(dir) ? [...new Set(readdirSync(dir).flatMap(name => idOfName(name) ?? []))] : []

/**
 * Only reads the session files, so the server may be running. Secrets are not masked: the files stay on the person's
 * machine. Existing files are never replaced. Returns exit code 1 when a session could not be read.
 */
export const exportSessions = async (
  {
    format,
    directory,
    /** Empty: all. */
    sessions,
  }: { format: 'json' | 'markdown'; directory: string; sessions: readonly string[] },
  { config, terminal, cwd }: CommandContext,
): Promise<number> => {
  const from = join(config.stateDir, 'sessions')
  const files = new SessionFiles(from)
  const target = resolve(cwd, directory)
  const isJson = format === 'json'
  const to = isJson ? join(target, 'sessions') : target
  const pathOf = (id: string) => join(to, `${id}.${isJson ? 'json' : 'md'}`)
  const ids = idsIn(from)
  for (const id of sessions) if (!ids.includes(id)) throw missing(`There is no session ${id}.`)
  const selection = sessions.length > 0 ? sessions : ids
  const existing = selection.find(id => existsSync(pathOf(id)))
  if (existing !== undefined && to !== from)
    throw invalid(`${pathOf(existing)} already exists. Choose an empty directory.`)
  makeDir(to)

  const failures: string[] = []
  const rows: { updated_at: number }[] = []
  let count = 0
  for (const id of selection) {
    try {
      if (!files.find(id)) continue
      const folded = files.fold(id)?.folded
      if (!folded) throw new Error('not a session file')
      if (isJson) rows.push(exportJson(folded, pathOf(id), config.userHome))
      else
        writeAtomic(
          pathOf(id),
          toMarkdown(folded, text => text),
        )
      count += 1
    } catch (error) {
      failures.push(id)
      terminal.note(`${id}: ${messageOf(error)}`)
    }
  }
  const index = join(to, '_index.json')
  if (isJson && !existsSync(index) && sessions.length === 0)
    writeAtomic(index, toText(rows.toSorted((a, b) => b.updated_at - a.updated_at)))
  if (isJson && target !== config.stateDir && sessions.length === 0)
    copyShared(config.stateDir, target)
  terminal.out(`${count} ${count === 1 ? 'session' : 'sessions'} written to ${to}\n`)
  return failures.length > 0 ? 1 : 0
}

const exportJson = (folded: Folded, path: string, workspace: string): { updated_at: number } => {
  const { record, row } = toRecord(folded)
  // An existing file in that format is kept.
  // An empty workspace would mean the other program's start directory.
  if (!existsSync(path))
    writeAtomic(path, toText({ ...record, workspace: record.workspace || workspace }))
  return row
}

const copyShared = (from: string, to: string): void => {
  for (const name of SHARED) {
    const [source, target] = [join(from, name), join(to, name)]
    if (existsSync(source) && !existsSync(target)) writeAtomic(target, readWholeText(source))
  }
}
