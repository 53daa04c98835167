const POOL_BYTES = 64 * 1024
/** Of a UTF-16 unit in UTF-8. */
const MAX_UTF8 = 3

const encoder = new TextEncoder()

/**
 * Bytes of texts that are kept for a while, beside each other. In Node's own pool (`Buffer.poolSize`, 64 kB) they lie between
 * bytes of anything else, and a short text that is kept keeps all of them. Texts that are kept together should be in the same pool.
 */
export class TextPool {
  #pool: Buffer | undefined
  #at = 0

  /** As UTF-8. */
  encode(text: string): Buffer {
    const most = text.length * MAX_UTF8
    // A long one has memory of its own.
    if (most > POOL_BYTES / 2) return Buffer.from(encoder.encode(text).buffer)
    if (!this.#pool || this.#at + most > POOL_BYTES) {
      this.#pool = Buffer.allocUnsafeSlow(POOL_BYTES)
      this.#at = 0
    }
    const start = this.#at
    this.#at += this.#pool.write(text, start)
    return this.#pool.subarray(start, this.#at)
  }
}
