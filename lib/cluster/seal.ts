/** Encrypts what enters the database: AES-256-GCM under a key of the cell, bound to its place in a file. */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  type Hmac,
  hkdfSync,
  randomBytes,
} from 'node:crypto'

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES

const derive = (secret: string, cell: string, use: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, cell, `agent-webui cluster ${use}`, 32))

/** `secret`: the cluster key, as text with enough entropy. */
export class Sealer {
  readonly #key: Buffer<ArrayBufferLike>
  readonly #digestKey: Buffer<ArrayBufferLike>

  constructor(secret: string, cell: string) {
    this.#key = derive(secret, cell, 'seal')
    this.#digestKey = derive(secret, cell, 'digest')
  }

  seal(bytes: Buffer, place: string): Buffer {
    // Random nonces are safe for 2^32 messages of a key (NIST SP 800-38D, 8.3).
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(place))
    const body = Buffer.concat([cipher.update(bytes), cipher.final()])
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), body])
  }

  /** Throws when the key is another one, or the bytes were changed or are those of another place. */
  open(bytes: Buffer, place: string): Buffer {
    if (bytes[0] !== VERSION || bytes.length < HEAD_BYTES)
      throw new Error('the sealed bytes have an unknown format')
    const nonce = bytes.subarray(1, 1 + NONCE_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(1 + NONCE_BYTES, HEAD_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES)), decipher.final()])
  }

  /** Equal for equal bytes; tells nothing about them to those without the key. */
  digest(bytes: Buffer): Buffer {
    return this.hash().update(bytes).digest()
  }
  /** For the same of bytes that come one after the other. */
  hash(): Hmac {
    return createHmac('sha256', this.#digestKey)
  }
}
