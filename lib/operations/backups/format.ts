/** The format of a backup: names in the archive, its first and last entry, and which entries are accepted. */
import { posix } from 'node:path'
import { z } from 'zod'
import { invalid } from '../../errors.ts'
import { PROFILE_NAME } from '../../schema/ids.ts'

/** A reader refuses a newer one. */
export const FORMAT = 1

/** First entry: what the archive is. */
export const HEAD = 'agent-webui-backup.json'
/** Files with keys, as an encrypted archive of its own (age, https://age-encryption.org/v1). */
export const KEYS = 'keys.tar.age'
/** Last entry: a line of JSON for each entry before it. An archive without it is cut off. */
export const MANIFEST = 'manifest.jsonl'

export const Head = z.object({
  program: z.literal('agent-webui'),
  format: z.int().positive(),
  /** Version of the program that wrote it. */
  version: z.string(),
  /** ISO 8601. */
  created_at: z.string(),
  /** `encrypted`: the entry `keys.tar.age` has them. */
  keys: z.enum(['none', 'encrypted']),
  /** Names of the profiles whose homes are in it. */
  profiles: z.array(z.string()),
})
export type Head = z.infer<typeof Head>

export const ManifestLine = z.object({
  path: z.string(),
  type: z.enum(['file', 'directory', 'link']),
  mode: z.int(),
  /** Of a file: bytes of its content. */
  size: z.int().nonnegative().optional(),
  sha256: z.string().optional(),
  /** Of a link. */
  target: z.string().optional(),
  /** The file became shorter while it was read: the entry ends with this many zeros that do not belong to it. */
  padding: z.int().positive().optional(),
  /** The file changed while it was read. */
  changed: z.literal(true).optional(),
  /** Keys in it were replaced; the encrypted part has the original. */
  keys_removed: z.literal(true).optional(),
})
export type ManifestLine = z.infer<typeof ManifestLine>

/** `state`, `home`, `profiles/work`: the directory that an entry belongs to; undefined for any other name. */
export const rootOf = (path: string): string | undefined => {
  const [first, second = ''] = path.split('/')
  if (first === 'state' || first === 'home') return first
  return first === 'profiles' && PROFILE_NAME.test(second) ? `profiles/${second}` : undefined
}

const MAX_PATH_BYTES = 4_096

/** Throws for every name that is not a plain relative path below one of the directories. */
export const checkPath = (path: string): void => {
  const isPlain = path.split('/').every(part => part !== '' && part !== '.' && part !== '..')
  if (
    !isPlain ||
    /[\0\uFFFD]/.test(path) ||
    Buffer.byteLength(path) > MAX_PATH_BYTES ||
    rootOf(path) === undefined
  )
    throw invalid(`This backup has an entry that doesn’t belong in one: ${JSON.stringify(path)}`)
}

const MAX_HOPS = 40

/**
 * Where a link leads, by the links of the archive alone; undefined when that is outside its directory, or when links form a loop.
 * `links`: path → target.
 */
export const followLink = (
  path: string,
  links: ReadonlyMap<string, string>,
): string | undefined => {
  const root = rootOf(path)
  if (root === undefined) return undefined
  const open = path.split('/').reverse()
  const done: string[] = []
  for (let hops = 0; open.length > 0; ) {
    const part = open.pop()
    if (part === undefined || part === '' || part === '.') continue
    if (part === '..') {
      done.pop()
      if (!`${done.join('/')}/`.startsWith(`${root}/`)) return undefined
      continue
    }
    done.push(part)
    const target = links.get(done.join('/'))
    if (target === undefined) continue
    hops += 1
    if (hops > MAX_HOPS || posix.isAbsolute(target) || target === '') return undefined
    done.pop()
    open.push(...target.split('/').reverse())
  }
  const end = done.join('/')
  return `${end}/`.startsWith(`${root}/`) ? end : undefined
}
