/** Server-sent events: the text of a frame, and writing frames no faster than the reader takes them. */
import type { ServerResponse } from 'node:http'
import type { Part } from './reply.ts'

/** A field ends at a line break; one inside it would begin a field of the sender's choosing. */
const oneLine = (text: string): string => text.replace(/[\r\n\0]+/g, ' ')

/** One frame. `data` is given as JSON text (never with line breaks) or as a value. */
export const frame = (type: string, data: unknown, id?: string | number): string => {
  const text = typeof data === 'string' ? oneLine(data) : JSON.stringify(data)
  return `${id === undefined ? '' : `id: ${oneLine(String(id))}\n`}event: ${oneLine(type)}\ndata: ${text}\n\n`
}

/** Ignored by readers; keeps proxies from closing an idle stream. */
export const comment = (text: string): string => `: ${oneLine(text)}\n\n`

/** Beyond this a reader is slow and its generator waits. */
const WAITING_BYTES = 256 * 1024

/** The first of the two: room again, or the reader is gone. */
const drained = (res: ServerResponse): Promise<void> =>
  new Promise(resolve => {
    const done = () => {
      res.off('drain', done)
      res.off('close', done)
      resolve()
    }
    res.on('drain', done)
    res.on('close', done)
  })

/**
 * Writes what `source` yields until it ends or the reader leaves. A slow reader makes its own generator wait and
 * nobody else's. The head has been written. A source that is waiting when the reader leaves is not waited for:
 * it ends itself through `ctx.signal`.
 */
export const pump = async (res: ServerResponse, source: AsyncIterable<Part>): Promise<void> => {
  res.flushHeaders()
  const { socket } = res
  const gone = new Promise<void>(resolve => {
    res.once('close', resolve)
    // We let half-closed callers have their answer, but a reader that will say nothing more has left.
    socket?.once('end', () => {
      res.destroy()
      resolve()
    })
  })
  const iterator = source[Symbol.asyncIterator]()
  const left = gone.then((): IteratorResult<Part> => ({ done: true, value: undefined }))
  try {
    while (!res.destroyed) {
      const { done, value } = await Promise.race([iterator.next(), left])
      if (done) break
      res.write(value)
      if (res.writableLength > WAITING_BYTES) await drained(res)
    }
  } finally {
    // Not awaited: a generator in the middle of waiting answers only when that is over.
    iterator.return?.().then(undefined, () => {
      // It has nobody left to tell.
    })
  }
  res.end()
}
