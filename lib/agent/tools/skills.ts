/** Tools: list skills, and read a skill or one of its linked files. */
import { z } from 'zod'
import type { Tool } from '../types.ts'

type SkillsListStore = {
  list: () => {
    skills: { name: string; description: string; category: string | null }[]
    categories: { name: string; description: string }[]
  }
}

const listInput = z.object({
  category: z.string().trim().default('').describe('Only the skills of this category.'),
})

export const skillsListTool = ({ list }: SkillsListStore): Tool<typeof listInput> => ({
  name: 'skills_list',
  summary:
    'List the skills of this profile, which are instructions for recurring tasks. Read one with skill_view before you follow it.',
  input: listInput,
  kind: 'read',
  preview: ({ category }) => category || 'all',
  run(_ctx, { category }) {
    const { skills, categories } = list()
    const chosen = skills.filter(skill => !category || skill.category === category)
    return {
      preview: `${chosen.length} skills`,
      content: JSON.stringify({
        success: true,
        skills: chosen,
        categories: categories.filter(({ name }) => !category || name === category),
        count: chosen.length,
        ...(chosen.length > 0
          ? { hint: 'Use skill_view with a name to read its instructions.' }
          : { message: category ? 'There are no skills in this category.' : 'No skills yet.' }),
      }),
    }
  },
})

export type SkillViewStore = {
  /** All data of a skill; throws if it doesn't exist. */
  view: (name: string) => Readonly<Record<string, unknown>> & { name: string }
  file: (
    name: string,
    file: string,
  ) => { content: string; path: string; is_binary: boolean; size: number }
}

const viewInput = z.object({
  name: z.string().trim().min(1).describe('Also NAME in [name](skill:NAME).'),
  file_path: z
    .string()
    .trim()
    .default('')
    .describe('One of linked_files, such as references/api.md.'),
})

const typeOf = (path: string): string => /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''

export const skillViewTool = ({ view, file }: SkillViewStore): Tool<typeof viewInput> => ({
  name: 'skill_view',
  summary:
    'Read the instructions of a skill, its list of files, and which variables or commands it lacks. With file_path, read one of its files.',
  input: viewInput,
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
