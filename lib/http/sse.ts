/** Writes event streams to responses, no faster than each reader takes them. */
import type { ServerResponse } from 'node:http'
import type { Chunk } from './reply.ts'

/** Beyond this a reader is slow and its generator waits. */
const MAX_BUFFERED_BYTES = 256 * 1024

const MAX_CHUNK_BYTES = 64 * 1024

/** A long part is written in views of itself, so that no more of it waits than is promised. */
function* splitChunk(part: Chunk): Generator<Chunk> {
  if (part.length <= MAX_CHUNK_BYTES) return yield part
  const bytes = typeof part === 'string' ? Buffer.from(part) : part
  for (let at = 0; at < bytes.length; at += MAX_CHUNK_BYTES) {
    yield bytes.subarray(at, at + MAX_CHUNK_BYTES)
  }
}

/** The first of the two: room again, or the reader is gone. */
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
 * Writes what `source` yields until it ends or the reader leaves. A slow reader makes its own generator wait and
 * nobody else's. The head has been written. A source that is waiting when the reader leaves is not waited for:
 * it ends itself through `ctx.signal`.
 */
export const writeStream = async (
  res: ServerResponse,
  source: AsyncIterable<Chunk>,
): Promise<void> => {
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
  let leave = () => {}
  void gone.then(() => leave())
  // Not a race with `gone`: every race would leave what it was won with hanging on a promise as old as the stream.
  const next = () =>
    new Promise<IteratorResult<Chunk>>((resolve, reject) => {
      leave = () => resolve({ done: true, value: undefined })
      iterator.next().then(resolve, reject)
    })
  try {
    while (!res.destroyed) {
      const { done, value } = await next()
      if (done) break
      for (const piece of splitChunk(value)) {
        res.write(piece)
        if (res.writableLength > MAX_BUFFERED_BYTES) await waitForDrain(res)
        if (res.destroyed) break
      }
    }
  } finally {
    // Not awaited: a generator in the middle of waiting answers only when that is over.
    iterator.return?.().then(undefined, () => {
      // It has nobody left to tell.
    })
  }
  res.end()
}
