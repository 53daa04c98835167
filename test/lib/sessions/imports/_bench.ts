/** Imports files made by the tests into sessions of a temporary directory. */
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { ZipFile } from 'yazl'
import { createTestClock } from '../../../_clock.ts'
import { importTarget } from '../../../../lib/app/import-target.ts'
import { type ImportOptions, importExport } from '../../../../lib/sessions/imports/imports.ts'
import type { Project } from '../../../../lib/schema/project.ts'
import type { Message } from '../../../../lib/schema/message.ts'
import { type JournalEntry, parseEntry } from '../../../../lib/sessions/entries.ts'
import { idOfName, SessionFiles, writeJournal } from '../../../../lib/sessions/files.ts'
import type { Folded } from '../../../../lib/sessions/fold.ts'
import { readImported } from '../../../../lib/sessions/imported.ts'
import { lineToShow } from '../../../../lib/sessions/versions.ts'
import { fileScope } from '../../../../lib/workspaces/file-scope.ts'
import { readdirSync } from 'node:fs'
import { tempDir } from '../../../_temp-dir.ts'

export type ImportBench = ReturnType<typeof openImports>

export const openImports = () => {
  const root = tempDir('imports')
  const workspace = join(root, 'workspace')
  const files = new SessionFiles(join(root, 'sessions'))
  for (const dir of [workspace, files.dir]) mkdirSync(dir)
  const projects: Project[] = []
  const target = importTarget({
    profile: 'default',
    workspace,
    find: id => readImported(files, id),
    write: (id, entries) => writeJournal(files.jsonl(id), entries),
    area: () => fileScope(workspace),
    projects: {
      list: () => projects,
      create({ name }) {
        const made = { project_id: `p${projects.length}`, name, color: null, created_at: 0 }
        projects.push(made)
        return made
      },
    },
    clock: createTestClock(1_800_000_000_000),
  })

  const write = (name: string, content: unknown): string => {
    const path = join(root, name)
    const isBytes = typeof content === 'string' || Buffer.isBuffer(content)
    writeFileSync(path, isBytes ? content : JSON.stringify(content))
    return path
  }

  /** Entries by their names; JSON for what is neither text nor bytes. */
  const zip = async (entries: Readonly<Record<string, unknown>>): Promise<string> => {
    const path = join(root, 'export.zip')
    const archive = new ZipFile()
    for (const [name, content] of Object.entries(entries))
      archive.addBuffer(
        Buffer.isBuffer(content)
          ? content
          : Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
        name,
      )
    archive.end()
    const out = createWriteStream(path)
    archive.outputStream.pipe(out)
    await finished(out)
    return path
  }

  const ids = (): string[] => readdirSync(files.dir).flatMap(name => idOfName(name) ?? [])

  const folded = (id: string): Folded => {
    const read = files.fold(id)
    if (!read) throw new Error(`${id} is no session`)
    if (read.summary.bad > 0 || !read.summary.clean) throw new Error(`${id} is not clean`)
    return read.folded
  }

  const entriesOf = (id: string): JournalEntry[] =>
    readFileSync(files.jsonl(id), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map(line => {
        const entry = parseEntry(line)
        if (entry === null || entry === 'unknown') throw new Error(line)
        return entry
      })

  return {
    root,
    workspace,
    projects,
    target,
    files,
    write,
    zip,
    ids,
    folded,
    entriesOf,
    import: (path: string, more: Partial<ImportOptions> = {}) =>
      importExport({ path, target, ...more }),
    /** The only session, or that with this title. */
    chat(title?: string): Folded {
      const all = ids().map(folded)
      const found = title === undefined ? all : all.filter(({ meta }) => meta.title === title)
      if (found.length !== 1)
        throw new Error(`${found.length} chats: ${all.map(({ meta }) => meta.title)}`)
      return found[0]!
    },
    append(id: string, { t, ...entry }: { t: string; [key: string]: unknown }): void {
      const n = entriesOf(id).at(-1)!.n + 1
      writeFileSync(files.jsonl(id), `${JSON.stringify({ n, t, at: 1_800_000_000, ...entry })}\n`, {
        flag: 'a',
      })
    },
    /** The transcript with this version of a message shown. */
    show(id: string, message: string): Message[] {
      const line = lineToShow(entriesOf(id), folded(id).versions, message)
      if (line) this.append(id, line)
      return folded(id).messages
    },
    stored: (path: string): Buffer | null =>
      existsSync(join(workspace, path)) ? readFileSync(join(workspace, path)) : null,
    close: () => rmSync(root, { recursive: true, force: true }),
  }
}

/** `role: content` of each message; tool calls as `role>name(arguments)`. */
export const spoken = ({ messages }: Pick<Folded, 'messages'>): string[] =>
  messages.map(
    ({ role, content, tool_calls = [] }) =>
      `${role}: ${String(content)}${tool_calls.map(call => ` >${call.function.name}(${call.function.arguments})`).join('')}`,
  )
