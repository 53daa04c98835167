/**
 * The stored password hash, sealed with the signing key. Once a password was set, only a sealed record can turn it off:
 * a missing or damaged file, or one of another key, never does.
 */
import { createHmac } from 'node:crypto'
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  rmSync,
  existsSync,
} from 'node:fs'
import { join } from 'node:path'
import { isSameSecret } from '../base/sha256.ts'
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { jsonReason } from '../store/json-file.ts'
import { lookAgain, lstatWatched } from '../store/file-stats.ts'
import { reportWrite } from '../store/write-reports.ts'

/** The hash in settings.json, where the specification and the former server keep it. */
export type SettingsHash =
  | { kind: 'none' }
  | { kind: 'hash'; hash: string }
  | { kind: 'damaged'; why: string }

/** The copy in settings.json: read as input when it differs, but its absence never disables the password. */
export type SettingsPassword = {
  read(): SettingsHash
  /** Null removes it. Throws when the file cannot be written. */
  store(hash: string | null): void
}

export type PasswordState =
  | { kind: 'none' }
  | { kind: 'hash'; hash: string }
  /** `hash` is the last one that this process read. `isOfOtherKey`: it was probably made with a signing key that is lost. */
  | { kind: 'damaged'; why: string; hash: string | null; isOfOtherKey?: true }

const RECORD = '.password'
/** Exists while a password is set, so that a deleted record is not mistaken for "never set". */
const MARKER = '.password_set'
const MAX_RECORD_BYTES = 4_096

export const PasswordRecord = z.strictObject({
  version: z.literal(1),
  /** Null: the password was removed. */
  hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  /** HMAC with the signing key, which is also the salt of the hash. */
  seal: z.string().regex(/^[0-9a-f]{64}$/),
})

const sealOf = (key: Buffer, hash: string | null): string =>
  createHmac('sha256', key)
    .update(`password:${hash ?? 'off'}`)
    .digest('hex')

/** Never blocks: a FIFO or device in its place is rejected, not read. */
const readRegular = (path: string): string => {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants
  const fd = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error('it is not a regular file')
    if (stat.size > MAX_RECORD_BYTES) throw new Error('it is too large')
    return readFileSync(fd, 'utf8')
  } finally {
    closeSync(fd)
  }
}

type RecordRead =
  | { kind: 'absent' }
  | { kind: 'read'; hash: string | null }
  /** `foreign`: the hash of a record that another signing key has sealed. */
  | { kind: 'bad'; why: string; foreign?: string | null }

/** Whether a password was ever set here and not removed since, in whatever state its record is. */
export const hasPassword = (dir: string): boolean => existsSync(join(dir, MARKER))

/** Whether the stored password was sealed with another key than this one. `key`: null when there is none. */
export const isForeignRecord = (dir: string, key: Buffer | null): boolean => {
  try {
    const { hash, seal } = PasswordRecord.parse(JSON.parse(readRegular(join(dir, RECORD))))
    return hash !== null && (key === null || seal !== sealOf(key, hash))
  } catch {
    // No record, or a damaged one, which has a check of its own.
    return false
  }
}

export class PasswordFile {
  readonly #key: Buffer
  readonly #settings: SettingsPassword
  readonly #warn: (text: string) => void
  readonly #path: string
  readonly #mark: string
  #cached: { stamp: string; read: RecordRead } | undefined
  #lastHash: string | null = null
  #lastWarning = ''

  constructor(dir: string, key: Buffer, settings: SettingsPassword, warn: (text: string) => void) {
    this.#key = key
    this.#settings = settings
    this.#warn = warn
    this.#path = join(dir, RECORD)
    this.#mark = join(dir, MARKER)
  }

