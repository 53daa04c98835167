/** Descriptions of answers that are more than a JSON value. Nothing is written here; `write.ts` does that. */
import { isObject } from '../base/json.ts'
import { REPLY, type Reply } from './endpoint.ts'
import type { OpenFile } from './file.ts'

export type Chunk = Buffer | string
/** A path, or a file that is opened when it is its turn: where the path might lead elsewhere by then. */
export type FileSource = string | (() => Promise<OpenFile>)
export type Body =
  | { kind: 'json'; value: unknown }
  | { kind: 'bytes'; data: Chunk | readonly Buffer[] }
  | { kind: 'stream'; source: AsyncIterable<Chunk> }
  | { kind: 'file'; source: FileSource }
  | { kind: 'none' }

export type ReplyOptions = {
  status?: number
  headers?: Readonly<Record<string, string>>
  /** With the quotes. Equal to the caller's If-None-Match → 304. */
  etag?: string
  /** Instead of what the endpoint says. */
  cache?: string
  /** Content-Security-Policy instead of the usual one. */
  policy?: string
}

export type DescribedReply = Reply & ReplyOptions & { readonly body: Body; readonly type?: string }

const describe = (body: Body, type: string | undefined, options: ReplyOptions): DescribedReply => ({
  [REPLY]: true,
  body,
  ...(type === undefined ? {} : { type }),
  ...options,
})

export const isDescribed = (value: unknown): value is DescribedReply =>
  isObject(value) && REPLY in value

export const JSON_TYPE = 'application/json; charset=utf-8'

/** A JSON value with a status, headers or an ETag of its own. */
export const reply = (value: unknown, options: ReplyOptions = {}): Reply =>
  describe({ kind: 'json', value }, JSON_TYPE, options)

export const html = (text: string, options: ReplyOptions = {}): Reply =>
  describe({ kind: 'bytes', data: text }, 'text/html; charset=utf-8', options)

/** Bytes as they are; several buffers are sent one after the other without being joined. */
export const bytes = (
  data: Chunk | readonly Buffer[],
  { type, ...options }: ReplyOptions & { type: string },
): Reply => describe({ kind: 'bytes', data }, type, options)

/** JSON that is text already, for example the catalogue's rows. */
export const jsonText = (data: Chunk | readonly Buffer[], options: ReplyOptions = {}): Reply =>
  describe({ kind: 'bytes', data }, JSON_TYPE, options)

/** A file, with ranges and an ETag from its size and time. The caller has made sure it may be read. */
export const file = (
  source: FileSource,
  { type, ...options }: ReplyOptions & { type: string },
): Reply => describe({ kind: 'file', source }, type, options)

/** Bytes whose number is not known before they are made. */
export const byteStream = (
  source: AsyncIterable<Chunk>,
  { type, ...options }: ReplyOptions & { type: string },
): Reply => describe({ kind: 'stream', source }, type, options)

/** `location` begins with the caller's prefix where it is one of our pages. */
export const redirect = (location: string): Reply =>
  describe({ kind: 'none' }, undefined, {
    status: 302,
    headers: { Location: location },
    cache: 'no-store',
  })

export const empty = (options: ReplyOptions = {}): Reply =>
  describe({ kind: 'none' }, undefined, { status: 204, ...options })

/** An event stream: chunks made by `sse.ts`, one generator per reader. It ends when the generator does. */
export const eventStream = (source: AsyncIterable<Chunk>, options: ReplyOptions = {}): Reply =>
  describe({ kind: 'stream', source }, 'text/event-stream; charset=utf-8', {
    cache: 'no-cache',
    ...options,
    headers: { 'X-Accel-Buffering': 'no', ...options.headers },
  })
