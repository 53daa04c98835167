/** Skills of the profile: list, read, edit, enable and delete them. */
import { CHANGES } from '../lib/people/may.ts'
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { redactValue } from '../lib/base/redact/redact.ts'
import { Ok } from '../lib/schema/ok.ts'
import { LinkedFile, Skill, SkillCategory, SkillRow } from '../lib/schema/skill.ts'
import { toBoolean } from '../lib/profiles/settings.ts'

export const list = endpoint({
  access: 'read',
  summary: 'Enabled skills by category and name; `all` includes disabled ones',
  input: z.object({ all: z.string().default('0') }),
  output: z.object({ skills: z.array(SkillRow), categories: z.array(SkillCategory) }),
  run(ctx, { all }) {
    const rows = ctx.app.skills.list(ctx.home, { all: toBoolean(all) })
    return redactValue({ skills: rows, categories: ctx.app.skills.categories(ctx.home, rows) })
  },
})

export const content = endpoint({
  access: 'read',
  summary: 'A skill with its file names, or one of its files',
  input: z.object({ name: z.string().default(''), file: z.string().optional() }),
  output: z.union([Skill, LinkedFile]),
  run(ctx, { name, file }) {
    if (!name) throw invalid('name required', { code: 'missing_fields' })
    return file === undefined
      ? redactValue(ctx.app.skills.content(ctx.home, name))
      : redactValue(ctx.app.skills.file(ctx.home, name, file))
  },
})

export const save = endpoint({
  access: CHANGES.skills,
  summary: 'Save a skill or one of its files',
  input: z.object({
    name: z.string().min(1),
    content: z.string().min(1),
    category: z.string().nullish(),
    expected_version: z.string().optional(),
    create: z.boolean().optional(),
    /** A file of an existing skill, in references/, templates/, assets/ or scripts/. */
    file: z.string().min(1).optional(),
  }),
  output: Ok.extend({ name: z.string(), path: z.string(), version: z.string() }),
  run(ctx, { file, ...text }) {
    const { writer } = ctx.app.skills
    const result =
      file === undefined
        ? writer.save(ctx.home, text)
        : writer.saveFile(ctx.home, { ...text, file })
    return { ok: true as const, ...result }
  },
})

export const remove = endpoint({
  access: CHANGES.skills,
  summary: 'Delete a skill with all its files',
  input: z.object({ name: z.string().min(1) }),
  output: Ok.extend({ name: z.string() }),
  run: (ctx, { name }) => ({
    ok: true as const,
    name: ctx.app.skills.writer.remove(ctx.home, name),
  }),
})

export const toggle = endpoint({
  access: CHANGES.skills,
  summary: 'Enable or disable a skill',
  input: z.object({ name: z.string().min(1), enabled: z.unknown() }),
  output: Ok.extend({ name: z.string(), enabled: z.boolean() }),
  run(ctx, { name, enabled }) {
    if (enabled === undefined || enabled === null)
      throw invalid('Missing required field(s): enabled', { code: 'missing_fields' })
    const on = toBoolean(enabled)
    return {
      ok: true as const,
      name: ctx.app.skills.writer.toggle(ctx.home, name, on),
      enabled: on,
    }
  },
})
