/** The open documents of one language server, and what it says about them. */
import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import type { Clock } from '../../base/clock.ts'
import { asObject } from '../../base/json.ts'
import type { EditedFile } from '../../agent/tool-services.ts'
import { type Diagnostic, parseDiagnostics } from './compare.ts'
import type { Connection } from './connection.ts'

type Open = {
  uri: string
  version: number
  text: string
  /** What the server has sent for this version, without being asked. */
  published: Diagnostic[] | null
  /** The same for the version before. */
  earlier: Diagnostic[] | null
  /** Called after each of these. */
  onPublish: () => void
}

/** Their diagnostics show what an edit broke elsewhere. */
const MAX_OPEN = 8
/** Servers send the diagnostics of a file in parts, and the first of them may be those of the text before. */
const QUIET_MS = 150
/** When nothing is sent for this long, what the server finds is not known. */
const SILENT_MS = 10_000
/** A server that sends no versions (`typescript-language-server`) sends nothing where nothing has changed. */
const UNCHANGED_MS = 2_000
/** `ContentModified` and `ServerCancelled` of the protocol: ask again. */
const ASK_AGAIN = new Set([-32801, -32802])
const ASK_AGAIN_MS = 100
const ATTEMPTS = 20

export class OpenDocuments {
  readonly #clock: Clock
  readonly #connection: Connection
  readonly #languageOf: (path: string) => string | undefined
  /** By path, the least recently edited first. */
  readonly #open = new Map<string, Open>()
  readonly #canAsk: boolean
  #isOver = false
  #sendsVersions = false

  constructor(
    clock: Clock,
    connection: Connection,
    languageOf: (path: string) => string | undefined,
  ) {
    this.#clock = clock
    this.#connection = connection
    this.#languageOf = languageOf
    this.#canAsk = connection.capabilities.diagnosticProvider !== undefined
    void connection.ended.then(() => {
      this.#isOver = true
      for (const one of this.#open.values()) one.onPublish()
    })
    connection.onPublish = ({ uri, version, items }) => {
      for (const [path, one] of this.#open) {
        if (one.uri !== uri && decodeURIComponent(one.uri) !== decodeSafely(uri)) continue
        if (version !== null) this.#sendsVersions = true
        if (version !== null && version !== one.version) return
        one.published = parseDiagnostics(path, one.text, items)
        one.onPublish()
      }
    }
  }

  #put(path: string, text: string | null): void {
    const one = this.#open.get(path)
    if (text === null) {
      if (!one) return
      this.#open.delete(path)
      one.onPublish()
      void this.#connection.notify('textDocument/didClose', { textDocument: { uri: one.uri } })
      return
    }
    if (!one) {
      const uri = pathToFileURL(path).href
      this.#open.set(path, {
        uri,
        version: 1,
        text,
        published: null,
        earlier: null,
        onPublish: () => undefined,
      })
      void this.#connection.notify('textDocument/didOpen', {
        textDocument: { uri, languageId: this.#languageOf(path), version: 1, text },
      })
      return
    }
    this.#open.delete(path)
    this.#open.set(path, one)
    if (one.text === text) return
    one.version += 1
    one.text = text
    one.earlier = one.published ?? one.earlier
    one.published = null
    this.#connection.notify('textDocument/didChange', {
      textDocument: { uri: one.uri, version: one.version },
      contentChanges: [{ text }],
    })
  }

  async #ask(path: string, one: Open): Promise<Diagnostic[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#connection.request('textDocument/diagnostic', {
          textDocument: { uri: one.uri },
        })
        return parseDiagnostics(path, one.text, asObject(answer).items)
      } catch (error) {
        if (!ASK_AGAIN.has(Number(asObject(error).code)) || attempt === ATTEMPTS) throw error
        await this.#clock.delay(ASK_AGAIN_MS)
      }
    }
  }

  /** Waits until the server has sent something about this version, and then nothing for a moment. */
  #awaitPublished(one: Open): Promise<Diagnostic[]> {
    return new Promise((resolve, reject) => {
      const isQuiet = !this.#sendsVersions && one.earlier !== null
      const silent = () => {
        one.onPublish = () => undefined
        if (isQuiet) resolve(one.earlier ?? [])
        else reject(new Error('nothing was sent'))
      }
      let cancel = this.#clock.timer(isQuiet ? UNCHANGED_MS : SILENT_MS, silent)
      const finish = () => {
        cancel()
        one.onPublish = () => undefined
        resolve(one.published ?? [])
      }
      one.onPublish = () => {
        cancel()
        if (this.#isOver || one.published === null) finish()
        else cancel = this.#clock.timer(QUIET_MS, finish)
      }
      if (this.#isOver) finish()
    })
  }

  /** Makes the open documents what they are on the disk, except the given ones. */
  async refresh(except: ReadonlySet<string>): Promise<void> {
    for (const path of [...this.#open.keys()].filter(each => !except.has(each)))
      this.#put(path, await readFile(path, 'utf8').catch(() => null))
  }

  /** Opens, changes, or closes (null) documents. */
  set(files: readonly { path: string; text: string | null }[]): void {
    for (const { path, text } of files) this.#put(path, text)
    for (const path of [...this.#open.keys()].slice(0, -Math.max(MAX_OPEN, files.length)))
      this.#put(path, null)
  }

  /** Errors and warnings of all open documents. */
  async collect(): Promise<Diagnostic[]> {
    const lists = await Promise.all(
      [...this.#open].map(([path, one]) => {
        if (this.#canAsk) return this.#ask(path, one)
        return one.published ?? this.#awaitPublished(one)
      }),
    )
    return lists.flat()
  }
}

const decodeSafely = (uri: string): string => {
  try {
    return decodeURIComponent(uri)
  } catch {
    // Not ours, whose addresses are valid.
    return uri
  }
}

/** New errors and warnings of these edits, which are on the disk already: the server sees the old texts first. */
export const compareEdits = async (
  documents: OpenDocuments,
  edits: readonly EditedFile[],
): Promise<{ before: Diagnostic[]; after: Diagnostic[] }> => {
  await documents.refresh(new Set(edits.map(({ fullPath }) => fullPath)))
  documents.set(edits.map(({ fullPath: path, before: text }) => ({ path, text })))
  const before = await documents.collect()
  documents.set(edits.map(({ fullPath: path, after: text }) => ({ path, text })))
  return { before, after: await documents.collect() }
}