  state(): PasswordState {
    // One of the files may have been looked at before another program changed all of them.
    if (!this.#isConsistent()) lookAgain()
    const old = this.#settings.read()
    const now = this.#read()
    // The key is the salt of both: with a new one, the right password would be refused as a wrong one. If it is the seal that
    // is damaged, the right password proves it.
    if (now.kind === 'bad' && old.kind === 'hash' && now.foreign === old.hash) {
      this.#lastHash = old.hash
      this.#damaged(now.why)
      return { kind: 'damaged', why: now.why, hash: this.#lastHash, isOfOtherKey: true }
    }
    if (old.kind === 'hash') return this.#adoptSettingsHash(old.hash)
    if (now.kind === 'bad') return this.#damaged(now.why)
    if (now.kind === 'read') {
      this.#lastHash = now.hash
      if (now.hash !== null) return { kind: 'hash', hash: now.hash }
    } else if (this.#lastHash !== null || this.#isMarked())
      return this.#damaged(`${this.#path} is missing`)
    return old.kind === 'damaged' ? this.#damaged(old.why) : { kind: 'none' }
  }

  /** Replaces the record; null turns the password off. */
  set(hash: string | null): void {
    // First, so that a failure changes nothing: a copy that differs from the record counts as a newer password.
    this.#settings.store(hash)
    this.#write(hash)
  }

  #warnOnce(text: string): void {
    if (text !== this.#lastWarning) this.#warn(text)
    this.#lastWarning = text
  }

  #parse(): RecordRead {
    let text = ''
    try {
      text = readRegular(this.#path)
      const content = PasswordRecord.safeParse(JSON.parse(text))
      if (!content.success) return { kind: 'bad', why: `${this.#path} is damaged` }
      const { hash, seal } = content.data
      if (!isSameSecret(seal, sealOf(this.#key, hash)))
        return {
          kind: 'bad',
          why: `${this.#path} was made with another signing key`,
          foreign: hash,
        }
      return { kind: 'read', hash }
    } catch (error) {
      return { kind: 'bad', why: `${this.#path} cannot be read: ${jsonReason(error, text)}` }
    }
  }

  #read(): RecordRead {
    let stat: BigIntStats | undefined
    try {
      stat = lstatWatched(this.#path)
    } catch (error) {
      return { kind: 'bad', why: `${this.#path} cannot be read: ${messageOf(error)}` }
    }
    if (!stat) {
      this.#cached = undefined
      return { kind: 'absent' }
    }
    const stamp = `${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}:${stat.mode}`
    if (this.#cached?.stamp !== stamp) this.#cached = { stamp, read: this.#parse() }
    return this.#cached.read
  }

  #isMarked(): boolean {
    try {
      return lstatWatched(this.#mark) !== undefined
    } catch {
      // An inaccessible directory does not prove that the marker is missing.
      return true
    }
  }

  #write(hash: string | null): void {
    lookAgain()
    // Marker first: a kill in between leaves a state that rejects sign-ins, never one that admits everyone.
    if (hash !== null && !this.#isMarked()) writeAtomic(this.#mark, 'A password is set.\n')
    // rename() does not replace a directory.
    if (lstatWatched(this.#path)?.isDirectory()) rmSync(this.#path, { recursive: true })
    writeAtomic(
      this.#path,
      `${JSON.stringify({ version: 1, hash, seal: sealOf(this.#key, hash) })}\n`,
    )
    if (hash === null) rmSync(this.#mark, { force: true })
    reportWrite(this.#mark)
    this.#lastHash = hash
    this.#lastWarning = ''
  }

  #isRecorded(hash: string): boolean {
    const now = this.#read()
    return now.kind === 'read' && now.hash === hash
  }

  /** Whether the record, its marker, and settings.json say the same. */
  #isConsistent(): boolean {
    const old = this.#settings.read()
    if (old.kind !== 'none') return old.kind === 'hash' && this.#isRecorded(old.hash)
    const now = this.#read()
    return (
      now.kind === 'read' || (now.kind === 'absent' && this.#lastHash === null && !this.#isMarked())
    )
  }

  /** Another program set this password, or the record was lost. It counts even when the record cannot be written. */
  #adoptSettingsHash(hash: string): PasswordState {
    if (!this.#isRecorded(hash)) {
      try {
        this.#write(hash)
        this.#warn(`the password in settings.json applies; copied it to ${this.#path}`)
      } catch (error) {
        this.#warnOnce(
          `could not copy the password in settings.json to ${this.#path}: ${messageOf(error)}`,
        )
      }
    }
    this.#lastHash = hash
    return { kind: 'hash', hash }
  }

  #damaged(why: string): PasswordState {
    this.#warnOnce(
      `${why}. Sign-in stays closed. Run "agent-webui password" in a terminal to set a password`,
    )
    return { kind: 'damaged', why, hash: this.#lastHash }
  }
}
