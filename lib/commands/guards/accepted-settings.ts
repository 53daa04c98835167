/**
 * The guarded settings of every profile as a person last confirmed them. The file holds them with the digest that only the
 * holder of the signing key can make, so that it says nothing when another program wrote it. What was read once stays in force
 * in this process while the file is missing or damaged.
 */
import type { Words } from '../../base/sentences.ts'
import { createHash, createHmac } from 'node:crypto'
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isSameSecret } from '../../base/sha256.ts'
import { z } from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { CachedFile, type FileText } from '../../store/cached-file.ts'
import { jsonReason } from '../../store/json-file.ts'
import { writeAtomic } from '../../store/atomic-write.ts'
import { guardedPart, mergeEdit, type SettingChange, withAccepted } from './guarded-settings.ts'

const Profiles = z.record(z.string(), z.record(z.string(), z.unknown()))
type Profiles = z.output<typeof Profiles>
const SettingsFile = z.object({ digest: z.string(), version: z.literal(2), profiles: Profiles })

type Values = Readonly<JsonObject>
const NOTHING: JsonObject = Object.freeze({})

/** The signing key, and a mark beside it that something was signed: then this file was there before. */
export type SigningKey = {
  key: () => Buffer | undefined
  isMarked: () => boolean
  mark: () => void
}

type Look = { inForce: Values; changes: SettingChange[] }

/** Identifies the changes that a person was shown. */
export const changesId = (changes: readonly SettingChange[]): string =>
  createHash('sha256')
    .update(JSON.stringify(changes.map(({ path, now }) => [path, now ?? null])))
    .digest('hex')
    .slice(0, 32)

/** What another program wrote into the state directory without the key. */
const MISSING = 'it is missing'
const FOREIGN = 'it was not written by this service, or its signing key has changed'

const isWritable = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    // Also missing: then its directory decides.
    return false
  }
}

/** Whether only an administrator can change the file: neither it nor its directory belongs to this user or can be written. */
const isAdministered = (file: string): boolean => {
  const uid = process.getuid?.()
  if (uid === undefined || uid === 0) return false
  try {
    return [file, dirname(file)].every(
      path => statSync(path, { throwIfNoEntry: false })?.uid !== uid && !isWritable(path),
    )
  } catch {
    // A directory that this user may not enter: what it has cannot be read either.
    return false
  }
}

/** `mayConfirm` false: for a program of the agent, whose edits confirm nothing. */
export class AcceptedSettings {
  readonly #signing: SigningKey
  readonly #mayConfirm: boolean
  readonly path: string
  #good: Profiles | undefined
  readonly #file: CachedFile<{ problem: Words | null }>
  /** By profile: the same answer while neither the file nor what was confirmed changes. */
  readonly #looks = new Map<string, { values: Values; accepted: JsonObject | null; look: Look }>()

  constructor(
    stateDir: string,
    signing: SigningKey,
    { mayConfirm = true }: { mayConfirm?: boolean } = {},
  ) {
    this.#signing = signing
    this.#mayConfirm = mayConfirm
    this.path = join(stateDir, 'accepted-settings.json')
    this.#file = new CachedFile(this.path, value => this.#parse(value), { looks: 'watched' })
  }

  #digestOf(key: Buffer, profiles: Profiles): string {
    return createHmac('sha256', key)
      .update(`accepted-settings2\0${JSON.stringify(profiles)}`)
      .digest('hex')
  }

  #isOurs({ digest, profiles }: z.output<typeof SettingsFile>): boolean {
    const key = this.#signing.key()
    return key !== undefined && isSameSecret(digest, this.#digestOf(key, profiles))
  }

  #parse({ text, problem }: FileText): { problem: Words | null } {
    if (text === null)
      return {
        problem: problem ?? (this.#good === undefined && this.#signing.isMarked() ? MISSING : null),
      }
    try {
      const file = SettingsFile.parse(JSON.parse(text))
      if (!this.#isOurs(file)) return { problem: FOREIGN }
      this.#good = file.profiles
      return { problem: null }
    } catch (error) {
      return { problem: jsonReason(error, text) }
    }
  }

  /** Null: nothing was ever confirmed. */
  #read(): { profiles: Profiles | null; problem: Words | null } {
    const { problem } = this.#file.read()
    return { profiles: this.#good ?? (problem === null ? null : {}), problem }
  }

  #save(profiles: Profiles): void {
    this.#good = profiles
    const key = this.#signing.key()
    if (!key || !this.#mayConfirm) return
    const file = { digest: this.#digestOf(key, profiles), version: 2, profiles }
    writeAtomic(this.path, `${JSON.stringify(file, null, 1)}\n`)
    this.#signing.mark()
  }

  #set(profile: string, part: unknown): void {
    const before = this.#read().profiles ?? {}
    if (!isDeepStrictEqual(before[profile], part))
      this.#save({ ...before, [profile]: part as JsonObject })
  }

  #ofProfile(profile: string): JsonObject | null {
    const { profiles } = this.#read()
    if (profiles === null) return null
    return Object.hasOwn(profiles, profile) ? (profiles[profile] ?? NOTHING) : NOTHING
  }

  /** The values in force for a profile whose config.yaml at `file` has these, and the changes that wait. */
  look(profile: string, configPath: string, values: Readonly<JsonObject>): Look {
    const accepted = this.#ofProfile(profile)
    const last = this.#looks.get(profile)
    if (last?.values === values && last.accepted === accepted) return last.look
    const look =
      accepted === null || isAdministered(configPath)
        ? { inForce: values, changes: [] }
        : withAccepted(values, accepted)
    this.#looks.set(profile, { values, accepted, look })
    return look
  }

  /** A person changed the file with this program. */
  edited(profile: string, before: Readonly<JsonObject>, after: Readonly<JsonObject>): void {
    const accepted = this.#ofProfile(profile)
    if (accepted === null || !this.#mayConfirm) return
    this.#set(profile, mergeEdit(accepted, guardedPart(before), guardedPart(after)))
  }

  /** A person confirmed these values. */
  accept(profile: string, values: Values): void {
    this.#set(profile, guardedPart(values))
  }

  /** A new profile: what was confirmed for `source`, which it copies, or nothing. */
  created(profile: string, source: string | undefined): void {
    if (this.#read().profiles !== null)
      this.#set(profile, source === undefined ? {} : this.#ofProfile(source))
  }

  forget(profile: string): void {
    const { profiles } = this.#read()
    if (profiles === null || !Object.hasOwn(profiles, profile)) return
    const { [profile]: _, ...others } = profiles
    this.#save(others)
  }

  /** Whether anything was confirmed for this profile. */
  knows(profile: string): boolean {
    return Object.hasOwn(this.#read().profiles ?? {}, profile)
  }

  /** Whether there is nothing yet, not even a damaged file: then every value counts as confirmed. */
  isNew(): boolean {
    return this.#read().profiles === null
  }

  /** Writes the file again when it is missing. */
  keep(): void {
    const { problem } = this.#file.read()
    if (problem === null && this.#good !== undefined && !existsSync(this.path))
      this.#save(this.#good)
  }

  /** Why the file cannot be used, or null. */
  problem(): Words | null {
    return this.#read().problem
  }
}
