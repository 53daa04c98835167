/** What the model is told before the conversation: gathered from the home, written by the engine's prompt. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemPrompt } from '../agent/prompt.ts'
import type { Home } from '../profiles/home.ts'
import type { TurnPlace } from './place.ts'

export type PromptDeps = {
  /** The active personality's text; empty when there is none or it has gone from the configuration. */
  personality: (home: Home, name: string | null) => string
  /** What the home's notes say. */
  memory: (home: Home) => string
}

const readIfThere = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')

export const createPrompting =
  ({ personality, memory }: PromptDeps) =>
  ({ turn, home, workspace, meta, unattended }: TurnPlace): string =>
    systemPrompt({
      soul: readIfThere(join(home.dir, 'SOUL.md')),
      workspace,
      memory: unattended ? '' : memory(home),
      personality: personality(home, meta.personality ?? null),
      now: new Date(turn.startedAt * 1_000),
      ...(unattended ? { occasion: unattended.preamble } : {}),
    })
