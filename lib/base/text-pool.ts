/**
 * Bytes of texts that are kept for a while, beside each other. In Node's own pool (`Buffer.poolSize`, 64 kB) they lie between
 * bytes of anything else, and a short text that is kept keeps all of them.
 */
const POOL_BYTES = 64 * 1024
/** Of a UTF-16 unit in UTF-8. */
const MAX_UTF8 = 3

const encoder = new TextEncoder()

/** Returns a function that encodes a text as UTF-8. Texts that are kept together should come from the same pool. */
export const createTextPool = (): ((text: string) => Buffer) => {
  let pool: Buffer | undefined
  let at = 0
  return text => {
    const most = text.length * MAX_UTF8
    // A long one has memory of its own.
    if (most > POOL_BYTES / 2) return Buffer.from(encoder.encode(text).buffer)
    if (!pool || at + most > POOL_BYTES) {
      pool = Buffer.allocUnsafeSlow(POOL_BYTES)
      at = 0
    }
    const start = at
    at += pool.write(text, start)
    return pool.subarray(start, at)
  }
}
