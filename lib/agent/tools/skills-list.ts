/** Tool: lists skills. */
import { z } from 'zod'
import type { Tool } from '../types.ts'

export type SkillsListStore = {
  list: () => {
    skills: { name: string; description: string; category: string | null }[]
    categories: { name: string; description: string }[]
  }
}

const input = z.object({
  category: z.string().trim().default('').describe('Only the skills of this category.'),
})

export const skillsListTool = ({ list }: SkillsListStore): Tool<typeof input> => ({
  name: 'skills_list',
  summary:
    'List the skills of this profile, which are instructions for recurring tasks. Read one with skill_view before you follow it.',
  input,
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
