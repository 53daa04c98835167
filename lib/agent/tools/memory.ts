/** Tool: stores notes for later sessions. */
import { z } from 'zod'
import { invalid } from '../../errors.ts'
import type { Tool } from '../types.ts'

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
    .describe('memory: your notes about work and environment; user: who the user is.'),
  content: z.string().default('').describe('The entry, for add and replace.'),
  old_text: z
    .string()
    .default('')
    .describe('For replace and remove: text that only this entry contains.'),
})

type Input = z.output<typeof input>

const toChange = ({ action, content, old_text: oldText }: Input): MemoryChange =>
  action === 'add'
    ? { action, content }
    : action === 'replace'
      ? { action, oldText, content }
      : { action, oldText }

export const memoryTool = ({ targets, change }: MemoryStore): Tool<typeof input> => ({
  name: 'memory',
  summary:
    'Save something for all later conversations: preferences of the user, facts about their environment, conventions, lessons learned. Keep entries short and self-contained; space is limited, so replace or remove outdated ones. No secrets, and nothing about the progress of the current task. Returns all current entries.',
  input,
  kind: 'write',
  preview: ({ action, target, content, old_text }) =>
    `${action} ${target}: ${(content || old_text).slice(0, 80)}`,
  async run(_ctx, args) {
    if (!targets.includes(args.target))
      throw invalid(`The note "${args.target}" is switched off in this profile.`)
    const answer = await change(args.target, toChange(args))
    return {
      content: JSON.stringify(answer),
      ...(answer.success ? { preview: `${args.action} ${args.target} · ${answer.usage}` } : {}),
      ...(answer.success ? {} : { isError: true }),
    }
  },
})
