/** The list of skills for the system prompt: enabled, compatible, and relevant for the available tools. */
import type { FoundSkill } from './finder.ts'
import { agentMetadata, listOfTexts } from './front-matter.ts'

export type Conditions = {
  requiresTools: readonly string[]
  requiresToolsets: readonly string[]
  fallbackForTools: readonly string[]
  fallbackForToolsets: readonly string[]
}

export type ActiveTools = { tools: readonly string[]; toolsets: readonly string[] }

export const conditionsOf = (values: Readonly<Record<string, unknown>>): Conditions => {
  const own = agentMetadata(values)
  return {
    requiresTools: listOfTexts(own.requires_tools),
    requiresToolsets: listOfTexts(own.requires_toolsets),
    fallbackForTools: listOfTexts(own.fallback_for_tools),
    fallbackForToolsets: listOfTexts(own.fallback_for_toolsets),
  }
}

/** All required tools are available, and none of those it replaces. */
const isRelevant = (conditions: Conditions, { tools, toolsets }: ActiveTools): boolean =>
  conditions.requiresTools.every(name => tools.includes(name)) &&
  conditions.requiresToolsets.every(name => toolsets.includes(name)) &&
  !conditions.fallbackForTools.some(name => tools.includes(name)) &&
  !conditions.fallbackForToolsets.some(name => toolsets.includes(name))

/** By category, in the order of `skills`; `describe` returns the description of a category. */
export const promptIndex = (
  skills: readonly FoundSkill[],
  active: ActiveTools,
  describe: (category: string) => string,
) => {
  const visible = skills.filter(
    ({ enabled, compatible, conditions }) =>
      enabled && compatible && isRelevant(conditions, active),
  )
  const categories = new Set(visible.map(({ category }) => category ?? ''))
  return [...categories].map(category => ({
    category,
    description: category === '' ? '' : describe(category),
    skills: visible
      .filter(skill => (skill.category ?? '') === category)
      .map(({ name, description }) => ({ name, description })),
  }))
}
