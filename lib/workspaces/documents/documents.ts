/** Extracts the text of documents in worker threads, limited in time, memory, and text. */
import { Worker } from 'node:worker_threads'
import { toSeconds } from '../../base/clock.ts'
import type { DocumentText, ReadDocument } from '../../agent/tool-services.ts'
import { packedHere } from '../../store/packed.ts'
import type { DocumentReply, DocumentRequest } from './types.ts'

const MAX_MS = 20_000
/** Characters in all; the rest is left out. */
const MAX_CHARS = 5_000_000
const LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 }

/** One worker per document: its memory is returned, and a malformed file costs no other one. */
export const readDocument = (
  bytes: Parameters<ReadDocument>[0],
  kind: Parameters<ReadDocument>[1],
  { range, signal }: Parameters<ReadDocument>[2],
  maxMs = MAX_MS,
): Promise<DocumentText> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const worker = start()
    const text: DocumentText = { parts: [], total: 0, isCut: false }
    let chars = 0
    const end = (finish: () => void) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      void worker.terminate()
      finish()
    }
    const abort = () => end(() => reject(signal.reason))
    const fail = (sentence: string) => end(() => reject(new Error(sentence)))
    /** What there is so far, or the sentence if there is nothing. */
    const cut = (sentence: string) => {
      if (text.parts.length === 0) fail(sentence)
      else end(() => resolve({ ...text, isCut: true }))
    }
    const timer = setTimeout(cut, maxMs, `Reading it took longer than ${toSeconds(maxMs)} s.`)
    signal.addEventListener('abort', abort, { once: true })
    // Out of memory, for example.
    worker.once('error', () => cut('It is too large or too complex to read.'))
    worker.on('message', (reply: DocumentReply) => {
      if ('error' in reply) fail(reply.error)
      else if ('done' in reply) end(() => resolve(text))
      else {
        text.total = reply.total
        text.parts.push(reply.part)
        chars += reply.part.text.length
        if (chars > MAX_CHARS) cut('')
      }
    })
    const copy = new Uint8Array(bytes)
    const request: DocumentRequest = { kind, bytes: copy, range }
    worker.postMessage(request, [copy.buffer])
  })

const start = (): Worker => {
  // Standard output is captured: libraries print warnings.
  const options = { resourceLimits: LIMITS, stdout: true, stderr: true, env: {} }
  // The single-file build contains the worker.
  const workerCode = packedHere()?.documentWorker
  return workerCode
    ? new Worker(workerCode(), { ...options, eval: true })
    : new Worker(new URL('./document-worker.ts', import.meta.url), options)
}
