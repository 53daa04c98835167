/** A file of the workspace as the panel shows or edits it. */
import type { Target } from '../../parts/target.ts'
import { AUDIO, extensionOf, IMAGES, VIDEO } from '../../parts/file-kind.ts'

type FileKind =
  | 'text'
  | 'markdown'
  | 'csv'
  | 'html'
  | 'svg'
  | 'mermaid'
  | 'json'
  | 'notebook'
  | 'image'
  | 'pdf'
  | 'audio'
  | 'video'
  | 'binary'

const kinds: Readonly<Record<string, FileKind>> = {
  ...of('markdown', 'md markdown mdx'),
  ...of('csv', 'csv tsv'),
  ...of('html', 'html htm xhtml'),
  ...of('image', IMAGES.join(' ')),
  ...of('svg', 'svg'),
  ...of('mermaid', 'mmd mermaid'),
  ...of('json', 'json geojson webmanifest'),
  ...of('notebook', 'ipynb'),
  ...of('pdf', 'pdf'),
  ...of('audio', AUDIO.join(' ')),
  ...of('video', VIDEO.join(' ')),
  ...of(
    'binary',
    'zip gz tgz bz2 xz 7z rar tar jar exe dll so dylib bin iso dmg woff woff2 ttf otf eot db sqlite sqlite3 doc docx xls xlsx ppt pptx odt ods class o a wasm pyc',
  ),
}

function of(kind: FileKind, extensions: string): Record<string, FileKind> {
  return Object.fromEntries(extensions.split(' ').map(extension => [extension, kind]))
}

export const kindOf = (path: string): FileKind => {
  const extension = extensionOf(path)
  return Object.hasOwn(kinds, extension) ? kinds[extension]! : 'text'
}

/** In bytes of the file. `first`: the number of its first line, null where lines are not counted. */
export type Page = { from: number; to: number; first: number | null }

export type Doc = {
  /** Stays when the file is renamed: replies are for this document. */
  id: number
  /** The folder that the path is in. */
  workspace: string
  /** The chat works in another folder now, where this file can't be saved. */
  isMoved: boolean
  path: string
  kind: FileKind
  state: 'loading' | 'ready' | 'failed' | 'binary' | 'large'
  error: string
  content: string
  sizeBytes: number | null
  /** The server's version of the content; sent back with a save to detect conflicts. */
  version: string
  line: number | null
  /** The last line of a marked range. */
  endLine: number | null
  mode: 'view' | 'source' | 'edit'
  /** The editor's text; null outside of edit mode. */
  draft: string | null
  saving: boolean
  /** The version on disk, when it is not the one being edited. */
  conflict: string | null
  /** The text on disk, loaded for comparison with the draft. */
  theirs: string | null
  /** Increases when the content is replaced: images and the editor are then created again. */
  generation: number
  /** A table or notebook beyond the limit for texts: it has no source view and cannot be edited. */
  isLarge: boolean
  /** The part of a file beyond that limit that is shown; such a file is only read. */
  page: Page | null
  /** Text of an answer: it has no path in the workspace. */
  isAnswer: boolean
  /** Whether the scripts of an HTML document run. Never restored: a reload of the page stops them. */
  isRunning: boolean
  /** A `blob:` URL, for kinds that must not be framed by their own URL. */
  blob: string | null
}

export const isTextKind = (kind: FileKind): boolean => kind === 'text' || hasSourceView(kind)

export const isDirty = (doc: Doc | null): boolean =>
  doc !== null && doc.draft !== null && doc.draft !== doc.content

/** Replacement characters mean the file is not UTF-8: saving it would damage it. */
export const canEdit = (doc: Doc): boolean =>
  doc.state === 'ready' &&
  !doc.isAnswer &&
  !doc.isLarge &&
  !doc.page &&
  isTextKind(doc.kind) &&
  !doc.content.includes('\ufffd')

/** Rendered by default, so it has a source view as well. */
export const hasSourceView = (kind: FileKind): boolean =>
  ['markdown', 'csv', 'html', 'svg', 'mermaid', 'json', 'notebook'].includes(kind)

/** JSON that someone has laid out is shown as it is. */
const LAID_OUT_CHARS = 300
const isDense = (text: string): boolean =>
  text.split('\n').some(({ length }) => length > LAID_OUT_CHARS)

/** Whether what is rendered differs from the source. */
export const hasViews = (doc: Doc): boolean =>
  hasSourceView(doc.kind) &&
  !doc.isLarge &&
  !doc.page &&
  (doc.kind !== 'json' || isDense(doc.content))

export const newDoc = (
  id: number,
  workspace: string,
  { path, line, endLine = null, text }: Target,
): Doc => ({
  id,
  workspace,
  isMoved: false,
  path,
  line,
  endLine,
  kind: kindOf(path),
  state: text === undefined ? 'loading' : 'ready',
  error: '',
  content: text ?? '',
  sizeBytes: null,
  version: '',
  mode: line !== null && hasSourceView(kindOf(path)) ? 'source' : 'view',
  draft: null,
  saving: false,
  conflict: null,
  theirs: null,
  generation: 0,
  isLarge: false,
  page: null,
  isAnswer: text !== undefined,
  // Opened from an answer to see it live.
  isRunning: text !== undefined && kindOf(path) === 'html',
  blob: null,
})
