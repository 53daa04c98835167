/** Writes, removes, enables and disables skills, atomically and only in the profile's own directory. */
import { randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Home } from '../home.ts'
import { asObject, isObject } from '../../base/json.ts'
import { conflict, forbidden, invalid, missing } from '../../errors.ts'
import { unredact } from '../../base/redact/redact.ts'
import { isInside } from '../../store/path-within.ts'
import { replaceText } from '../../store/atomic-write.ts'
import { rewriteText } from '../../store/text-rewrite.ts'
import { type SkillFinder, type FoundSkill, skillsRoot } from './finder.ts'
import {
  descriptionOf,
  MAX_DESCRIPTION_CHARS,
  MAX_NAME_CHARS,
  parseFrontMatter,
  scalarText,
  listOfTexts,
} from './front-matter.ts'
import { parseLinkedPath, readLinkedFile, writeLinkedFile } from './linked-files.ts'
import { requireVersion, versionOf } from './view.ts'
import { readWhole, readWholeText } from '../../store/read-text.ts'
import { reportWrite } from '../../store/write-reports.ts'

const MAX_CONTENT_CHARS = 100_000

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/
/** Categories made by hand have capitals and spaces. */
const CATEGORY = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u
const REMOVED = '.removed-'

export const checkName = (input: string): string => {
  const name = input.trim().toLowerCase().replace(/\s+/g, '-')
  if (!NAME.test(name) || name.includes('..'))
    throw invalid(
      'Invalid skill name: at most 64 lower-case letters, digits, dots, hyphens and underscores.',
      { code: 'invalid_skill_name' },
    )
  return name
}

export const checkCategory = (input: string | null | undefined): string | null => {
  if (input === null) return null
  const category = input?.trim() ?? ''
  if (category !== '' && (!CATEGORY.test(category) || category.includes('..')))
    throw invalid('Invalid category: at most 64 letters, digits, dots, hyphens and underscores.', {
      code: 'invalid_category',
    })
  return category
}

/** Validates SKILL.md as the host agent does; text without front matter gets one with its first line as description. */
export const checkContent = (text: string, name: string): string => {
  const matter = parseFrontMatter(text)
  if (matter.body.trim() === '')
    throw invalid('A skill needs a text after its front matter', { code: 'skill_empty' })
  const hasHead = /^\uFEFF?---[ \t]*\r?\n/.test(text)
  const description = hasHead
    ? scalarText(matter.values.description)
    : descriptionOf(matter) || name
  const content = hasHead
    ? text
    : `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n\n${text}`
  if (hasHead) {
    if (matter.problem)
      throw invalid(`The skill was not saved. ${matter.problem}`, {
        code: 'front_matter_invalid',
        values: { problem: matter.problem },
      })
    if (!scalarText(matter.values.name))
      throw invalid('The front matter needs a name', { code: 'skill_needs_fields' })
    if (!description)
      throw invalid('The front matter needs a description', { code: 'skill_needs_fields' })
    if ([...scalarText(matter.values.name)].length > MAX_NAME_CHARS)
      throw invalid(`The name in the front matter has more than ${MAX_NAME_CHARS} characters`, {
        code: 'name_too_long',
        values: { max: MAX_NAME_CHARS },
      })
    if ([...description].length > MAX_DESCRIPTION_CHARS)
      throw invalid(`The description has more than ${MAX_DESCRIPTION_CHARS} characters`, {
        code: 'description_too_long',
        values: { max: MAX_DESCRIPTION_CHARS },
      })
  }
  if ([...content].length > MAX_CONTENT_CHARS)
    throw invalid(`A skill has at most ${MAX_CONTENT_CHARS.toLocaleString('en')} characters`, {
      code: 'text_too_long',
      values: { max: MAX_CONTENT_CHARS },
    })
  return content
}

/** Deletes the host agent's cached index of skills, which is out of date after a change. */
export const deletePromptSnapshot = (home: Home): void =>
  rmSync(join(home.dir, '.skills_prompt_snapshot.json'), { force: true })

export const refuseReadOnly = (skill: FoundSkill): void => {
  if (skill.readOnly)
    throw forbidden(`"${skill.name}" is in a directory outside this profile and is read-only`, {
      code: 'skill_read_only',
      values: { name: skill.name },
    })
}

/** Removes empty category directories. */
export const removeEmptyDirs = (root: string, dir: string): void => {
  for (let at = dir; at !== root && isInside(root, at); at = dirname(at)) {
    try {
      rmdirSync(at)
    } catch {
      // Not empty.
      return
    }
  }
}

/** Removes what a killed process had started to remove. */
const sweep = (root: string): void => {
  for (const name of readdirSync(root)) {
    if (name.startsWith(REMOVED)) rmSync(join(root, name), { recursive: true, force: true })
  }
}

export type SkillText = {
  name: string
  content: string
  /** Absent or blank: none for a new skill, unchanged for an existing one. Null: none. */
  category?: string | null | undefined
  /** The version that was read: a change since then is a conflict. */
  expected_version?: string | undefined
  /** With `create`, a name that exists is a conflict. */
  create?: boolean | undefined
}

