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
import { cachedFile, type FileText } from '../../store/cached-file.ts'
import { jsonReason } from '../../store/json-file.ts'
import { writeAtomic } from '../../store/atomic-write.ts'
import {
  guardedPart,
  mergeEdit,
  type SettingChange,
  withAccepted,
  withLaterPart,
} from './guarded-settings.ts'

const Profiles = z.record(z.string(), z.record(z.string(), z.unknown()))
type Profiles = z.output<typeof Profiles>
/** `version` 1 knew fewer guarded settings. */
const VERSION = 2
const Stored = z.object({ digest: z.string(), version: z.number().default(1), profiles: Profiles })

type Values = Readonly<JsonObject>
const NOTHING: JsonObject = Object.freeze({})

/** The signing key, and a mark beside it that something was signed: then this file was there before. */
export type Signing = {
  key: () => Buffer | undefined
  isMarked: () => boolean
  mark: () => void
}

type Look = { inForce: Values; changes: SettingChange[] }

export type AcceptedSettings = {
  /** The values in force for a profile whose config.yaml at `file` has these, and the changes that wait. */
  look(profile: string, file: string, values: Values): Look
  /** A person changed the file with this program. */
  edited(profile: string, before: Values, after: Values): void
  /** A person confirmed these values. */
  accept(profile: string, values: Values): void
  /** A new profile: what was confirmed for `source`, which it copies, or nothing. */
  created(profile: string, source?: string): void
  forget(profile: string): void
  /** Whether anything was confirmed for this profile. */
  knows(profile: string): boolean
  /** Whether there is nothing yet, not even a damaged file: then every value counts as confirmed. */
  isNew(): boolean
  /** Accepts what these profiles say of settings that an earlier version did not guard. */
  extend(homes: readonly { name: string; values: Values }[]): void
  /** Writes the file again when it is missing. */
  keep(): void
  /** Why the file cannot be used, or null. */
  problem(): Words | null
  readonly path: string
}

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
export const openAcceptedSettings = (
  stateDir: string,
  signing: Signing,
  { mayConfirm = true }: { mayConfirm?: boolean } = {},
): AcceptedSettings => {
  const path = join(stateDir, 'accepted-settings.json')
  let version = VERSION
  const digestOf = (key: Buffer, profiles: Profiles, of: number): string =>
    createHmac('sha256', key)
      .update(`accepted-settings${of === 1 ? '' : of}\0${JSON.stringify(profiles)}`)
      .digest('hex')
  const isOurs = ({ digest, version: of, profiles }: z.output<typeof Stored>): boolean => {
    const key = signing.key()
    return key !== undefined && isSameSecret(digest, digestOf(key, profiles, of))
  }

  let good: Profiles | undefined
  const parse = ({ text, problem }: FileText): { problem: Words | null } => {
    if (text === null)
      return { problem: problem ?? (good === undefined && signing.isMarked() ? MISSING : null) }
    try {
      const stored = Stored.parse(JSON.parse(text))
      if (!isOurs(stored)) return { problem: FOREIGN }
      good = stored.profiles
      version = stored.version
      return { problem: null }
    } catch (error) {
      return { problem: jsonReason(error, text) }
    }
  }
  const file = cachedFile(path, parse, { isWatched: true })
  /** Null: nothing was ever confirmed. */
  const read = (): { profiles: Profiles | null; problem: Words | null } => {
    const { problem } = file()
    return { profiles: good ?? (problem === null ? null : {}), problem }
  }
  const save = (profiles: Profiles): void => {
    good = profiles
    const key = signing.key()
    if (!key || !mayConfirm) return
    const stored = { digest: digestOf(key, profiles, version), version, profiles }
    writeAtomic(path, `${JSON.stringify(stored, null, 1)}\n`)
    signing.mark()
  }
  const set = (profile: string, part: unknown): void => {
    const before = read().profiles ?? {}
    if (!isDeepStrictEqual(before[profile], part))
      save({ ...before, [profile]: part as JsonObject })
  }
  const ofProfile = (profile: string): JsonObject | null => {
    const { profiles } = read()
    if (profiles === null) return null
    return Object.hasOwn(profiles, profile) ? (profiles[profile] ?? NOTHING) : NOTHING
  }

  /** By profile: the same answer while neither the file nor what was confirmed changes. */
  const looks = new Map<string, { values: Values; accepted: JsonObject | null; look: Look }>()

  return {
    path,
    look(profile, configPath, values) {
      const accepted = ofProfile(profile)
      const last = looks.get(profile)
      if (last?.values === values && last.accepted === accepted) return last.look
      const look =
        accepted === null || isAdministered(configPath)
          ? { inForce: values, changes: [] }
          : withAccepted(values, version < VERSION ? withLaterPart(accepted, values) : accepted)
      looks.set(profile, { values, accepted, look })
      return look
    },
    edited(profile, before, after) {
      const accepted = ofProfile(profile)
      if (accepted === null || !mayConfirm) return
      set(profile, mergeEdit(accepted, guardedPart(before), guardedPart(after)))
    },
    accept: (profile, values) => set(profile, guardedPart(values)),
    created(profile, source) {
      if (read().profiles !== null) set(profile, source === undefined ? {} : ofProfile(source))
    },
    forget(profile) {
      const { profiles } = read()
      if (profiles === null || !Object.hasOwn(profiles, profile)) return
      const { [profile]: _, ...others } = profiles
      save(others)
    },
    knows: profile => Object.hasOwn(read().profiles ?? {}, profile),
    isNew: () => read().profiles === null,
    extend(homes) {
      const { profiles } = read()
      if (profiles === null || version >= VERSION) return
      const extended = homes.map(({ name, values }) => [
        name,
        withLaterPart(ofProfile(name) ?? NOTHING, values),
      ])
      version = VERSION
      save({ ...profiles, ...Object.fromEntries(extended) })
    },
    keep() {
      const { problem } = file()
      if (problem === null && good !== undefined && !existsSync(path)) save(good)
    },
    problem: () => read().problem,
  }
}
