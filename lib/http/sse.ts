/** Writes event streams to responses with backpressure. Frames and heartbeats are in `lib/base/sse.ts`. */
import type { ServerResponse } from 'node:http'
import type { Chunk } from './reply.ts'
import type { ResponseHold } from './write-response.ts'

/** With more than this unsent, the generator waits. */
const MAX_BUFFERED_BYTES = 256 * 1024

const MAX_CHUNK_BYTES = 64 * 1024

/** Splits a long chunk into views, so that the buffer stays within its limit. */
function* splitChunk(chunk: Chunk): Generator<Chunk> {
  if (chunk.length <= MAX_CHUNK_BYTES) return yield chunk
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
  for (let at = 0; at < bytes.length; at += MAX_CHUNK_BYTES) {
    yield bytes.subarray(at, at + MAX_CHUNK_BYTES)
  }
}

/** Resolves when the buffer has drained or the client has disconnected. */
const waitForDrain = (res: ServerResponse): Promise<void> =>
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
 * Writes the chunks of `source` until it ends or the client disconnects. The head has been written. A slow client delays
 * only its own generator. A chunk is written when `hold` says that what it shows is kept. A source that is waiting at a disconnect is not awaited; it ends through `ctx.signal`.
 */
export const writeStream = async (
  res: ServerResponse,
  source: AsyncIterable<Chunk>,
  hold?: ResponseHold,
): Promise<void> => {
  res.flushHeaders()
  const { socket } = res
  const disconnected = new Promise<void>(resolve => {
    res.once('close', resolve)
    // Half-closed connections get their response elsewhere, but a stream has no end: treat them as disconnected.
    socket?.once('end', () => {
      res.destroy()
      resolve()
    })
  })
  const iterator = source[Symbol.asyncIterator]()
  let cancelNext = () => {}
  void disconnected.then(() => cancelNext())
  // Not Promise.race: each race would add a handler that lives as long as the stream.
  const next = () =>
    new Promise<IteratorResult<Chunk>>((resolve, reject) => {
      cancelNext = () => resolve({ done: true, value: undefined })
      iterator.next().then(resolve, reject)
    })
  try {
    while (!res.destroyed) {
      const { done, value } = await next()
      if (done) break
      const wait = hold?.(true)
      if (wait) await wait.catch(() => void res.destroy())
      if (res.destroyed) break
      for (const piece of splitChunk(value)) {
        res.write(piece)
        if (res.writableLength > MAX_BUFFERED_BYTES) await waitForDrain(res)
        if (res.destroyed) break
      }
    }
  } finally {
    // Not awaited: a generator that is waiting returns only afterwards.
    iterator.return?.().then(undefined, () => {
      // The client is gone, so the error has no receiver.
    })
  }
  res.end()
}
