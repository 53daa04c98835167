/** Tool: reads a skill or one of its linked files. */
import { z } from 'zod'
import type { Tool } from '../types.ts'
import { withUserErrors } from './error-result.ts'

export type SkillViewStore = {
  /** All data of a skill; throws if it doesn't exist. */
  view: (name: string) => Readonly<Record<string, unknown>> & { name: string }
  file: (
    name: string,
    file: string,
  ) => { content: string; path: string; is_binary: boolean; size: number }
}

const input = z.object({
  name: z.string().trim().min(1),
  file_path: z
    .string()
    .trim()
    .default('')
    .describe('A file of linked_files, for example references/api.md.'),
})

const typeOf = (path: string): string => /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''

export const skillViewTool = ({ view, file }: SkillViewStore): Tool<typeof input> => ({
  name: 'skill_view',
  summary:
    'Read the instructions of a skill, with the files that belong to it and what is missing to use it (variables, commands). With file_path one of those files.',
  input,
  kind: 'read',
  preview: ({ name, file_path }) => (file_path ? `${name} · ${file_path}` : name),
  run: withUserErrors((_ctx, { name, file_path }) => {
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
  }),
})
