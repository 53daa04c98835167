/** What the client of the document worker and the worker exchange. */
import type { DocumentKind, DocumentPart, PageRange } from '../../agent/tool-services.ts'

export type { DocumentKind, DocumentPart }
/** From 1, both included. */
export type Range = PageRange

/** Called for each part of the range, with the number of all parts. */
export type OnPart = (part: DocumentPart, total: number) => void

export type DocumentRequest = { kind: DocumentKind; bytes: Uint8Array<ArrayBuffer>; range: Range }
export type DocumentReply =
  | { part: DocumentPart; total: number }
  | { done: true }
  /** A sentence. */
  | { error: string }
