/** The skills of a profile: list, read, write, and expand `/slug` messages. */
import { join } from 'node:path'
import { invalid, missing, UserError } from '../../errors.ts'
import type { LinkedFile, OwnCommand, Skill, SkillCategory, SkillRow } from '../../schema/skill.ts'
import { createAgentSkills } from './agent-skills.ts'
import { createFinder, type FoundSkill, type SkillsHome, skillsRoot } from './finder.ts'
import { descriptionOf, parseFrontMatter } from './front-matter.ts'
import { readLinkedFile } from './linked-files.ts'
import { expandOwnCommand, ownCommands } from './own-commands.ts'
import { createOwnFiles } from './own-files.ts'
import { type ActiveTools, promptIndex } from './prompt-index.ts'
import { type SubagentFile, subagentFiles } from './subagent-files.ts'
import { toSkillRow, toSkill, versionOf } from './view.ts'
import { createSkillWriter } from './write.ts'
import { readText, readWholeText } from '../../store/read-text.ts'

export type Skills = ReturnType<typeof createSkills>

/** Names are never used as patterns; those that look like one are rejected anyway. */
const GLOB = /[*?[\]]/

const isUsable = ({ enabled, compatible }: FoundSkill): boolean => enabled && compatible

/** The description in a category's DESCRIPTION.md. */
const describeCategory = (home: SkillsHome, name: string): string => {
  const { text } = readText(join(skillsRoot(home), name, 'DESCRIPTION.md'))
  // Most have none.
  return text === null ? '' : descriptionOf(parseFrontMatter(text))
}

export const createSkills = ({
  callable,
  ...options
}: {
  userHome?: string
  platform?: string
  /** The skills whose slug is not the name of a command. */
  callable: <S extends { slug: string }>(skills: readonly S[]) => S[]
}) => {
  const finder = createFinder(options)
  const writer = createSkillWriter(finder)

  const require = (home: SkillsHome, name: string): FoundSkill => {
    if (GLOB.test(name)) throw invalid('Invalid skill name', { code: 'invalid_skill_name' })
    const found = finder.find(home, name)
    if (!found) throw missing('Skill not found', { code: 'skill_not_found' })
    return found
  }

  const instructions = (found: FoundSkill): string => {
    const text = readWholeText(join(found.dir, 'SKILL.md'))
    return `[Skill: ${found.name}, in ${found.dir}]\n${text.trim()}`
  }

  return {
    save: writer.save,
    saveFile: writer.saveFile,
    remove: writer.remove,
    toggle: writer.toggle,
    /** For the agent's own tools. */
    agent: createAgentSkills(finder, writer),

    /** Those the agent may use; `all` adds the disabled ones and those for other systems. */
    list(home: SkillsHome, { all = false } = {}): SkillRow[] {
      const found = finder.findAll(home)
      return (all ? found : found.filter(isUsable)).map(toSkillRow)
    },
    /** The names that `skills.disabled` may contain. */
    names: (home: SkillsHome): Set<string> =>
      new Set(finder.findAll(home).flatMap(({ name, dirName }) => [name, dirName])),
    categories(home: SkillsHome, rows: readonly SkillRow[]): SkillCategory[] {
      const names = new Set(rows.flatMap(({ category }) => (category === null ? [] : [category])))
      return [...names].map(name => ({ name, description: describeCategory(home, name) }))
    },
    /** What the system prompt lists: the agent loads one when it fits. */
    index: (home: SkillsHome, active: ActiveTools) =>
      promptIndex(finder.findAll(home), active, name => describeCategory(home, name)),
    content: (home: SkillsHome, name: string): Skill => toSkill(home, require(home, name)),
    /** The text of a skill; null when there is none: a scheduled task runs without it. */
    contentIfAny(home: SkillsHome, name: string): string | null {
      try {
        return toSkill(home, require(home, name)).content
      } catch (error) {
        if (error instanceof UserError) return null
        throw error
      }
    },
    file(home: SkillsHome, name: string, file: string): LinkedFile {
      const found = readLinkedFile(require(home, name).dir, file)
      return { ...found, version: versionOf(found.content) }
    },

    /** A skill's text and directory for the model. Null for a deleted or disabled skill. */
    instructions(home: SkillsHome, name: string): string | null {
      const found = finder.find(home, name)
      return found && isUsable(found) ? instructions(found) : null
    },
    /** The files of the user's commands and subagents. */
    own: createOwnFiles({ callable }),
    /** The user's own subagents. */
    subagents: (home: SkillsHome): SubagentFile[] => subagentFiles(home),

    /** The user's own slash commands. One takes precedence over a skill of the same name. */
    commands: (home: SkillsHome): OwnCommand[] => ownCommands(home, callable),

    /** `/slug and words` → the text of the command or skill, and the words; any other text as it is. */
    expand(home: SkillsHome, text: string): string {
      if (!text.trimStart().startsWith('/')) return text
      const own = expandOwnCommand(home, text, callable)
      if (own !== null) return own
      const match = /^\/([a-z0-9][a-z0-9-]*)(?:\s+([\s\S]*))?$/i.exec(text.trim())
      const slug = match?.[1]?.toLowerCase()
      if (slug === undefined) return text
      const usable = callable(finder.findAll(home).filter(isUsable))
      const found = usable.find(skill => skill.slug === slug)
      const asked = match?.[2]?.trim()
      return found ? [instructions(found), asked].filter(Boolean).join('\n\n') : text
    },
  }
}
