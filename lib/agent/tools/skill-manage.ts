/** Tool: creates and updates skills. */
import { Refusal } from '../../base/refusal.ts'
import { deniedResult } from '../error-result.ts'
import { z } from 'zod'
import type { Tool, ToolContext } from '../types.ts'
import { applyEdits, planReplacement } from './patch-replace.ts'
import { mayControl } from './allowed-paths.ts'

/** Every method throws an error with a sentence for the model; nothing is written then. */
export type SkillManageStore = {
  create: (skill: { name: string; content: string; category: string | null }) => { path: string }
  edit: (name: string, content: string) => { path: string }
  /** Null means SKILL.md. */
  text: (name: string, file: string | null) => string
  remove: (name: string) => unknown
  writeFile: (name: string, file: string, content: string) => string
  removeFile: (name: string, file: string) => void
  /** The real path of a linked file that may be written with this content, or removed (null). */
  targetPath: (name: string, file: string, content: string | null) => string
  /** The real path of SKILL.md; of a new skill where `category` is given. */
  skillPath: (name: string, category?: string | null) => string
  /** The real paths of all files of a skill. */
  files: (name: string) => string[]
}

const input = z.object({
  action: z.enum(['create', 'patch', 'edit', 'delete', 'write_file', 'remove_file']),
  name: z
    .string()
    .trim()
    .min(1)
    .describe('Lower-case letters, digits, hyphens; at most 64 characters.'),
  content: z
    .string()
    .default('')
    .describe(
      'For create and edit: the whole SKILL.md, which is front matter (name, description) between lines of ---, then the instructions.',
    ),
  old_string: z.string().default('').describe('For patch: the text to replace; must be unique.'),
  new_string: z.string().default('').describe('For patch: the replacement.'),
  replace_all: z.boolean().default(false),
  category: z.string().trim().default('').describe('For create: its folder.'),
  file_path: z
    .string()
    .trim()
    .default('')
    .describe(
      'For write_file, remove_file, and a patch of a file other than SKILL.md: in references/, templates/, scripts/, or assets/.',
    ),
  file_content: z.string().optional().describe('For write_file.'),
})

type Input = z.output<typeof input>

const need = (value: string, name: string, action: string): string => {
  if (!value.trim()) throw new Error(`${name} is required for ${action}.`)
  return value
}

const patched = (text: string, { old_string, new_string, replace_all }: Input): string => {
  need(old_string, 'old_string', 'patch')
  return applyEdits(
    text,
    planReplacement(text, {
      old: old_string,
      fresh: new_string,
      all: replace_all,
      name: 'the file',
    }),
  )
}

/** A checked change: what it does when it is applied, which returns the path that the result names. */
type SkillChange = {
  /** Real paths of every file that changes. */
  paths: string[]
  /** The linked file that changes. Scripts of skills run later, so they need the same approval as write_file to that path. */
  linked?: { path: string; verb: 'write' | 'change' | 'delete' }
  message: string
  apply: () => string | undefined
}

/** Restores masked secrets from the current file. A new file has none. */
const revealed = (
  store: SkillManageStore,
  { turn: { secrets } }: ToolContext,
  { edited, name, file }: { edited: string; name: string; file: string | null },
): string => {
  if (!secrets) return edited
  let text = ''
  try {
    text = store.text(name, file)
  } catch {
    // A new file.
  }
  return secrets.reveal(edited, text)
}

const planChange = (store: SkillManageStore, args: Input, ctx: ToolContext): SkillChange => {
  const { action, name, category, file_path: file } = args
  const reveal = (edited: string, of: string | null = null) =>
    revealed(store, ctx, { edited, name, file: of })
  switch (action) {
    case 'create': {
      const content = reveal(need(args.content, 'content', action))
      const skill = { name, content, category: category || null }
      return {
        paths: [store.skillPath(name, skill.category)],
        message: `The skill "${name}" was created.`,
        apply: () => store.create(skill).path,
      }
    }
    case 'edit': {
      const content = reveal(need(args.content, 'content', action))
      return {
        paths: [store.skillPath(name)],
        message: `The skill "${name}" was rewritten.`,
        apply: () => store.edit(name, content).path,
      }
    }
    case 'patch': {
      const of = file || null
      const text = patched(store.text(name, of), {
        ...args,
        old_string: reveal(args.old_string, of),
        new_string: reveal(args.new_string, of),
      })
      const path = file ? store.targetPath(name, file, text) : store.skillPath(name)
      return {
        paths: [path],
        ...(file && { linked: { path, verb: 'change' } }),
        message: `${file || 'SKILL.md'} of "${name}" was changed.`,
        apply: () => (file ? store.writeFile(name, file, text) : store.edit(name, text).path),
      }
    }
    case 'delete':
      return {
        paths: store.files(name),
        message: `The skill "${name}" was deleted.`,
        apply: () => void store.remove(name),
      }
    case 'write_file': {
      need(file, 'file_path', action)
      if (args.file_content === undefined)
        throw new Error('file_content is required for write_file.')
      const text = reveal(args.file_content, file)
      const path = store.targetPath(name, file, text)
      return {
        paths: [path],
        linked: { path, verb: 'write' },
        message: `${file} of "${name}" was written.`,
        apply: () => store.writeFile(name, file, text),
      }
    }
    case 'remove_file': {
      const path = store.targetPath(name, need(file, 'file_path', action), null)
      return {
        paths: [path],
        linked: { path, verb: 'delete' },
        message: `${file} of "${name}" was removed.`,
        apply: () => void store.removeFile(name, file),
      }
    }
  }
}

export const skillManageTool = (store: SkillManageStore): Tool<typeof input> => ({
  name: 'skill_manage',
  summary:
    'Create and maintain skills. After a task that took several attempts and will recur, offer to write down how to do it; when a skill is wrong or incomplete, fix it at once. Prefer patch to edit.',
  input,
  kind: 'write',
  preview: ({ action, name, file_path }) =>
    file_path ? `${action} ${name} · ${file_path}` : `${action} ${name}`,
  async run(ctx, args) {
    const { paths, linked } = planChange(store, args, ctx)
    for (const path of paths) {
      const denial = ctx.turn.guards?.write(path) ?? null
      if (denial !== null) throw new Refusal('rule', denial)
    }
    if (linked && !(await mayControl(ctx, [linked.path], linked.verb)))
      return deniedResult('changing this file')
    await ctx.beforeChange?.(paths)
    // Planned again: the path may have become a symlink while the approval was open.
    const now = planChange(store, args, ctx)
    if (now.linked?.path !== linked?.path)
      throw new Error(`${args.file_path} now leads to a different file.`)
    const path = now.apply()
    const { message } = now
    return {
      content: JSON.stringify({ success: true, message, ...(path !== undefined && { path }) }),
    }
  },
})
