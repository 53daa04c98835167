/**
 * Imports chats from the export of another program: opens the file, recognizes each conversation, and writes a session for it.
 * One conversation is in memory at a time. A conversation always becomes the same session, so importing twice doubles nothing,
 * and an import that was interrupted is completed by repeating it.
 */
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { oneLine } from '../../base/shorten.ts'
import { isObject, type JsonObject, asString } from '../../base/json.ts'
import { sha256 } from '../../base/sha256.ts'
import { toTime } from '../../base/to-time.ts'
import { messageOf, UserError, invalid } from '../../errors.ts'
import type { ImportReport, ImportResult, ImportSource, LeftOutCode } from '../../schema/import.ts'
import type { NewMessage } from '../../schema/message.ts'
import { type JournalEntry, messageEntries } from '../entries.ts'
import type { StoredImport } from '../imported.ts'
import { readChatGpt } from './chatgpt.ts'
import { readClaude, readClaudeProjects } from './claude.ts'
import type { Conversation, ReadContext, ReadConversation } from './conversation.ts'
import { toEntries } from './entries.ts'
import { type ExportFile, openExport, readJsonFile } from './export-file.ts'
import { FilePlan, type PlannedFile } from './files.ts'
import { type JsonValue, jsonValues } from './json-values.ts'
import { readLibreChat } from './librechat.ts'
import { readOpenWebUi } from './open-webui.ts'
import { Reporting } from './report.ts'
import { turnsOf } from './turns.ts'

/** A conversation that is larger is set aside: its text must fit into memory. */
const MAX_CONVERSATION_BYTES = 64 * 1024 * 1024
const MAX_TITLE_CHARS = 80
const DAY_SECONDS = 86_400

/** Where the chats go. */
export type ImportTarget = {
  profile: string
  workspace: string
  /** Seconds since 1970. */
  now: () => number
  /** What an earlier import wrote; null: there is no such session. */
  find: (id: string) => StoredImport | null
  /** Writes the session, or replaces one that an earlier import wrote. */
  write: (id: string, entries: readonly JournalEntry[]) => void
  /** Stores a file, whose path is relative to the workspace. False: a file is there already, and stays. */
  store: (path: string, open: () => Promise<Readable>) => Promise<boolean>
  /** The id of the project of this name, created when missing; null: not allowed. */
  project: (name: string) => string | null
  /** Reads our own export. */
  fromExport: (value: unknown) => { meta: Record<string, unknown>; messages: NewMessage[] }
}

export type ImportOptions = {
  path: string
  /** What a person calls it. */
  name?: string | undefined
  target: ImportTarget
  /** Nothing is written. */
  isDryRun?: boolean | undefined
  signal?: AbortSignal | undefined
  onProgress?:
    | ((progress: { bytes: number; bytesTotal: number; report: ImportReport }) => void)
    | undefined
  /** Receives why a conversation could not be read. */
  log?: ((line: string) => void) | undefined
  /** Called with the bytes of the export that are kept at a time. */
  onKept?: ((bytes: number) => void) | undefined
}

const READERS: Readonly<Record<Exclude<ImportSource, 'agent-webui'>, ReadConversation>> = {
  chatgpt: readChatGpt,
  claude: readClaude,
  librechat: readLibreChat,
  'open-webui': readOpenWebUi,
}

const sourceOf = (value: JsonObject): ImportSource | null => {
  if (isObject(value.mapping)) return 'chatgpt'
  if (Array.isArray(value.chat_messages)) return 'claude'
  const chat = isObject(value.chat) ? value.chat : value
  if (isObject(chat.history) || Array.isArray(isObject(value.chat) && chat.messages))
    return 'open-webui'
  if (!Array.isArray(value.messages) && !Array.isArray(value.messagesTree)) return null
  if (typeof value.conversationId === 'string') return 'librechat'
  return typeof value.session_id === 'string' ? 'agent-webui' : null
}

/** Imports the file. Throws a sentence when nothing of it can be read. */
export const importExport = async (options: ImportOptions): Promise<ImportReport> => {
  const exported = await openExport(options.path, options.name)
  try {
    return await importAll(exported, options)
  } finally {
    exported.close()
  }
}

