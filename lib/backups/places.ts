/** Which files a backup has: what is saved, what is left out because it can be rebuilt, and what is a key. */

/** One directory to save. */
export type Place = {
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

/** Where the agent and people work: every file is theirs, whatever its name. */
const WORK = new Set(['workspace', 'worktrees'])

/** Of the state directory, with the reason in ARCHITECTURE.md (On disk). A file in none of these lists is treated like a key. */
const STATE_SAVED = new Set([
  'sessions',
  'conflicts',
  'live',
  'trash',
  'file-trash',
  'tool-output',
  'grants.json',
  'workspaces.json',
  'projects.json',
  'imports.json',
  'accepted-guards.json',
  'last_workspace.txt',
  'location.json',
  'audit.jsonl',
  'audit.1.jsonl',
  'backups.json',
])
const STATE_KEYS = new Set([
  '.signing_key',
  '.password',
  '.password_set',
  '.second_factor',
  'people.json',
  'auth-sessions.json',
  'accepted-settings.json',
  'api-tokens.json',
  'shares.json',
  'vapid.json',
  'notifications.json',
  'notifications-outbox.json',
  'cells',
])
const STATE_SKIPPED =
  /^(?:cache|incoming|request-keys|updates|instance\..*|cluster\.json|auth(?:-code)?-throttle\.json|.*\.db(?:-\w+)?)$/

/** Caches of a home, and what describes running processes. */
const HOME_SKIPPED =
  /^(?:cache|image_cache|audio_cache|document_cache|bin|node|node_modules|gateway\.pid|gateway_state\.json|processes\.json|models_dev_cache\.json|context_length_cache\.yaml|\.skills_prompt_snapshot\.json|\.update_.*|.*\.lock)$/

/** Names of files with keys, directly in a home and in its private home for programs (`home/`). */
const KEY_NAMES =
  /^(?:auth\.json.*|.*(?:oauth|token|secret|credential).*|\.netrc|\.pgpass|\.npmrc|\.pypirc|id_[a-z0-9]+|.*\.(?:pem|key|p12|pfx|kdbx))$/i
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

const inState = (parts: readonly string[]): Treatment => {
  const [top = ''] = parts
  const name = parts.at(-1) ?? ''
  if (WORK.has(top)) return isEnvFile(name) ? 'key' : byName(name, false)
  if (STATE_SKIPPED.test(top) || UNFINISHED.test(name)) return 'skip'
  if (top === 'settings.json') return 'strip'
  return STATE_SAVED.has(top) ? byName(name, true) : 'key'
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
export const treatmentOf = ({ kind }: Pick<Place, 'kind'>, path: string): Treatment =>
  (kind === 'state' ? inState : inHome)(path.split('/'))

/** The entry of the state directory that `path` of an archive belongs to and that this version knows nothing about; null for all others. */
export const unknownEntry = (path: string): string | null => {
  const [root, top = ''] = path.split('/')
  if (root !== 'state') return null
  const isKnown = WORK.has(top) || STATE_KEYS.has(top) || top === 'settings.json'
  return isKnown || STATE_SAVED.has(top) ? null : `state/${top}`
}
