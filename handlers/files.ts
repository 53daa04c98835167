/** Files of a session's workspace: list, read, save, create, move, delete and restore. */
import { z } from 'zod'
import { endpoint, mayChangeIn } from '../lib/context.ts'
import { contentDisposition } from '../lib/http/content-disposition.ts'
import { file, byteStream } from '../lib/http/reply.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { FileEntry, FoundFile, NamedEntry } from '../lib/schema/workspace.ts'
import { createDirectory, moveEntry, renameEntry } from '../lib/workspaces/move-entries.ts'
import { fileType, SANDBOX } from '../lib/workspaces/file-type.ts'
import { listDirectory, resolveNames } from '../lib/workspaces/list-directory.ts'
import { rawFile } from '../lib/workspaces/media.ts'
import { createText, readText, readTextPage, saveText } from '../lib/workspaces/text-files.ts'
import { zipFolder } from '../lib/workspaces/zip.ts'

/** Relative to the workspace; paths that leave it are rejected when they are resolved. */
const Path = z.string().min(1)
const OneFile = z.object({ session_id: SessionId, path: Path })
const Moved = Ok.extend({ old_path: z.string(), new_path: z.string() })
const Saved = Ok.extend({ path: z.string(), size: z.number(), version: z.string() })

export const list = endpoint({
  access: 'read',
  summary: 'A directory of the workspace: directories first, at most 200 entries',
  input: z.object({ session_id: SessionId, path: z.string().default('.') }),
  output: z.object({ entries: z.array(FileEntry), path: z.string(), total: z.number() }),
  run: ({ app, home }, { session_id, path }) =>
    listDirectory(app.files.areas.of(home, session_id), path),
})

export const checkNames = endpoint({
  access: 'read',
  summary: 'Which of the names in a text are files or directories of the workspace',
  input: z.object({
    session_id: SessionId,
    paths: z.array(z.string().min(1).max(1000)).max(200).default([]),
  }),
  output: z.object({ entries: z.array(NamedEntry) }),
  run: ({ app, home }, { session_id, paths }) => ({
    entries: resolveNames(app.files.areas.of(home, session_id), paths),
  }),
})

export const search = endpoint({
  access: 'read',
  summary:
    'Files and folders of the workspace by parts of their path, best first; without ignored ones',
  input: z.object({
    session_id: SessionId,
    q: z.string().max(1_000).default(''),
    limit: z.coerce.number().int().min(1).max(100).default(30),
  }),
  output: z.object({
    files: z.array(FoundFile),
    /** The workspace has more files than were searched. */
    partial: z.boolean(),
  }),
  async run({ app, home }, { session_id, q, limit }) {
    const area = app.files.areas.of(home, session_id)
    const { files, isPartial } = await app.fileSearch.find(home.name, area, { query: q, limit })
    return { files, partial: isPartial }
  },
})

export const read = endpoint({
  access: 'read',
  exact: true,
  summary:
    'A text file of at most 200000 bytes, with the version to save against; with `from` or `line` a page of a file of any size',
  input: OneFile.extend({
    /** The byte where the page begins; negative: so many before the end. Moved to the beginning of a line. */
    from: z.coerce.number().int().optional(),
    /** A line that is to be on the page. */
    line: z.coerce.number().int().min(1).optional(),
  }),
  output: z.object({
    path: z.string(),
    /** Empty for a binary file. */
    content: z.string(),
    size: z.number(),
    lines: z.number(),
    version: z.string(),
    binary: z.literal(true).optional(),
    /** Of a page: its place in the file, in bytes, and the number of its first line, null when that is unknown. */
    from: z.number().optional(),
    to: z.number().optional(),
    first_line: z.number().nullable().optional(),
  }),
  cache: 'no-store',
  run({ app, home }, { session_id, path, from, line }) {
    const area = app.files.areas.of(home, session_id)
    return from === undefined && line === undefined
      ? readText(area, path)
      : readTextPage(area, path, { from, line })
  },
})