const importAll = async (exported: ExportFile, options: ImportOptions): Promise<ImportReport> => {
  const { signal, onProgress, onKept } = options
  const reporting = new Reporting()
  const { report } = reporting
  const projectFile = exported.part('projects.json')
  const projects = readClaudeProjects(
    projectFile ? await readJsonFile(projectFile) : [],
    (code, name) => reporting.leaveOut(code, name),
  )
  const work = { ...options, exported, reporting, projects, seen: new Map<string, number>() }
  let bytes = 0
  let values = 0
  const count = async function* (stream: Readable): AsyncGenerator<Buffer> {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      signal?.throwIfAborted()
      bytes += chunk.length
      yield chunk
    }
  }
  for (const part of exported.parts) {
    let at = 0
    try {
      const limits = { maxBytes: MAX_CONVERSATION_BYTES, onKept }
      for await (const value of jsonValues(count(await part.open()), limits)) {
        signal?.throwIfAborted()
        at += 1
        values += 1
        await importValue(value, `${part.name}: ${at}`, work)
        // A chunk has many chats: requests are answered between them.
        await setImmediate()
        onProgress?.({ bytes, bytesTotal: exported.bytes, report })
      }
    } catch (error) {
      // A part that is damaged takes nothing from the others; in a file of one part there is nothing else.
      if (signal?.aborted || (error instanceof UserError && error.kind !== 'invalid')) throw error
      if (error instanceof UserError && exported.parts.length === 1) throw error
      reporting.problem(part.name, 'damaged')
    }
  }
  if (report.source === null && report.problem_count === values) throw notAnExport()
  onProgress?.({ bytes, bytesTotal: exported.bytes, report })
  return report
}

const notAnExport = () =>
  invalid('This is no export of ChatGPT, Claude, LibreChat, or Open WebUI.', {
    code: 'import_unknown',
  })

type Work = ImportOptions & {
  exported: ExportFile
  reporting: Reporting
  projects: ReadContext['projects']
  /** When each chat was last updated: an archive may have several states of one. */
  seen: Map<string, number>
}

const importValue = async (value: JsonValue, place: string, work: Work): Promise<void> => {
  const { reporting } = work
  if ('problem' in value) return reporting.problem(place, value.problem)
  const digest = sha256(value.bytes)
  let parsed: unknown
  try {
    parsed = wellFormed(JSON.parse(value.bytes.toString()), value.bytes)
  } catch {
    // Not JSON, though its brackets match.
    return reporting.problem(place, 'unreadable')
  }
  // The list of some exports is in an object.
  const { conversations } = isObject(parsed) ? parsed : {}
  const items = Array.isArray(conversations) ? conversations : [parsed]
  for (const [index, item] of items.entries())
    await importItem(item, { place, digest: `${digest}:${index}`, work })
}

/** Half of a character outside of the basic plane, as a cut text has it, is not valid in any encoding. */
const wellFormed = (value: unknown, bytes: Buffer): unknown => {
  if (!/\\ud[89a-f]/i.test(bytes.toString('latin1'))) return value
  const open = [value]
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    if (!isObject(item) && !Array.isArray(item)) continue
    for (const [key, inner] of Object.entries(item)) {
      if (typeof inner === 'string') (item as JsonObject)[key] = inner.toWellFormed()
      else if (inner !== null) open.push(inner)
    }
  }
  return value
}

type Item = { place: string; digest: string; work: Work }

