/** What a file is sent as, by the ending of its name, and which types could run something in a page of ours. */
import { extname } from 'node:path'

const UNKNOWN = 'application/octet-stream'

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
  json: 'application/json',
  xls: 'application/vnd.ms-excel',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  doc: 'application/msword',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  html: 'text/html; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  xhtml: 'application/xhtml+xml',
  xml: 'application/xml',
  txt: 'text/plain; charset=utf-8',
  md: 'text/plain; charset=utf-8',
  log: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  ogg: 'audio/ogg',
  opus: 'audio/ogg',
  wav: 'audio/wav',
  flac: 'audio/flac',
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
}

/** For documents that can contain scripts: they are downloads, and sandboxed if a browser displays them anyway. */
const ACTIVE = /^(?:text\/html|application\/xhtml\+xml|application\/xml|image\/svg\+xml)/
/** Decision 18. No script, no form, no request, an origin of its own. */
export const SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'none'"

const INLINE_MEDIA = /^image\/(?:png|jpeg|gif|webp|x-icon|bmp)$/

export type FileType = {
  type: string
  isActive: boolean
  /** Shown by `GET /api/media` in place; everything else there is a download. */
  isPicture: boolean
}

export const fileType = (name: string): FileType => {
  const ending = extname(name).slice(1).toLowerCase()
  const type = (Object.hasOwn(TYPES, ending) && TYPES[ending]) || UNKNOWN
  return { type, isActive: ACTIVE.test(type), isPicture: INLINE_MEDIA.test(type) }
}