export const raw = endpoint({
  access: 'read',
  exact: true,
  summary: 'The bytes of a file, whole or a range; active content is sandboxed',
  input: OneFile.extend({ download: z.string().optional() }),
  raw: 'application/octet-stream',
  run({ app, home }, { session_id, path, download }) {
    const { name, open } = rawFile(app.files.areas.of(home, session_id), path)
    const { type, isActive } = fileType(name)
    const kind = download === '1' || isActive ? 'attachment' : 'inline'
    return file(open, {
      type,
      headers: { 'Content-Disposition': contentDisposition(kind, name) },
      ...(isActive ? { policy: SANDBOX } : {}),
    })
  },
})

export const save = endpoint({
  access: 'work',
  summary: 'Save a text file; 409 when it is no longer the expected version',
  input: OneFile.extend({
    content: z.string().optional(),
    expected_version: z.string().optional(),
  }),
  output: Saved,
  run: ({ app, home }, { session_id, path, content, expected_version }) => ({
    ...ok,
    ...saveText(
      app.files.areas.of(home, session_id),
      path,
      content ?? '',
      expected_version ?? undefined,
    ),
  }),
})

export const create = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Create a file, and the folders above it',
  input: OneFile.extend({ content: z.string().optional() }),
  output: Saved,
  run: ({ app, home }, { session_id, path, content }) => ({
    ...ok,
    ...createText(app.files.areas.of(home, session_id), path, content ?? ''),
  }),
})

export const createDir = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Create a folder, and the folders above it',
  input: OneFile,
  output: Ok.extend({ path: z.string() }),
  run: ({ app, home }, { session_id, path }) => ({
    ...ok,
    ...createDirectory(app.files.areas.of(home, session_id), path),
  }),
})

export const rename = endpoint({
  access: 'work',
  summary: 'Rename a file or folder',
  input: OneFile.extend({ new_name: z.string() }),
  output: Moved,
  run: ({ app, home }, { session_id, path, new_name }) => ({
    ...ok,
    ...renameEntry(app.files.areas.of(home, session_id), path, new_name),
  }),
})

export const move = endpoint({
  access: 'work',
  summary: 'Move a file or folder into another folder of the workspace',
  input: OneFile.extend({ dest_dir: z.string() }),
  output: Moved,
  run: ({ app, home }, { session_id, path, dest_dir }) => ({
    ...ok,
    ...moveEntry(app.files.areas.of(home, session_id), path, dest_dir),
  }),
})

export const remove = endpoint({
  access: 'work',
  summary: 'Move a file, or with `recursive` a folder, to the trash for a day',
  input: OneFile.extend({ recursive: z.boolean().optional() }),
  output: Ok.extend({ path: z.string(), trash_id: z.string() }),
  run: async ({ app, home }, { session_id, path, recursive }) => ({
    ...ok,
    ...(await app.files.trash.remove(
      app.files.areas.of(home, session_id),
      path,
      recursive ?? false,
    )),
  }),
})

export const restore = endpoint({
  access: 'work',
  summary: 'Restore a deleted file or folder to its path',
  input: z.object({ session_id: SessionId, trash_id: z.string().min(1) }),
  output: Ok.extend({ path: z.string() }),
  run: async (ctx, { session_id, trash_id }) => {
    const area = ctx.app.files.areas.of(ctx.home, session_id)
    const mayChange = mayChangeIn(ctx, session_id)
    return { ...ok, ...(await ctx.app.files.trash.restore(area, trash_id, mayChange)) }
  },
})

export const zip = endpoint({
  access: 'read',
  summary: 'A folder as a zip file, streamed',
  input: z.object({ session_id: SessionId, path: z.string().default('.') }),
  raw: 'application/zip',
  cache: 'no-store',
  async run({ app, home }, { session_id, path }) {
    const { name, chunks } = await zipFolder(app.files.areas.of(home, session_id), path)
    return byteStream(chunks, {
      type: 'application/zip',
      headers: { 'Content-Disposition': contentDisposition('attachment', name) },
    })
  },
})
