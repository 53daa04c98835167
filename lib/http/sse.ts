/** Writes event streams to responses with backpressure. Frames and heartbeats are in `lib/base/sse.ts`. */
import type { ServerResponse } from 'node:http'
import type { Flow, PushSource } from '../base/push-source.ts'
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
  const onEnd = (): void => void res.destroy()
  // Half-closed connections get their response elsewhere, but a stream has no end: treat them as disconnected.
  socket?.once('end', onEnd)
  const disconnected = new Promise<void>(resolve => {
    // A connection that is kept serves more streams.
    res.once('close', () => {
      socket?.off('end', onEnd)
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

/**
 * The same of a source that writes by itself. It is paused while more than 256 kB wait in the response, with the piece that it
 * wrote last, which is not split because readers share it; or while `hold` keeps that piece. Rejects with what the source failed
 * with. Thousands of these are open, so it is made of few objects.
 */
export const writePushed = (
  res: ServerResponse,
  source: PushSource,
  hold?: ResponseHold,
): Promise<void> =>
  new Promise((resolve, reject) => {
    // Its events are over.
    if (res.destroyed) return resolve()
    const { socket } = res
    let flow: Flow | undefined
    let isHeld = false
    let isOver = false
    const finish = (settle: () => void): void => {
      if (isOver) return
      isOver = true
      res.off('drain', onDrain)
      res.off('close', onGone)
      socket?.off('end', onGone)
      flow?.close()
      settle()
    }
    const end = (): void =>
      finish(() => {
        res.end()
        resolve()
      })
    /** Half-closed connections, too: a stream has no end. */
    const onGone = (): void => {
      res.destroy()
      end()
    }
    // Nothing overtakes what is held.
    const onDrain = (): void => {
      if (!isHeld) flow?.resume()
    }
    const send = (piece: Buffer): boolean => {
      if (res.destroyed) return false
      res.write(piece)
      return res.writableLength <= MAX_BUFFERED_BYTES
    }
    const write = (piece: Buffer): boolean => {
      const wait = hold?.(true)
      if (!wait) return send(piece)
      isHeld = true
      const release = () => {
        isHeld = false
        if (send(piece)) flow?.resume()
      }
      wait.then(release, () => res.destroy())
      return false
    }
    res.flushHeaders()
    res.on('drain', onDrain)
    res.on('close', onGone)
    socket?.on('end', onGone)
    flow = source({ write, end, fail: error => finish(() => reject(error)) })
    // It may have ended at once.
    if (isOver) flow.close()
  })
