/**
 * What a session sends before its messages, so that it is the same after a restart: the system prompt
 * (`<state>/cache/prompts/<session>.json`) and the tools of its MCP servers (`<session>.tools.json`).
 * Not part of the transcript: never exported or shown. Safe to delete; both are rebuilt.
 */
import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { z } from 'zod'
import { messageOf } from '../../errors.ts'
import { errorCode } from '../../store/file-error.ts'
import { replaceText } from '../../store/atomic-write.ts'
import { readWholeText } from '../../store/read-text.ts'

/**
 * `basis` is a digest of the prompt's inputs: another basis means another prompt. `files`: absolute paths of the instruction
 * files in the text; absent in entries of earlier versions.
 */
const CachedPrompt = z.object({
  v: z.literal(1),
  basis: z.string(),
  text: z.string(),
  files: z.array(z.string()).default([]),
})

/** `files`: the instruction files in the text. */
export type BuiltPrompt = { text: string; files: readonly string[] }

/** The tools of MCP servers as they were sent, and our own that were not. `catalog`: see `mcp-tools.ts`. */
const StoredTools = z.object({
  v: z.literal(1),
  basis: z.string(),
  tools: z.array(z.object({ name: z.string(), description: z.string(), parameters: z.json() })),
  catalog: z.string().nullable(),
  deferred: z.array(z.string()).default([]),
})
export type StoredTools = Omit<z.output<typeof StoredTools>, 'v' | 'basis'>

/** A session idle for longer gets a new prompt. */
const MAX_AGE_MS = 14 * 24 * 3_600_000

export class PromptCache {
  readonly #dir: string
  readonly #clock: Clock
  readonly #log: (line: string, extra?: Record<string, unknown>) => void

  constructor(
    dir: string,
    clock: Clock,
    log: (line: string, extra?: Record<string, unknown>) => void,
  ) {
    this.#dir = dir
    this.#clock = clock
    this.#log = log
  }

  /** The cached prompt if its basis matches, else a new one from `build`, which is cached. */
  async getOrBuild(
    sessionId: string,
    basis: string,
    build: () => Promise<BuiltPrompt>,
  ): Promise<BuiltPrompt> {
    const cached = this.#read(CachedPrompt, this.#promptPath(sessionId), basis)
    if (cached) return cached
    const built = await build()
    this.#write(sessionId, this.#promptPath(sessionId), { basis, ...built })
    return built
  }

  /** The instruction files in the session's prompt; empty before its first turn. */
  files(sessionId: string): readonly string[] {
    try {
      return CachedPrompt.parse(JSON.parse(readWholeText(this.#promptPath(sessionId)))).files
    } catch {
      // No prompt yet, or a malformed one, which is rebuilt.
      return []
    }
  }

  /** The tools that were sent; null if there are none for this basis. */
  tools(sessionId: string, basis: string): StoredTools | null {
    return this.#read(StoredTools, this.#toolsPath(sessionId), basis)
  }

  saveTools(sessionId: string, basis: string, sent: StoredTools): void {
    this.#write(sessionId, this.#toolsPath(sessionId), { basis, ...sent })
  }

  delete(sessionId: string): void {
    for (const path of [this.#promptPath(sessionId), this.#toolsPath(sessionId)])
      rmSync(path, { force: true })
  }

  /** Removes entries older than 14 days. */
  sweep(): void {
    try {
      for (const name of readdirSync(this.#dir)) {
        const path = join(this.#dir, name)
        const stat = statSync(path, { throwIfNoEntry: false })
        if (stat && this.#clock.now() - stat.mtimeMs > MAX_AGE_MS) rmSync(path, { force: true })
      }
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
    }
  }

  #promptPath(sessionId: string): string {
    return join(this.#dir, `${sessionId}.json`)
  }

  #toolsPath(sessionId: string): string {
    return join(this.#dir, `${sessionId}.tools.json`)
  }

  /** Null when it is missing, malformed, or for another basis. */
  #read<S extends z.ZodType<{ basis: string }>>(
    schema: S,
    path: string,
    basis: string,
  ): z.output<S> | null {
    try {
      const entry = schema.parse(JSON.parse(readWholeText(path)))
      if (entry.basis !== basis) return null
      this.#touch(path)
      return entry
    } catch {
      // Missing or malformed: rebuild it.
      return null
    }
  }

  /** For the sweep, which goes by the time of the file. */
  #touch(path: string): void {
    const now = toSeconds(this.#clock.now())
    try {
      utimesSync(path, now, now)
    } catch {
      // A read-only disk must not fail the turn.
    }
  }

  #write(sessionId: string, path: string, value: Record<string, unknown>): void {
    try {
      replaceText(path, JSON.stringify({ v: 1, ...value }))
    } catch (error) {
      // A full disk must not fail the turn.
      this.#log('could not cache the prompt of a session', {
        session_id: sessionId,
        error: messageOf(error),
      })
    }
  }
}
