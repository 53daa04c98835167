/** Tool: stores notes for later sessions. */
import { z } from 'zod'
import type { Tool, ToolResult } from '../types.ts'

type Target = 'memory' | 'user'
export type MemoryChange =
  | { action: 'add'; content: string }
  | { action: 'replace'; oldText: string; content: string }
  | { action: 'remove'; oldText: string }

/** The notes of one home. */
export type MemoryStore = {
  /** Enabled targets; never empty. */
  targets: readonly Target[]
  change: (
    target: Target,
    change: MemoryChange,
  ) => Promise<{ success: boolean; usage: string; [key: string]: unknown }>
}

const input = z.object({
  action: z.enum(['add', 'replace', 'remove']),
  target: z
    .enum(['memory', 'user'])
    .describe('memory: your own notes about work and surroundings; user: who the person is.'),
  content: z.string().default('').describe('The entry, for add and replace.'),
  old_text: z
    .string()
    .default('')
    .describe('For replace and remove: a part of the one entry that is meant.'),
})

type Input = z.output<typeof input>

const toChange = ({ action, content, old_text: oldText }: Input): MemoryChange =>
  action === 'add'
    ? { action, content }
    : action === 'replace'
      ? { action, oldText, content }
      : { action, oldText }

const refuse = (error: string): ToolResult => ({
  content: JSON.stringify({ success: false, error }),
  isError: true,
})

export const memoryTool = ({ targets, change }: MemoryStore): Tool<typeof input> => ({
  name: 'memory',
  summary:
    'Keep something for all later conversations: preferences of the person, facts about their surroundings, conventions, lessons learned. Entries are short and self-contained; the notes are small, so replace or remove what is outdated. Not for the progress of the present task. Answers all entries as they stand now.',
  input,
  kind: 'write',
  preview: ({ action, target, content, old_text }) =>
    `${action} ${target}: ${(content || old_text).slice(0, 80)}`,
  async run(_ctx, given) {
    if (!targets.includes(given.target))
      return refuse(`The note "${given.target}" is switched off in this profile.`)
    const answer = await change(given.target, toChange(given))
    return {
      content: JSON.stringify(answer),
      ...(answer.success ? { preview: `${given.action} ${given.target} · ${answer.usage}` } : {}),
      ...(answer.success ? {} : { isError: true }),
    }
  },
})
