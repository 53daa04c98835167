/** The agent's notes: MEMORY.md, USER.md and SOUL.md of the profile. */
import { CHANGES } from '../lib/people/may.ts'
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { readMemory, SECTIONS, type Section, writeMemory } from '../lib/profiles/memory/memory.ts'

const Time = z.number().nullable()

export const read = endpoint({
  access: 'work',
  summary: 'The notes of the profile, with versions and size limits',
  output: z.object({
    memory: z.string(),
    user: z.string(),
    soul: z.string(),
    memory_path: z.string(),
    user_path: z.string(),
    soul_path: z.string(),
    memory_mtime: Time,
    user_mtime: Time,
    soul_mtime: Time,
    memory_version: z.string(),
    user_version: z.string(),
    soul_version: z.string(),
    memory_char_limit: z.number(),
    user_char_limit: z.number(),
    soul_char_limit: z.number(),
  }),
  run: ctx => readMemory(ctx.home),
})

const isSection = (text: string): text is Section => SECTIONS.includes(text as Section)

export const write = endpoint({
  access: CHANGES.notes,
  summary: 'Replace a note; 409 when it is no longer the expected version',
  input: z.object({
    section: z.string().min(1),
    content: z.string(),
    expected_version: z.string().optional(),
    expected_mtime: z.number().nullable().optional(),
  }),
  output: z.object({
    ok: z.literal(true),
    section: z.string(),
    path: z.string(),
    mtime: Time,
    version: z.string(),
  }),
  run: async (ctx, { section, content, ...expected }) => {
    if (!isSection(section)) throw invalid('section must be "memory", "user" or "soul"')
    const guarded = expected.expected_version !== undefined || expected.expected_mtime !== undefined
    if (content === '' && !guarded)
      throw invalid('Missing required field(s): content', { code: 'missing_fields' })
    const { path, mtime, version } = await writeMemory(ctx.home, { section, content, ...expected })
    return { ok: true as const, section, path, mtime, version }
  },
})
