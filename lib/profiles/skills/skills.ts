/** The skills of a profile: list, read, write, and expand `/slug` messages. */
import { join } from 'node:path'
import { invalid, missing, UserError } from '../../errors.ts'
import type { LinkedFile, Skill, SkillCategory, SkillRow } from '../../schema/skill.ts'
import type { Home } from '../home.ts'
import { callableSkills } from '../slash-commands.ts'
import { AgentSkills } from './agent-skills.ts'
import { SkillFinder, type FoundSkill, skillsRoot } from './finder.ts'
import { descriptionOf, parseFrontMatter } from './front-matter.ts'
import { readLinkedFile } from './linked-files.ts'
import { expandOwnCommand } from './own-commands.ts'
import { type ActiveTools, promptIndex } from './prompt-index.ts'
import { toSkillRow, toSkill, versionOf } from './view.ts'
import { SkillWriter } from './write.ts'
import { readText, readWholeText } from '../../store/read-text.ts'

/** Names are never used as patterns; those that look like one are rejected anyway. */
const GLOB = /[*?[\]]/

const isUsable = ({ enabled, compatible }: FoundSkill): boolean => enabled && compatible

/** The description in a category's DESCRIPTION.md. */
const describeCategory = (home: Home, name: string): string => {
  const { text } = readText(join(skillsRoot(home), name, 'DESCRIPTION.md'))
  // Most have none.
  return text === null ? '' : descriptionOf(parseFrontMatter(text))
}

export class Skills {
  readonly #finder: SkillFinder
  readonly writer: SkillWriter

  constructor(userHome: string) {
    this.#finder = new SkillFinder(userHome)
    this.writer = new SkillWriter(this.#finder)
  }

  /** For the agent's own tools. */
  agent(home: Home): AgentSkills {
    return new AgentSkills(home, this.#finder, this.writer)
  }

  /** Those the agent may use; `all` adds the disabled ones and those for other systems. */
  list(home: Home, { all = false } = {}): SkillRow[] {
    const skills = this.#finder.findAll(home)
    return (all ? skills : skills.filter(isUsable)).map(toSkillRow)
  }

  /** The names that `skills.disabled` may contain. */
  names(home: Home): Set<string> {
    return new Set(this.#finder.findAll(home).flatMap(({ name, dirName }) => [name, dirName]))
  }

  categories(home: Home, rows: readonly SkillRow[]): SkillCategory[] {
    const names = new Set(rows.flatMap(({ category }) => (category === null ? [] : [category])))
    return [...names].map(name => ({ name, description: describeCategory(home, name) }))
  }

  /** What the system prompt lists: the agent loads one when it fits. */
  index(home: Home, active: ActiveTools) {
    return promptIndex(this.#finder.findAll(home), active, name => describeCategory(home, name))
  }

  content(home: Home, name: string): Skill {
    return toSkill(home, this.#require(home, name))
  }

  /** The text of a skill; null when there is none: a scheduled task runs without it. */
  contentIfAny(home: Home, name: string): string | null {
    try {
      return toSkill(home, this.#require(home, name)).content
    } catch (error) {
      if (error instanceof UserError) return null
      throw error
    }
  }

  file(home: Home, name: string, file: string): LinkedFile {
    const linkedFile = readLinkedFile(this.#require(home, name).dir, file)
    return { ...linkedFile, version: versionOf(linkedFile.content) }
  }

  /** A skill's text and directory for the model. Null for a deleted or disabled skill. */
  instructions(home: Home, name: string): string | null {
    const skill = this.#finder.find(home, name)
    return skill && isUsable(skill) ? this.#instructions(skill) : null
  }

  /** `/slug and words` → the text of the command or skill, and the words; any other text as it is. */
  expand(home: Home, text: string): string {
    if (!text.trimStart().startsWith('/')) return text
    const own = expandOwnCommand(home, text)
    if (own !== null) return own
    const match = /^\/([a-z0-9][a-z0-9-]*)(?:\s+([\s\S]*))?$/i.exec(text.trim())
    const slug = match?.[1]?.toLowerCase()
    if (slug === undefined) return text
    const usable = callableSkills(this.#finder.findAll(home).filter(isUsable))
    const target = usable.find(skill => skill.slug === slug)
    const request = match?.[2]?.trim()
    return target ? [this.#instructions(target), request].filter(Boolean).join('\n\n') : text
  }

  #require(home: Home, name: string): FoundSkill {
    if (GLOB.test(name)) throw invalid('Invalid skill name', { code: 'invalid_skill_name' })
    const skill = this.#finder.find(home, name)
    if (!skill) throw missing('Skill not found', { code: 'skill_not_found' })
    return skill
  }

  #instructions(skill: FoundSkill): string {
    const text = readWholeText(join(skill.dir, 'SKILL.md'))
    return `[Skill: ${skill.name}, in ${skill.dir}]\n${text.trim()}`
  }
}
