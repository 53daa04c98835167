/**
 * The prompts of sessions, `<state>/cache/prompts/<session>.json`, so that a conversation keeps its own over a restart.
 * They stand beside the transcript, not in it: nobody exports or shows them. Deletable at any time, then built anew.
 */
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { replaceText } from '../store/atomic-write.ts'
import { readWholeText } from '../store/read-text.ts'

/** `basis` tells what the text was made of: another basis, another text. */
const Stored = z.object({ v: z.literal(1), basis: z.string(), text: z.string() })

/** A conversation that rested so long begins with what is true now. */
const KEPT_MS = 14 * 24 * 3_600_000

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
      // Missing, or somebody's edit: it is built anew.
      return null
    }
  }

  return {
    /** The session's prompt if it is still of this basis, else the one `build` gives, kept from now on. */
    getOrBuild(sessionId: string, basis: string, build: () => string): string {
      const kept = read(sessionId)
      if (kept?.basis === basis) return kept.text
      const text = build()
      try {
        replaceText(pathOf(sessionId), JSON.stringify({ v: 1, basis, text }))
      } catch (error) {
        // A full disk costs the cache of a provider, not the turn.
        log('the prompt of a session could not be kept', {
          session_id: sessionId,
          error: messageOf(error),
        })
      }
      return text
    },
    delete: (sessionId: string): void => rmSync(pathOf(sessionId), { force: true }),
    /** Removes what nobody asked for in a long time. */
    sweep(): void {
      try {
        for (const name of readdirSync(dir)) {
          const path = join(dir, name)
          const stat = statSync(path, { throwIfNoEntry: false })
          if (stat && nowMs() - stat.mtimeMs > KEPT_MS) rmSync(path, { force: true })
        }
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error
      }
    },
  }
}
