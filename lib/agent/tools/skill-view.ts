/** Tool: reads a skill or one of its linked files. */
import { z } from 'zod'
import type { Tool } from '../types.ts'

export type SkillViewStore = {
  /** All data of a skill; throws if it doesn't exist. */
  view: (name: string) => Readonly<Record<string, unknown>> & { name: string }
  file: (
    name: string,
    file: string,
  ) => { content: string; path: string; is_binary: boolean; size: number }
}

const input = z.object({
  name: z.string().trim().min(1).describe('Also NAME in [name](skill:NAME).'),
  file_path: z
    .string()
    .trim()
    .default('')
    .describe('One of linked_files, such as references/api.md.'),
})

const typeOf = (path: string): string => /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''

export const skillViewTool = ({ view, file }: SkillViewStore): Tool<typeof input> => ({
  name: 'skill_view',
  summary:
    'Read the instructions of a skill, its list of files, and which variables or commands it lacks. With file_path, read one of its files.',
  input,
  kind: 'read',
  preview: ({ name, file_path }) => (file_path ? `${name} · ${file_path}` : name),
  run(_ctx, { name, file_path }) {
    if (!file_path) return { content: JSON.stringify({ success: true, ...view(name) }) }
    const { content, path, is_binary, size } = file(name, file_path)
    return {
      content: JSON.stringify({
        success: true,
        name,
        file: path,
        ...(is_binary
          ? { is_binary, size, message: 'The file is not text.' }
          : { content, file_type: typeOf(path) }),
      }),
    }
  },
})
