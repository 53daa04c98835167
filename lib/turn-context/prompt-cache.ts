/**
 * System prompts by session, `<state>/cache/prompts/<session>.json`, so that a session's prompt is the same after a restart.
 * Not part of the transcript: never exported or shown. Safe to delete; prompts are rebuilt.
 */
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { replaceText } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

/**
 * `basis` is a digest of the prompt's inputs: another basis means another prompt. `files`: absolute paths of the instruction
 * files in the text; absent in entries of earlier versions.
 */
const Stored = z.object({
  v: z.literal(1),
  basis: z.string(),
  text: z.string(),
  files: z.array(z.string()).default([]),
})

/** `files`: the instruction files in the text. */
export type BuiltPrompt = { text: string; files: readonly string[] }

/** A session idle for longer gets a new prompt. */
const MAX_AGE_MS = 14 * 24 * 3_600_000

export type PromptCache = ReturnType<typeof createPromptCache>

export const createPromptCache = ({
  dir,
  log,
  nowMs = Date.now,
}: {
  dir: string
  log: (line: string, extra?: Record<string, unknown>) => void
  nowMs?: () => number
}) => {
  const pathOf = (sessionId: string) => join(dir, `${sessionId}.json`)

  const read = (sessionId: string): z.output<typeof Stored> | null => {
    try {
      return Stored.parse(JSON.parse(readWholeText(pathOf(sessionId))))
    } catch {
      // Missing or malformed: rebuild it.
      return null
    }
  }

  return {
    /** The cached prompt if its basis matches, else a new one from `build`, which is cached. */
    async getOrBuild(
      sessionId: string,
      basis: string,
      build: () => Promise<BuiltPrompt>,
    ): Promise<BuiltPrompt> {
      const cached = read(sessionId)
      if (cached?.basis === basis) return cached
      const built = await build()
      try {
        replaceText(pathOf(sessionId), JSON.stringify({ v: 1, basis, ...built }))
      } catch (error) {
        // A full disk must not fail the turn.
        log('could not cache the prompt of a session', {
          session_id: sessionId,
          error: messageOf(error),
        })
      }
      return built
    },
    delete: (sessionId: string): void => rmSync(pathOf(sessionId), { force: true }),
    /** Removes entries older than 14 days. */
    sweep(): void {
      try {
        for (const name of readdirSync(dir)) {
          const path = join(dir, name)
          const stat = statSync(path, { throwIfNoEntry: false })
          if (stat && nowMs() - stat.mtimeMs > MAX_AGE_MS) rmSync(path, { force: true })
        }
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error
      }
    },
  }
}
