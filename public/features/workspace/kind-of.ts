/** File kinds by extension. */
import { AUDIO, extensionOf, IMAGES, VIDEO } from '../../parts/file-kind.ts'

export type FileKind =
  | 'text'
  | 'markdown'
  | 'csv'
  | 'html'
  | 'svg'
  | 'mermaid'
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
