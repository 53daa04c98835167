/** Tool: creates and updates skills. */
import { Refusal } from '../../base/refusal.ts'
import { deniedResult } from '../error-result.ts'
import { z } from 'zod'
import type { Tool, ToolContext } from '../types.ts'
import { applyEdits, planReplacement } from './patch-replace.ts'
import { mayControl } from './allowed-paths.ts'

/** Every method throws an error with a sentence for the model; nothing is written then. */
export type SkillManageStore = {
  create: (given: { name: string; content: string; category: string | null }) => { path: string }
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

/** Words for the approval. */
const VERBS: Partial<Record<Input['action'], string>> = {
  write_file: 'write',
  remove_file: 'delete',
}

type Verb = (given: Input, ctx: ToolContext) => Record<string, unknown>

export const skillManageTool = (store: SkillManageStore): Tool<typeof input> => {
  /** Restores masked secrets from the current file. A new file has none. */
  const revealed = (ctx: ToolContext, edited: string, name: string, file: string | null) => {
    if (!ctx.turn.secrets) return edited
    let stored = ''
    try {
      stored = store.text(name, file)
    } catch {
      // A new file.
    }
    return ctx.turn.secrets.reveal(edited, stored)
  }
  const patchedFile = (given: Input, ctx: ToolContext): string => {
    const { name, file_path } = given
    const file = file_path || null
    return patched(store.text(name, file), {
      ...given,
      old_string: revealed(ctx, given.old_string, name, file),
      new_string: revealed(ctx, given.new_string, name, file),
    })
  }
  const writtenFile = ({ name, file_path, file_content }: Input, ctx: ToolContext): string => {
    need(file_path, 'file_path', 'write_file')
    if (file_content === undefined) throw new Error('file_content is required for write_file.')
    return revealed(ctx, file_content, name, file_path)
  }
  /** The linked file that would change, after all checks that need no approval. */
  const changedFile = (given: Input, ctx: ToolContext): string | null => {
    const { action, name, file_path: file } = given
    switch (action) {
      case 'write_file':
        return store.targetPath(name, file, writtenFile(given, ctx))
      case 'patch':
        return file ? store.targetPath(name, file, patchedFile(given, ctx)) : null
      case 'remove_file':
        return store.targetPath(name, need(file, 'file_path', action), null)
      default:
        return null
    }
  }
  /** Every file that changes. */
  const changedPaths = ({ action, name, category }: Input, linked: string | null): string[] => {
    if (linked !== null) return [linked]
    if (action === 'delete') return store.files(name)
    return [action === 'create' ? store.skillPath(name, category || null) : store.skillPath(name)]
  }
  const verbs: Record<Input['action'], Verb> = {
    create({ name, content: given, category }, ctx) {
      const content = revealed(ctx, need(given, 'content', 'create'), name, null)
      const { path } = store.create({ name, content, category: category || null })
      return { message: `The skill "${name}" was created.`, path }
    },
    edit({ name, content: given }, ctx) {
      const content = revealed(ctx, need(given, 'content', 'edit'), name, null)
      const { path } = store.edit(name, content)
      return { message: `The skill "${name}" was rewritten.`, path }
    },
    patch(given, ctx) {
      const { name, file_path: file } = given
      const text = patchedFile(given, ctx)
      const path = file ? store.writeFile(name, file, text) : store.edit(name, text).path
      return { message: `${file || 'SKILL.md'} of "${name}" was changed.`, path }
    },
    delete({ name }) {
      store.remove(name)
      return { message: `The skill "${name}" was deleted.` }
    },
    write_file(given, ctx) {
      const { name, file_path } = given
      const path = store.writeFile(name, file_path, writtenFile(given, ctx))
      return { message: `${file_path} of "${name}" was written.`, path }
    },
    remove_file({ name, file_path }) {
      store.removeFile(name, need(file_path, 'file_path', 'remove_file'))
      return { message: `${file_path} of "${name}" was removed.` }
    },
  }
  return {
    name: 'skill_manage',
    summary:
      'Create and maintain skills. After a task that took several attempts and will recur, offer to write down how to do it; when a skill is wrong or incomplete, fix it at once. Prefer patch to edit.',
    input,
    kind: 'write',
    preview: ({ action, name, file_path }) =>
      file_path ? `${action} ${name} · ${file_path}` : `${action} ${name}`,
    async run(ctx, given) {
      const fullPath = changedFile(given, ctx)
      const paths = changedPaths(given, fullPath)
      for (const path of paths) {
        const refused = ctx.turn.guards?.write(path) ?? null
        if (refused !== null) throw new Refusal('rule', refused)
      }
      // Scripts of skills run later, so they need the same approval as write_file to that path.
      if (
        fullPath !== null &&
        !(await mayControl(ctx, [fullPath], VERBS[given.action] ?? 'change'))
      )
        return deniedResult('changing this file')
      await ctx.beforeChange?.(paths)
      // Checked again: the path may have become a symlink while the approval was open.
      if (fullPath !== null && changedFile(given, ctx) !== fullPath)
        throw new Error(`${given.file_path} now leads to a different file.`)
      return { content: JSON.stringify({ success: true, ...verbs[given.action](given, ctx) }) }
    },
  }
}
