/**
 * Sign-in, people, roles, and API tokens. Here are the people of this server and what they sign in with beside the password of the
 * server, which is that of the first owner: passwords of their own, passkeys, and one-time codes. people.json is read when it
 * changed, so that the command line can edit it.
 */
import type { UnreadableFile } from '../schema/file-problem.ts'
import { randomBytes } from 'node:crypto'
import { type BigIntStats, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { conflict, messageOf, missing, unavailable } from '../errors.ts'
import { type Caller, OWNER, Role } from '../schema/person.ts'
import { OWNER_NAME } from '../base/owner-name.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { jsonReason } from '../store/json-file.ts'
import { readWholeText } from '../store/read-text.ts'
import { lookAgain, statWatched } from '../store/file-stats.ts'
import { reportWrite } from '../store/write-reports.ts'

const Passkey = z.object({
  /** Credential id, base64url. */
  id: z.string(),
  /** COSE key, base64url. */
  public_key: z.string(),
  counter: z.number(),
  transports: z.array(z.string()),
  /** The host name it is for. */
  rp_id: z.string(),
  /** Of the page that it was made on. Empty in files of earlier versions, whose passkeys have to be added again. */
  origin: z.string().default(''),
  name: z.string(),
  /** Seconds since 1970. */
  created_at: z.number(),
  last_used_at: z.number().nullable(),
})
export type Passkey = z.infer<typeof Passkey>

const Totp = z.object({
  /** Base32. */
  secret: z.string(),
  enabled_at: z.number(),
  /** Number of the 30-second step of the last code: a code works once. */
  last_step: z.number(),
  /** SHA-256 of the recovery codes that were not used. */
  recovery: z.array(z.string()),
})
export type Totp = z.infer<typeof Totp>

const LinkedIdentity = z.object({
  /** The provider's issuer, or `proxy`. */
  issuer: z.string(),
  subject: z.string(),
  /** To show. */
  name: z.string(),
  /** Seconds since 1970. */
  linked_at: z.number(),
})
/** With whom someone else vouches for the person: an OpenID Connect provider, or a trusted proxy. */
export type LinkedIdentity = z.infer<typeof LinkedIdentity>

const Person = z.object({
  id: z.string(),
  name: z.string(),
  role: Role,
  /** Profiles that were given; null: all, for owners. */
  profiles: z.array(z.string()).nullable(),
  passkeys: z.array(Passkey),
  /** Of the first owner only: the second factor to the password of the server. */
  totp: Totp.nullable(),
  identities: z.array(LinkedIdentity).default([]),
  /** By which the first sign-in with a provider is recognized: a verified email address, or the user that a trusted proxy names. Never of owners. */
  sign_in_as: z.string().optional(),
  /** Hash of a password of their own. Absent: none, and always for the first owner, who has that of the server. */
  password: z.string().nullable().optional(),
  /** An open invitation: SHA-256 of its code. */
  invitation: z.object({ hash: z.string(), expires_at: z.number() }).nullable().optional(),
  /** What they have chosen for themselves, such as theme and language. Never of the first owner, whose choices are those of the server. */
  settings: z.record(z.string(), z.unknown()).optional().catch(undefined),
  /** Seconds since 1970. */
  created_at: z.number().optional(),
})
export type Person = z.infer<typeof Person>

/** Unknown keys are kept: a later version may have written them. */
const File = z.looseObject({ version: z.literal(1), people: z.array(Person.loose()) })
type File = z.infer<typeof File>

const FILE = 'people.json'
/** Exists while codes are required, so that a deleted or older people.json does not turn them off. */
const MARKER = '.second_factor'

/** A way to sign in of their own, which the first owner need not have. */
export const hasJoined = ({ password, passkeys, identities }: Person): boolean =>
  Boolean(password) || passkeys.length + identities.length > 0

/** For one of the others, before a change that takes something away. They could sign in again only by an invitation of an owner. */
export const requireSignIn = (person: Person): void => {
  if (hasJoined(person) || person.sign_in_as) return
  throw conflict('You sign in with nothing else. Set a password or add a passkey first.', {
    code: 'last_sign_in',
  })
}

const isOwner = ({ role }: { role: string }): boolean => role === 'owner'

/** Names are compared without case, and however accents are encoded. */
const plainName = (name: string): string => name.trim().normalize('NFC').toLowerCase()

/** What decides about their requests. */
const toCaller = ({ id, role, profiles }: Person): Caller => ({
  id,
  role,
  profiles: role === 'owner' ? null : (profiles ?? []),
})

const newOwner = (): Person => ({
  id: randomBytes(8).toString('hex'),
  name: OWNER_NAME,
  role: 'owner',
  profiles: null,
  passkeys: [],
  totp: null,
  identities: [],
})

export class People {
  readonly #warn: (text: string) => void
  readonly #path: string
  readonly #mark: string
  #cache: { stamp: string; file: File | string } | undefined

  constructor(dir: string, warn: (text: string) => void) {
    this.#warn = warn
    this.#path = join(dir, FILE)
    this.#mark = join(dir, MARKER)
  }

  others(): Person[] {
    return this.#othersOf(this.#readNow())
  }

  /** One of the others; the first owner's sign-ins name no person. */
  find(id: string): Person | undefined {
    return this.others().find(each => each.id === id)
  }

  /** Why the file cannot be used; null when it can. */
  problem(): UnreadableFile | null {
    try {
      this.#read()
      return null
    } catch (error) {
      const why = typeof this.#cache?.file === 'string' ? this.#cache.file : messageOf(error)
      return {
        file: this.#path,
        reason: why.replace(`${this.#path} cannot be read: `, ''),
        in_force: false,
      }
    }
  }

  /** The first owner, who has the password of the server. Throws a 503 while the file cannot be read, like all of these. */
  owner(): Person {
    return this.#ownerOf(this.#readNow())
  }

  /** Whether the password of the server is not enough to name who signs in. A file that cannot be read may name others. */
  hasOthers(): boolean {
    try {
      return this.#othersOf(this.#read()).length > 0
    } catch {
      return true
    }
  }

  /** By the id of a sign-in; absent: the first owner. */
  caller(id: string | undefined): Caller | undefined {
    if (id === undefined) return OWNER
    const person = this.#othersOf(this.#read()).find(each => each.id === id)
    return person && toCaller(person)
  }

  /** The person of a caller, who may be the first owner. */
  of({ id }: { id: string }): Person {
    const person = id === '' ? this.#ownerOf(this.#readNow()) : this.find(id)
    if (!person) throw missing('This person was removed.', { code: 'person_not_found' })
    return person
  }

  /** For lists and logs; empty when the person was removed, or the file cannot be read. */
  nameOf({ id }: { id: string }): string {
    try {
      const file = this.#read()
      return (
        (id === '' ? this.#ownerOf(file) : this.#othersOf(file).find(each => each.id === id))
          ?.name ?? ''
      )
    } catch {
      return ''
    }
  }

  /** Any of them; undefined when no one has this name. */
  byName(name: string): Person | undefined {
    return this.#readNow().people.find(each => plainName(each.name) === plainName(name))
  }

  add(person: Person): void {
    this.#write(people => [...people, person])
  }

  /** Changes one of the others. False when the person was removed. */
  change(id: string, patch: Partial<Person>): boolean {
    if (!this.find(id)) return false
    this.#write(people => people.map(each => (each.id === id ? { ...each, ...patch } : each)))
    return true
  }

  /** Removes one of the others. */
  remove(id: string): boolean {
    if (!this.find(id)) return false
    this.#write(people => people.filter(each => each.id !== id))
    return true
  }

  /** Changes the first owner. On disk first. */
  update(change: Partial<Pick<Person, 'passkeys' | 'totp' | 'identities' | 'name'>>): void {
    const file = this.#readNow()
    const next = { ...this.#ownerOf(file), ...change }
    const people = file.people.map(each => (each.id === next.id ? { ...each, ...next } : each))
    this.#cache = undefined
    // The marker is removed first and written last: after a kill in between, people.json decides, and the next code restores the marker.
    if (!next.totp) rmSync(this.#mark, { force: true })
    reportWrite(this.#mark)
    writeAtomic(this.#path, `${JSON.stringify({ ...file, people }, null, 1)}\n`)
    if (next.totp) writeAtomic(this.#mark, 'Sign-in needs a code.\n')
  }

  /** Removes the first owner's passkeys and codes. A file that cannot be read is removed, and the other people with it. */
  reset(): void {
    lookAgain()
    const file = this.#parse(statWatched(this.#path), false)
    this.#cache = undefined
    if (typeof file === 'string') rmSync(this.#path, { force: true })
    else {
      const { id } = this.#ownerOf(file)
      const people = file.people.map(each =>
        each.id === id ? { ...each, passkeys: [], totp: null } : each,
      )
      writeAtomic(this.#path, `${JSON.stringify({ ...file, people }, null, 1)}\n`)
    }
    rmSync(this.#mark, { force: true })
    for (const each of [this.#path, this.#mark]) reportWrite(each)
    this.#cache = undefined
  }

  #stampOf(stat: BigIntStats | undefined): string {
    return stat ? `${stat.ino}:${stat.size}:${stat.mtimeNs}` : 'absent'
  }

  /** The content, or why it cannot be used. */
  #parse(
    stat: BigIntStats | undefined,
    isMarked = statSync(this.#mark, { throwIfNoEntry: false }) !== undefined,
  ): File | string {
    if (!stat) return isMarked ? `${this.#path} is missing` : { version: 1, people: [newOwner()] }
    let text = ''
    try {
      text = readWholeText(this.#path)
      const file = File.parse(JSON.parse(text))
      const owner = file.people.find(isOwner)
      if (!owner) return `${this.#path} names no owner`
      // A copy from before codes were turned on.
      return isMarked && !owner.totp ? `${this.#path} lacks the codes that sign-in needs` : file
    } catch (error) {
      return `${this.#path} cannot be read: ${jsonReason(error, text)}`
    }
  }

  #read(): File {
    const stat = statWatched(this.#path)
    const stamp = this.#stampOf(stat)
    if (this.#cache?.stamp !== stamp || typeof this.#cache.file === 'string') {
      const before = this.#cache?.file
      this.#cache = { stamp, file: this.#parse(stat) }
      if (typeof this.#cache.file === 'string' && before !== this.#cache.file)
        this.#warn(this.#cache.file)
    }
    if (typeof this.#cache.file === 'string')
      throw unavailable(
        'The passkeys and codes of this server cannot be read, so sign-in is closed. Repair people.json, or run "agent-webui password --reset-factors" in a terminal on the server’s machine.',
        { code: 'factors_unreadable' },
      )
    return this.#cache.file
  }

  /** For what may be changed: another program may have written it a moment ago. */
  #readNow(): File {
    lookAgain()
    return this.#read()
  }

  #ownerOf(file: File): Person {
    return file.people.find(isOwner) ?? newOwner()
  }

  #othersOf(file: File): Person[] {
    const { id } = this.#ownerOf(file)
    return file.people.filter(each => each.id !== id)
  }

  /** On disk first. */
  #write(change: (people: Person[]) => Person[]): void {
    const before = this.#readNow()
    const file = { ...before, people: change(before.people) }
    this.#cache = undefined
    writeAtomic(this.#path, `${JSON.stringify(file, null, 1)}\n`)
  }
}
