/** The open documents of one language server, and what it says about them. */
import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import type { Clock } from '../../base/clock.ts'
import { asObject } from '../../base/json.ts'
import type { EditedFile } from '../../agent/tool-services.ts'
import { type Found, readFound } from './compare.ts'
import type { Connection } from './connection.ts'

type Open = {
  uri: string
  version: number
  text: string
  /** What the server has sent for this version, without being asked. */
  published: Found[] | null
  /** The same for the version before. */
  earlier: Found[] | null
  /** Called after each of these. */
  onPublish: () => void
}

export type Documents = {
  /** Makes the open documents what they are on the disk, except the given ones. */
  refresh: (except: ReadonlySet<string>) => Promise<void>
  /** Opens, changes, or closes (null) documents. */
  set: (files: readonly { path: string; text: string | null }[]) => void
  /** Errors and warnings of all open documents. */
  collect: () => Promise<Found[]>
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

export const createDocuments = (
  clock: Clock,
  connection: Connection,
  languageOf: (path: string) => string | undefined,
): Documents => {
  /** By path, the least recently edited first. */
  const open = new Map<string, Open>()
  const canAsk = connection.capabilities.diagnosticProvider !== undefined
  let isOver = false
  let sendsVersions = false
  void connection.ended.then(() => {
    isOver = true
    for (const one of open.values()) one.onPublish()
  })

  connection.onPublish = ({ uri, version, items }) => {
    for (const [path, one] of open) {
      if (one.uri !== uri && decodeURIComponent(one.uri) !== decodeSafely(uri)) continue
      if (version !== null) sendsVersions = true
      if (version !== null && version !== one.version) return
      one.published = readFound(path, one.text, items)
      one.onPublish()
    }
  }

  const put = (path: string, text: string | null): void => {
    const one = open.get(path)
    if (text === null) {
      if (!one) return
      open.delete(path)
      one.onPublish()
      void connection.notify('textDocument/didClose', { textDocument: { uri: one.uri } })
      return
    }
    if (!one) {
      const uri = pathToFileURL(path).href
      open.set(path, {
        uri,
        version: 1,
        text,
        published: null,
        earlier: null,
        onPublish: () => undefined,
      })
      void connection.notify('textDocument/didOpen', {
        textDocument: { uri, languageId: languageOf(path), version: 1, text },
      })
      return
    }
    open.delete(path)
    open.set(path, one)
    if (one.text === text) return
    one.version += 1
    one.text = text
    one.earlier = one.published ?? one.earlier
    one.published = null
    connection.notify('textDocument/didChange', {
      textDocument: { uri: one.uri, version: one.version },
      contentChanges: [{ text }],
    })
  }

  const ask = async (path: string, one: Open): Promise<Found[]> => {
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await connection.request('textDocument/diagnostic', {
          textDocument: { uri: one.uri },
        })
        return readFound(path, one.text, asObject(answer).items)
      } catch (error) {
        if (!ASK_AGAIN.has(Number(asObject(error).code)) || attempt === ATTEMPTS) throw error
        await clock.delay(ASK_AGAIN_MS)
      }
    }
  }

  /** Waits until the server has sent something about this version, and then nothing for a moment. */
  const awaitPublished = (one: Open): Promise<Found[]> =>
    new Promise((resolve, reject) => {
      const isQuiet = !sendsVersions && one.earlier !== null
      const silent = () => {
        one.onPublish = () => undefined
        if (isQuiet) resolve(one.earlier ?? [])
        else reject(new Error('nothing was sent'))
      }
      let cancel = clock.timer(isQuiet ? UNCHANGED_MS : SILENT_MS, silent)
      const done = () => {
        cancel()
        one.onPublish = () => undefined
        resolve(one.published ?? [])
      }
      one.onPublish = () => {
        cancel()
        if (isOver || one.published === null) done()
        else cancel = clock.timer(QUIET_MS, done)
      }
      if (isOver) done()
    })

  return {
    async refresh(except) {
      for (const path of [...open.keys()].filter(each => !except.has(each)))
        put(path, await readFile(path, 'utf8').catch(() => null))
    },
    set(files) {
      for (const { path, text } of files) put(path, text)
      for (const path of [...open.keys()].slice(0, -Math.max(MAX_OPEN, files.length)))
        put(path, null)
    },
    async collect() {
      const found = await Promise.all(
        [...open].map(([path, one]) => {
          if (canAsk) return ask(path, one)
          return one.published ?? awaitPublished(one)
        }),
      )
      return found.flat()
    },
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
  documents: Documents,
  edits: readonly EditedFile[],
): Promise<{ before: Found[]; after: Found[] }> => {
  await documents.refresh(new Set(edits.map(({ fullPath }) => fullPath)))
  documents.set(edits.map(({ fullPath: path, before: text }) => ({ path, text })))
  const before = await documents.collect()
  documents.set(edits.map(({ fullPath: path, after: text }) => ({ path, text })))
  return { before, after: await documents.collect() }
}