export type SkillFile = {
  name: string
  /** Below one of the four folders for files. */
  file: string
  content: string
  expected_version?: string | undefined
}

export class SkillWriter {
  readonly #finder: SkillFinder

  constructor(finder: SkillFinder) {
    this.#finder = finder
  }

  /** Masked secrets that come back unchanged are restored. */
  save(home: Home, input: SkillText): { name: string; path: string; version: string } {
    const name = checkName(input.name)
    const category = checkCategory(input.category)
    const content = checkContent(input.content, name)
    const skill = this.#finder.find(home, input.name) ?? this.#finder.find(home, name)
    if (skill && input.create)
      throw conflict(`There is already a skill "${skill.name}"`, {
        code: 'skill_exists',
        values: { name: skill.name },
      })
    if (!skill && input.expected_version !== undefined)
      throw conflict('The skill has been deleted since you opened it.', { code: 'skill_deleted' })
    const root = skillsRoot(home)
    if (skill) {
      refuseReadOnly(skill)
      requireVersion(
        readWholeText(join(skill.dir, 'SKILL.md')),
        input.expected_version,
        'skill_changed',
      )
    }
    const dir = skill
      ? this.#moveToCategory(home, skill, category)
      : join(root, category ?? '', name)
    const path = join(dir, 'SKILL.md')
    // The category may be a symlink out of the profile.
    if (!isInside(root, path)) throw invalid('Invalid skill path', { code: 'invalid_category' })
    const text = skill ? unredact(content, readWholeText(path)) : content
    replaceText(path, skill ? rewriteText(readWhole(path), text) : text)
    deletePromptSnapshot(home)
    return { name: skill ? skill.dirName : name, path, version: versionOf(text) }
  }

  saveFile(home: Home, input: SkillFile): { name: string; path: string; version: string } {
    const { file, expected_version: expected } = input
    const skill = this.#requireSkill(home, input.name)
    refuseReadOnly(skill)
    const original = this.#storedFile(skill, file)
    if (expected !== undefined && original === null)
      throw conflict('The file has been deleted since you opened it.', { code: 'skill_deleted' })
    requireVersion(original ?? '', expected, 'skill_changed')
    const content = unredact(input.content, original ?? '')
    const path = writeLinkedFile(skill.dir, file, content)
    deletePromptSnapshot(home)
    return { name: skill.dirName, path, version: versionOf(content) }
  }

  /** Renames the directory, so that it disappears in one step, then deletes it. */
  remove(home: Home, name: string): string {
    const skill = this.#requireSkill(home, name)
    refuseReadOnly(skill)
    const aside = join(skill.root, `${REMOVED}${randomBytes(6).toString('hex')}`)
    renameSync(skill.dir, aside)
    reportWrite(skill.dir)
    deletePromptSnapshot(home)
    sweep(skill.root)
    removeEmptyDirs(skill.root, dirname(skill.dir))
    return skill.name
  }

  toggle(home: Home, name: string, enabled: boolean): string {
    const skill = this.#requireSkill(home, name)
    const { skills } = home.configFile.read()
    const { disabled, platform_disabled } = asObject(skills)
    const own = isObject(platform_disabled) ? platform_disabled.cli : undefined
    const without = (list: unknown) =>
      listOfTexts(list).filter(one => one !== skill.name && one !== skill.dirName)
    const rest = without(disabled)
    home.configFile.editAll([
      [['skills', 'disabled'], enabled ? rest : [...rest, skill.name]],
      ...(enabled && own !== undefined
        ? [[['skills', 'platform_disabled', 'cli'], without(own)] as const]
        : []),
    ])
    deletePromptSnapshot(home)
    return skill.name
  }

  #requireSkill(home: Home, name: string): FoundSkill {
    const skill = this.#finder.find(home, name)
    if (!skill) throw missing('Skill not found', { code: 'skill_not_found' })
    return skill
  }

  /** Moves the skill when the category changes; returns its directory. */
  #moveToCategory(home: Home, skill: FoundSkill, category: string | null): string {
    if (category === '' || category === skill.category) return skill.dir
    const to = join(skillsRoot(home), category ?? '', skill.dirName)
    if (lstatSync(to, { throwIfNoEntry: false }))
      throw conflict(`There is already a "${skill.dirName}" there`, {
        code: 'skill_exists',
        values: { name: skill.dirName },
      })
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
    if (!isInside(skillsRoot(home), dirname(to)))
      throw invalid('Invalid skill path', { code: 'invalid_category' })
    renameSync(skill.dir, to)
    for (const path of [skill.dir, to]) reportWrite(path)
    removeEmptyDirs(skillsRoot(home), dirname(skill.dir))
    return to
  }

  /** Null: there is no such file. */
  #storedFile({ dir }: FoundSkill, file: string): string | null {
    return lstatSync(join(dir, ...parseLinkedPath(file)), { throwIfNoEntry: false })?.isFile()
      ? readLinkedFile(dir, file).content
      : null
  }
}
