/** Which files a backup has: what is saved, what is left out because it can be rebuilt, and what is a key. */
import { stateEntry } from '../../store/state-files.ts'

/** One directory to save. */
export type BackupPlace = {
  /** Its name in the archive: `state`, `home`, `profiles/<name>`. */
  root: string
  /** Real path. */
  dir: string
  kind: 'state' | 'home'
}

/**
 * `strip`: saved without the keys in it; the original is a key. `database`: copied by SQLite. `journal`: only appended to, so it
 * is saved up to its last whole line.
 */
export type Treatment = 'save' | 'journal' | 'database' | 'strip' | 'key' | 'skip'

const DATABASE = /\.(?:db|sqlite3?)$/i
/** Parts of a database that SQLite itself reads. */
const DATABASE_PART = /\.(?:db|sqlite3?)-(?:wal|shm|journal)$/i
const UNFINISHED = /(?:\.tmp|\.partial)$/

/** Caches of a home, and what describes running processes. */
const HOME_SKIPPED =
  /^(?:cache|image_cache|audio_cache|document_cache|node|node_modules|gateway\.pid|gateway_state\.json|processes\.json|models_dev_cache\.json|context_length_cache\.yaml|\.skills_prompt_snapshot\.json|\.update_.*|.*\.lock)$/

/** Names of files with keys, directly in a home and in its private home for programs (`home/`). */
const KEY_NAMES =
  /^(?:auth\.json.*|.*(?:oauth|token|secret|credential|password).*|\.netrc|\.pgpass|\.npmrc|\.pypirc|id_[a-z0-9]+|.*\.(?:pem|key|p12|pfx|kdbx))$/i
/** Directories in which everything is a key, in the same places. */
const KEY_DIRS =
  /^(?:mcp-tokens|pairing|whatsapp|\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker|\.config)$/i
/** Anywhere in a home. */
const ENV_FILE = /^\.env(?:\..+)?$/
const ENV_EXAMPLE = /^\.env\.(?:example|sample|template|dist)$/
/** Directories of a home whose `.jsonl` files programs append to. A file elsewhere may end without a line feed. */
const JOURNALS = new Set(['sessions', 'checkpoints', 'cron', 'logs'])

const byName = (name: string, isAppended: boolean): Treatment => {
  if (DATABASE_PART.test(name)) return 'skip'
  if (DATABASE.test(name)) return 'database'
  return isAppended && name.endsWith('.jsonl') ? 'journal' : 'save'
}

const isEnvFile = (name: string): boolean => ENV_FILE.test(name) && !ENV_EXAMPLE.test(name)

/** Of a name that this version does not know: a later one may keep keys there. */
const mayHaveKeys = (part: string): boolean =>
  part.startsWith('.') || KEY_NAMES.test(part) || KEY_DIRS.test(part)

const inState = (parts: readonly string[]): Treatment => {
  const [top = ''] = parts
  const name = parts.at(-1) ?? ''
  const entry = stateEntry(top)
  if (entry === 'work') return isEnvFile(name) ? 'key' : byName(name, false)
  if (entry === 'skip' || UNFINISHED.test(name)) return 'skip'
  if (entry === 'key' || entry === 'strip') return entry
  if (entry === undefined && parts.some(mayHaveKeys)) return 'key'
  return byName(name, entry === 'save')
}

const inHome = (parts: readonly string[]): Treatment => {
  const [top = ''] = parts
  const name = parts.at(-1) ?? ''
  if (HOME_SKIPPED.test(top)) return 'skip'
  if (parts.length === 1 && UNFINISHED.test(name)) return 'skip'
  if (isEnvFile(name)) return 'key'
  // In `home/` at any depth, else directly in the home: a skill may have a folder with such a name.
  const near = top === 'home' ? parts.slice(1) : [top]
  if (near.some(part => KEY_DIRS.test(part))) return 'key'
  if ((top === 'home' || parts.length === 1) && KEY_NAMES.test(name)) return 'key'
  if (parts.length === 1 && /^config\.ya?ml$/.test(name)) return 'strip'
  return byName(name, JOURNALS.has(top))
}

/** `path`: relative to the place, with `/`. A directory is skipped, a key, or entered. */
export const treatmentOf = ({ kind }: BackupPlace, path: string): Treatment =>
  (kind === 'state' ? inState : inHome)(path.split('/'))

/** The entry of the state directory that `path` of an archive belongs to and that this version knows nothing about; null for all others. */
export const unknownEntry = (path: string): string | null => {
  const [root, top = ''] = path.split('/')
  return root === 'state' && stateEntry(top) === undefined ? `state/${top}` : null
}