const importItem = async (value: unknown, { place, digest, work }: Item): Promise<void> => {
  const { reporting } = work
  const source = isObject(value) ? sourceOf(value) : null
  if (!isObject(value) || source === null) return reporting.problem(place, 'other_format')
  const title = asString(value.title) || asString(value.name)
  const name = title === '' ? place : title
  // What a conversation leaves out is reported when it is imported, once.
  const leftOut: [LeftOutCode, string][] = []
  const leaveOut = (code: LeftOutCode, about = '') => void leftOut.push([code, about])
  try {
    reporting.report.source ??= source
    const chats =
      source === 'agent-webui'
        ? [ownChat(value, digest, work.target)]
        : foreignChats(READERS[source](value, { leaveOut, projects: work.projects }), {
            source,
            digest,
            ...work,
            leaveOut,
          })
    if (chats.length === 0) reporting.problem(name, 'no_messages')
    for (const chat of chats) await writeChat(chat, work)
  } catch (error) {
    if (work.signal?.aborted || (error instanceof UserError && error.kind === 'full')) throw error
    work.log?.(`import: ${messageOf(error)}`)
    return reporting.problem(name, 'unreadable')
  }
  for (const [code, about] of leftOut) reporting.leaveOut(code, about || name)
}

type Chat = {
  id: string
  title: string
  updated: number
  entries: JournalEntry[]
  files: readonly PlannedFile[]
  versions: number
  /** Its name. */
  project?: string | undefined
}

const sessionId = (profile: string, source: ImportSource, id: string): string =>
  sha256(JSON.stringify([profile, source, id])).slice(0, 12)

const asTag = (tag: string): string =>
  `#${tag
    .slice(0, MAX_TITLE_CHARS)
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_-]+/gu, '-')
    .replace(/^-+|-+$/g, '')}`

/** Tags are the `#words` of a title; those that do not fit are left out. */
const chatTitle = (
  { title, tags = [], nodes }: Conversation,
  leaveOut: ReadContext['leaveOut'],
): string => {
  const first = nodes
    .find(({ role }) => role === 'user')
    ?.blocks.find(({ type }) => type === 'text')
  const words = title.trim() || (first?.type === 'text' ? first.text : '') || 'Imported chat'
  let result = [...oneLine(words)].slice(0, MAX_TITLE_CHARS).join('')
  for (const tag of new Set(tags.map(asTag))) {
    if (tag === '#') continue
    if ([...result, ' ', ...tag].length > MAX_TITLE_CHARS) leaveOut('tags')
    else result += ` ${tag}`
  }
  return result
}

const foreignChats = (
  conversation: Conversation,
  {
    source,
    digest,
    target,
    exported,
    leaveOut,
  }: Work & { source: ImportSource; digest: string; leaveOut: ReadContext['leaveOut'] },
): Chat[] => {
  const key = conversation.id || digest
  const title = chatTitle(conversation, leaveOut)
  // Some programs write 0 for a time that they do not know, and a clock may have been ahead.
  const valid = (at: number | undefined) => (at && at < target.now() + DAY_SECONDS ? at : undefined)
  const nodes = conversation.nodes.map(node => ({ ...node, at: valid(node.at) }))
  const times = nodes.flatMap(({ at }) => at ?? []).toSorted((a, b) => a - b)
  const [first, last] = [valid(conversation.created), valid(conversation.updated)]
  const created = first ?? times[0] ?? last ?? target.now()
  const updated = Math.max(created, last ?? times.at(-1) ?? 0)
  const idOf = (index: number) =>
    sessionId(target.profile, source, index === 0 ? key : `${key}:${index + 1}`)
  const files = new FilePlan(idOf(0), exported, leaveOut)
  // In the order of the export, which a later one keeps: a file has the same name again, whichever branch was shown.
  for (const { blocks } of nodes)
    for (const block of blocks) if (block.type === 'file') files.pathOf(block.file)
  return turnsOf({ ...conversation, nodes }).map((turns, index) => {
    const id = idOf(index)
    const meta = {
      title: index === 0 ? title : `${title} (${index + 1})`,
      workspace: target.workspace,
      profile: target.profile,
      // The title is set; do not generate one.
      llm_title_generated: true,
      ...(conversation.isArchived && { archived: true }),
      ...(conversation.isPinned && { pinned: true }),
      ...(index > 0 && { parent_session_id: idOf(0) }),
      created_at: created,
      updated_at: updated,
    }
    const { entries, versions } = toEntries(turns, {
      id,
      meta,
      created,
      updated,
      pathOf: ref => files.pathOf(ref),
    })
    const { project } = conversation
    return { id, title: meta.title, updated, entries, files: files.planned, versions, project }
  })
}

