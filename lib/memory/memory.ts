/** What the agent remembers of a profile: two curated notes and SOUL.md, written under the lock the command line takes too. */
import { createHash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { conflict, invalid } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import { redact, unredact } from '../redact/redact.ts'
import { type FileLockOptions, withFileLock } from '../store/flock.ts'
import { replaceText } from '../store/atomic-write.ts'
import { readTextBytes, displayText } from '../store/text-bytes.ts'
import { rewriteText } from '../store/text-rewrite.ts'
import { readWhole } from '../store/read-text.ts'

export const SECTIONS = ['memory', 'user', 'soul'] as const
export type Section = (typeof SECTIONS)[number]

export type MemoryHome = Pick<Home, 'dir' | 'settings'>

/** Characters of the text the prompt gets; the agent refuses to add beyond them, a person may. */
const MAX_SOUL_CHARS = 20_000
/** No note; somebody is using the wrong file. */
const MAX_CHARS = 1_000_000
export const LOCK_WAIT_MS = 5_000

const PATHS: Record<Section, readonly string[]> = {
  memory: ['memories', 'MEMORY.md'],
  user: ['memories', 'USER.md'],
  soul: ['SOUL.md'],
}

export type Note = {
  text: string
  path: string
  /** Seconds since 1970; null when there is no such file. */
  mtime: number | null
  /** Differs when the text does. */
  version: string
}

const versionOf = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 16)

/** As `writeNote` takes it back: other encodings and a byte order mark are the file's own business. */
const textOf = (bytes: Buffer): string => {
  const file = readTextBytes(bytes)
  return file ? displayText(file) : bytes.toString('utf8')
}

/** Whole new text; encoding and line ends stay what they were. */
export const writeNote = (path: string, text: string): void =>
  replaceText(path, existsSync(path) ? rewriteText(readWhole(path), text) : text)

export const readNote = (home: MemoryHome, section: Section): Note => {
  const path = join(home.dir, ...PATHS[section])
  const found = statSync(path, { throwIfNoEntry: false })
  // A pipe would never end, a directory is no text.
  if (found && !found.isFile()) throw conflict(`${path} is not a file`)
  const text = found ? textOf(readWhole(path)) : ''
  return { text, path, mtime: found ? found.mtimeMs / 1_000 : null, version: versionOf(text) }
}

export const limitsOf = (home: MemoryHome) => {
  const { memory_char_limit, user_char_limit } = home.settings().memory
  return { memory_char_limit, user_char_limit, soul_char_limit: MAX_SOUL_CHARS }
}

/** Redacted: a credential in a note is shown to nobody, and `writeMemory` puts it back. */
export const readMemory = (home: MemoryHome) => {
  const [memory, user, soul] = SECTIONS.map(section => readNote(home, section)) as [
    Note,
    Note,
    Note,
  ]
  return {
    memory: redact(memory.text),
    user: redact(user.text),
    soul: redact(soul.text),
    memory_path: memory.path,
    user_path: user.path,
    soul_path: soul.path,
    memory_mtime: memory.mtime,
    user_mtime: user.mtime,
    soul_mtime: soul.mtime,
    memory_version: memory.version,
    user_version: user.version,
    soul_version: soul.version,
    ...limitsOf(home),
  }
}

const HEADINGS = {
  memory: 'Your notes from earlier conversations:',
  user: 'What you know of the person you work for:',
} as const
const MAX_PROMPT_CHARS = 20_000

/** What the notes say to the model, as they are; a profile may switch either off, as for the command line. */
export const memoryPrompt = (home: MemoryHome): string => {
  const { memory_enabled, user_profile_enabled } = home.settings().memory
  const promptOf = (section: 'memory' | 'user', isOn: boolean): string => {
    if (!isOn) return ''
    try {
      const text = readNote(home, section).text.trim().slice(0, MAX_PROMPT_CHARS)
      return text === '' ? '' : `${HEADINGS[section]}\n${text}`
    } catch {
      // A note that cannot be read must not keep anybody from asking; the page says what is wrong with it.
      return ''
    }
  }
  return [promptOf('memory', memory_enabled), promptOf('user', user_profile_enabled)]
    .filter(Boolean)
    .join('\n\n')
}

export type Expected = {
  expected_version?: string | undefined
  /** Null: there was no file. */
  expected_mtime?: number | null | undefined
}

const matchesExpected = (now: Note, { expected_version, expected_mtime }: Expected): boolean => {
  if (expected_version !== undefined) return now.version === expected_version
  if (expected_mtime === undefined) return true
  if (expected_mtime === null || now.mtime === null) return expected_mtime === now.mtime
  // Callers may have kept it with fewer digits.
  return Math.abs(now.mtime - expected_mtime) < 0.001
}

/**
 * Replaces one note. Whoever says what they read is refused with 409, and told what stands there now, when it is
 * something else. An empty text is taken only from such a caller: from others it is a forgotten field.
 */
export const writeMemory = async (
  home: MemoryHome,
  { section, content, ...expected }: { section: Section; content: string } & Expected,
  lock: Omit<FileLockOptions, 'timeoutMs'> = {},
): Promise<Note> => {
  if (content.length > MAX_CHARS) throw invalid(`A note has at most ${MAX_CHARS} characters`)
  const { path } = readNote(home, section)
  return withFileLock(`${path}.lock`, { ...lock, timeoutMs: LOCK_WAIT_MS }, () => {
    const now = readNote(home, section)
    if (!matchesExpected(now, expected)) {
      const { version, mtime } = now
      throw conflict('The note was changed meanwhile; look at it before you write over it', {
        code: 'note_changed',
        section,
        content: redact(now.text),
        version,
        mtime,
      })
    }
    const text = unredact(content, now.text)
    if (text !== now.text || now.mtime === null) writeNote(path, text)
    return readNote(home, section)
  })
}
