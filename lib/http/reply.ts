/** Replies that are more than a JSON value: status, headers, bytes, files, streams. `write-response.ts` writes them. */
import { isObject } from '../base/json.ts'
import type { PushSource } from '../base/push-source.ts'
import { REPLY, type Reply } from './endpoint.ts'
import type { OpenFile } from './file.ts'

export type Chunk = Buffer | string
/** A path, or a function that opens the file, for paths that could be replaced by then. */
export type FileSource = string | (() => Promise<OpenFile>)
export type Body =
  | { kind: 'json'; value: unknown }
  | { kind: 'bytes'; data: Chunk | readonly Buffer[] }
  | { kind: 'stream'; source: AsyncIterable<Chunk> }
  | { kind: 'pushed'; source: PushSource }
  | { kind: 'file'; source: FileSource }
  | { kind: 'none' }

export type ReplyOptions = {
  status?: number
  headers?: Readonly<Record<string, string>>
  /** With quotes. A matching If-None-Match gives a 304. */
  etag?: string
  /** `Cache-Control`, instead of the endpoint's. */
  cache?: string
  /** Content-Security-Policy, instead of the default. */
  policy?: string
  /** Referrer-Policy, instead of `same-origin`. For replies with a policy of their own. */
  referrer?: 'no-referrer'
  /** A stream that the end of its connection delimits (RFC 9112 §6.3): each write is one piece instead of four. For streams whose reader resumes by a cursor, because a cut looks like an end. */
  closeDelimited?: boolean
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

/** A JSON value with its own status, headers or ETag. */
export const reply = (value: unknown, options: ReplyOptions = {}): Reply =>
  describe({ kind: 'json', value }, JSON_TYPE, options)

export const html = (text: string, options: ReplyOptions = {}): Reply =>
  describe({ kind: 'bytes', data: text }, 'text/html; charset=utf-8', options)

/** Bytes. Several buffers are sent in sequence without being concatenated. */
export const bytes = (
  data: Chunk | readonly Buffer[],
  { type, ...options }: ReplyOptions & { type: string },
): Reply => describe({ kind: 'bytes', data }, type, options)

/** JSON that is text already, for example the catalog's rows. */
export const jsonText = (data: Chunk | readonly Buffer[], options: ReplyOptions = {}): Reply =>
  describe({ kind: 'bytes', data }, JSON_TYPE, options)

/** A file, with ranges and an ETag. The caller has checked that it may be read. */
export const file = (
  source: FileSource,
  { type, ...options }: ReplyOptions & { type: string },
): Reply => describe({ kind: 'file', source }, type, options)

/** A stream of bytes of unknown length. */
export const byteStream = (
  source: AsyncIterable<Chunk>,
  { type, ...options }: ReplyOptions & { type: string },
): Reply => describe({ kind: 'stream', source }, type, options)

/** `location` of our own pages starts with the client's prefix. */
export const redirect = (location: string): Reply =>
  describe({ kind: 'none' }, undefined, {
    status: 302,
    headers: { Location: location },
    cache: 'no-store',
  })

export const empty = (options: ReplyOptions = {}): Reply =>
  describe({ kind: 'none' }, undefined, { status: 204, ...options })

const EVENTS = 'text/event-stream; charset=utf-8'

const eventOptions = (options: ReplyOptions): ReplyOptions => ({
  cache: 'no-cache',
  ...options,
  headers: { 'X-Accel-Buffering': 'no', ...options.headers },
})

/** Server-sent events: one generator per client. The stream ends with the generator. */
export const eventStream = (source: AsyncIterable<Chunk>, options: ReplyOptions = {}): Reply =>
  describe({ kind: 'stream', source }, EVENTS, eventOptions(options))

/** The same of a source that writes by itself: it costs less where many readers get the same events. Not collected for a repeated request. */
export const pushedEvents = (source: PushSource, options: ReplyOptions = {}): Reply =>
  describe({ kind: 'pushed', source }, EVENTS, eventOptions(options))