/** Our own export: its messages are those of a session already. */
const ownChat = (
  value: JsonObject,
  digest: string,
  { fromExport, profile, workspace, now }: ImportTarget,
): Chat => {
  const { meta, messages } = fromExport(value)
  const idOf = (externalId: string) => sessionId(profile, 'agent-webui', externalId)
  const id = idOf(asString(value.session_id) || digest)
  const parent = asString(meta.parent_session_id)
  const created = toTime(value.created_at) ?? now()
  const updated = Math.max(created, toTime(value.updated_at) ?? 0)
  const title = asString(meta.title)
  const own = {
    ...{ ...meta, profile, workspace, created_at: created, updated_at: updated },
    ...(parent !== '' && { parent_session_id: idOf(parent) }),
  }
  const entries: JournalEntry[] = [
    { n: 1, t: 'session', at: created, v: 1, id, meta: own },
    ...messageEntries(messages, updated),
  ]
  return { id, title, updated, entries, files: [], versions: 0 }
}

/** How many were stored, and how many could not be. A full disk ends the import. */
const storeFiles = async (
  files: readonly PlannedFile[],
  { target, reporting, log, signal }: Work,
): Promise<{ stored: number; failed: number }> => {
  const counts = { stored: 0, failed: 0 }
  for (const { path, open } of files) {
    signal?.throwIfAborted()
    try {
      if (await target.store(path, open)) counts.stored += 1
    } catch (error) {
      if (error instanceof UserError && error.kind === 'full') throw error
      log?.(`import: ${path}: ${messageOf(error)}`)
      reporting.leaveOut('file_not_stored', path)
      counts.failed += 1
    }
  }
  return counts
}

/** Without times, which may be those of the import, and without what belongs to this service. */
const digestOf = (entries: readonly JournalEntry[]): string => {
  const skip = new Set(['at', 'timestamp', 'created_at', 'updated_at', 'workspace', 'project_id'])
  const text = JSON.stringify(entries, (key, value: unknown) => (skip.has(key) ? undefined : value))
  return sha256(text).slice(0, 32)
}

/** Writes a chat unless it is there already. The session comes last, so that what it names exists. */
const writeChat = async (
  { id, title, updated, entries, files, versions, project }: Chat,
  work: Work,
): Promise<void> => {
  const { target, reporting, isDryRun, seen } = work
  const earlier = seen.get(id)
  if (earlier !== undefined && (isDryRun || updated <= earlier)) return
  seen.set(id, updated)
  const digest = digestOf(entries)
  const [header] = entries
  if (header?.t === 'session')
    Object.assign(header.meta, { imported: digest, imported_lines: entries.length })
  const previous = target.find(id)
  const result: ImportResult =
    previous === null
      ? 'new'
      : previous.digest === digest
        ? 'unchanged'
        : previous.digest === '' || previous.changes === null
          ? 'kept'
          : // An older export must not take away what a newer one has brought.
            updated < previous.updated
            ? 'unchanged'
            : 'updated'
  let fileCount = files.length
  if (!isDryRun && (result === 'new' || result === 'updated')) {
    const counts = await storeFiles(files, work)
    fileCount = counts.stored
    // Another import tries again.
    if (counts.failed > 0 && header?.t === 'session')
      header.meta.imported = `${digest} without files`
    const last = entries.length
    // What was changed here meanwhile still holds. It is looked up again: storing files takes its time.
    const current = target.find(id)
    const changes = current === null && previous === null ? [] : current?.changes
    if (!changes) return reporting.chat({ id, title, result: 'kept', versions: 0, files: 0 })
    // Not earlier: one that was renamed here is not created again for chats that stay as they are.
    const projectId = project && target.project(project)
    if (projectId === null) reporting.leaveOut('project_not_allowed', project)
    if (projectId && header?.t === 'session') header.meta.project_id = projectId
    target.write(id, [...entries, ...changes.map((entry, at) => ({ ...entry, n: last + at + 1 }))])
  }
  reporting.chat({ id, title, result, versions, files: fileCount })
}
