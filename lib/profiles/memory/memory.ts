/** The notes of a profile (MEMORY.md, USER.md, SOUL.md), written under the file lock that the host agent uses too. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../../base/sha256.ts'
import { toSeconds } from '../../base/clock.ts'
import { conflict, invalid } from '../../errors.ts'
import type { ProfileConfig } from '../config.ts'
import { redact, unredact } from '../../base/redact/redact.ts'
import { withFileLock } from '../../store/flock.ts'
import { replaceText } from '../../store/atomic-write.ts'
import { readTextBytes, displayText } from '../../store/text-bytes.ts'
import { rewriteText } from '../../store/text-rewrite.ts'
import { readWhole } from '../../store/read-text.ts'

export const SECTIONS = ['memory', 'user', 'soul'] as const
export type Section = (typeof SECTIONS)[number]

export type MemoryHome = { dir: string; config(): ProfileConfig }

/** Limits in characters for what the agent adds. A person may write more. */
const MAX_SOUL_CHARS = 20_000
/** Larger files are not notes. */
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

const versionOf = (text: string): string => sha256(text).slice(0, 16)

/** The text without encoding and byte order mark; `writeNote` restores both. */
const textOf = (bytes: Buffer): string => {
  const file = readTextBytes(bytes)
  return file ? displayText(file) : bytes.toString('utf8')
}

/** Replaces the text; encoding and line endings are kept. */
export const writeNote = (path: string, text: string): void =>
  replaceText(path, existsSync(path) ? rewriteText(readWhole(path), text) : text)

export const readNote = (home: MemoryHome, section: Section): Note => {
  const path = join(home.dir, ...PATHS[section])
  const stats = statSync(path, { throwIfNoEntry: false })
  // Reading a named pipe would block.
  if (stats && !stats.isFile()) throw conflict(`${path} is not a file`, { code: 'special_file' })
  const text = stats ? textOf(readWhole(path)) : ''
  return { text, path, mtime: stats ? toSeconds(stats.mtimeMs) : null, version: versionOf(text) }
}

export const limitsOf = (home: MemoryHome) => {
  const { memory_char_limit, user_char_limit } = home.config().memory
  return { memory_char_limit, user_char_limit, soul_char_limit: MAX_SOUL_CHARS }
}

/** Credentials are masked; `writeMemory` restores them. */
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

/** The notes for the system prompt, not masked. A profile can turn off either note. */
export const memoryPrompt = (home: MemoryHome): string => {
  const { memory_enabled, user_profile_enabled } = home.config().memory
  const promptOf = (section: 'memory' | 'user', isOn: boolean): string => {
    if (!isOn) return ''
    try {
      const text = readNote(home, section).text.trim().slice(0, MAX_PROMPT_CHARS)
      return text === '' ? '' : `${HEADINGS[section]}\n${text}`
    } catch {
      // An unreadable note must not prevent a turn; the page reports it.
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
  // Clients may round it.
  return Math.abs(now.mtime - expected_mtime) < 0.001
}

/**
 * Replaces one note. A version or time that does not match is a conflict (409) with the current text. Handlers accept an
 * empty text only together with one of them: otherwise it is a forgotten field.
 */
export const writeMemory = async (
  home: MemoryHome,
  { section, content, ...expected }: { section: Section; content: string } & Expected,
): Promise<Note> => {
  if (content.length > MAX_CHARS)
    throw invalid(`A note has at most ${MAX_CHARS} characters`, {
      code: 'text_too_long',
      values: { max: MAX_CHARS },
    })
  const { path } = readNote(home, section)
  return withFileLock(`${path}.lock`, { timeoutMs: LOCK_WAIT_MS }, () => {
    const now = readNote(home, section)
    if (!matchesExpected(now, expected)) {
      const { version, mtime } = now
      throw conflict(
        'The note has changed since you opened it. Review it before you overwrite it.',
        {
          code: 'note_changed',
          section,
          content: redact(now.text),
          version,
          mtime,
        },
      )
    }
    const text = unredact(content, now.text)
    if (text !== now.text || now.mtime === null) writeNote(path, text)
    return readNote(home, section)
  })
}
