/**
 * The people of this server and what they sign in with beside the password: passkeys and one-time codes. There is one
 * person so far, the owner. people.json is read when it changed, so that the command line can edit it.
 */
import { randomBytes } from 'node:crypto'
import { rmSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { messageOf, unavailable } from '../errors.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

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

const Person = z.object({
  id: z.string(),
  name: z.string(),
  /** `member` and `viewer` are reserved; ARCHITECTURE.md, "Sign-in and identity". */
  role: z.enum(['owner', 'member', 'viewer']),
  /** Profiles that were given; null: all, for owners. */
  profiles: z.array(z.string()).nullable(),
  passkeys: z.array(Passkey),
  totp: Totp.nullable(),
})
export type Person = z.infer<typeof Person>

/** Unknown keys are kept: a later version may have written them. */
const File = z.looseObject({ version: z.literal(1), people: z.array(Person.loose()) })
type File = z.infer<typeof File>

const FILE = 'people.json'
/** Exists while codes are required, so that a deleted or older people.json does not turn them off. */
const MARKER = '.second_factor'

export type People = ReturnType<typeof openPeople>

const isOwner = ({ role }: { role: string }): boolean => role === 'owner'

const newOwner = (): Person => ({
  id: randomBytes(8).toString('hex'),
  name: 'Owner',
  role: 'owner',
  profiles: null,
  passkeys: [],
  totp: null,
})

export const openPeople = (dir: string, warn: (text: string) => void) => {
  const path = join(dir, FILE)
  const mark = join(dir, MARKER)
  let known: { stamp: string; file: File | string } | undefined

  const stampOf = (stat: Stats | undefined): string =>
    stat ? `${stat.ino}:${stat.size}:${stat.mtimeMs}` : 'absent'

  /** The content, or why it cannot be used. */
  const parse = (stat: Stats | undefined): File | string => {
    const isMarked = statSync(mark, { throwIfNoEntry: false }) !== undefined
    if (!stat) return isMarked ? `${path} is missing` : { version: 1, people: [newOwner()] }
    try {
      const file = File.parse(JSON.parse(readWholeText(path)))
      const owner = file.people.find(isOwner)
      if (!owner) return `${path} names no owner`
      // A copy from before codes were turned on.
      return isMarked && !owner.totp ? `${path} lacks the codes that sign-in needs` : file
    } catch (error) {
      return `${path} cannot be read: ${messageOf(error)}`
    }
  }

  const read = (): File => {
    const stat = statSync(path, { throwIfNoEntry: false })
    const stamp = stampOf(stat)
    if (known?.stamp !== stamp || typeof known.file === 'string') {
      const before = known?.file
      known = { stamp, file: parse(stat) }
      if (typeof known.file === 'string' && before !== known.file) warn(known.file)
    }
    if (typeof known.file === 'string')
      throw unavailable(
        'The passkeys and codes of this server cannot be read, so sign-in is closed. Repair people.json, or run "agent-webui password --reset-factors" in a terminal on the server’s machine.',
        { code: 'factors_unreadable' },
      )
    return known.file
  }

  const ownerOf = (file: File): Person => file.people.find(isOwner) ?? newOwner()

  return {
    /** Throws a 503 while the file cannot be read. */
    owner: (): Person => ownerOf(read()),

    /** On disk first. */
    update(change: Partial<Pick<Person, 'passkeys' | 'totp'>>): void {
      const file = read()
      const next = { ...ownerOf(file), ...change }
      const people = file.people.map(each => (each.id === next.id ? { ...each, ...next } : each))
      known = undefined
      // The marker is removed first and written last: after a kill in between, people.json decides, and the next code restores the marker.
      if (!next.totp) rmSync(mark, { force: true })
      writeAtomic(path, `${JSON.stringify({ ...file, people }, null, 1)}\n`)
      if (next.totp) writeAtomic(mark, 'Sign-in needs a code.\n')
    },

    /** Removes all passkeys and codes, also from a file that cannot be read. */
    reset(): void {
      rmSync(path, { force: true })
      rmSync(mark, { force: true })
      known = undefined
    },
  }
}
