/** Operations of the skill tools: view, create, edit, remove. Every text is checked for prompt injection before it is written. */
import { lstatSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { forbidden, invalid, missing } from '../../errors.ts'
import type { Home } from '../home.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import { replaceText } from '../../store/atomic-write.ts'
import { readTextBytes, displayText } from '../../store/text-bytes.ts'
import { rewriteText } from '../../store/text-rewrite.ts'
import { findThreatInCode } from '../../base/prompt-injection.ts'
import { type SkillFinder, type FoundSkill, skillsRoot } from './finder.ts'
import { parseFrontMatter } from './front-matter.ts'
import {
  parseLinkedPath,
  listLinkedFiles,
  readLinkedFile,
  writeLinkedFile,
} from './linked-files.ts'
import { toSkill } from './view.ts'
import {
  checkCategory,
  checkContent,
  checkName,
  type SkillWriter,
  removeEmptyDirs,
  deletePromptSnapshot,
  refuseReadOnly,
} from './write.ts'
import { readWhole } from '../../store/read-text.ts'
import { reportWrite } from '../../store/write-reports.ts'

const MAX_NAMES = 30

/** Called before writing, so nothing has to be rolled back. */
const checkText = (text: string): void => {
  const threat = findThreatInCode(text)
  if (threat) throw forbidden(`Nothing was written: the text contains ${threat}.`)
}

const checkHead = (content: string): void => {
  const { problem } = parseFrontMatter(content)
  if (problem)
    throw invalid(
      `SKILL.md begins with front matter between two lines of ---, with name and description. ${problem}.`,
    )
}

/** The text without encoding and byte order mark; `rewriteText` restores both. */
const shownText = (path: string): string => {
  const file = readTextBytes(readWhole(path))
  if (!file) throw invalid('The file is not text.')
  return displayText(file)
}

/** The skills of one home, for the tools of a turn. */
export class AgentSkills {
  readonly #home: Home
  readonly #finder: SkillFinder
  readonly #writer: SkillWriter

  constructor(home: Home, finder: SkillFinder, writer: SkillWriter) {
    this.#home = home
    this.#finder = finder
    this.#writer = writer
  }

  view(name: string) {
    const skill = this.#require(name)
    return { ...toSkill(this.#home, skill), directory: skill.dir }
  }

  file(name: string, file: string) {
    return this.#readFile(this.#require(name), file)
  }

  /** The text a patch starts from; only of writable skills. */
  text(name: string, file: string | null): string {
    const skill = this.#requireWritable(name)
    if (file === null) return shownText(join(skill.dir, 'SKILL.md'))
    const { content, is_binary } = this.#readFile(skill, file)
    if (is_binary) throw invalid('The file is not text.')
    return content
  }

  create(input: { name: string; content: string; category: string | null }) {
    checkHead(input.content)
    checkText(input.content)
    return this.#writer.save(this.#home, { ...input, create: true })
  }

  /** Replaces SKILL.md; the skill is not moved. */
  edit(name: string, content: string) {
    const skill = this.#requireWritable(name)
    checkHead(content)
    checkText(content)
    const path = join(skill.dir, 'SKILL.md')
    replaceText(path, rewriteText(readWhole(path), checkContent(content, skill.name)))
    deletePromptSnapshot(this.#home)
    return { path }
  }

  remove(name: string): string {
    this.#requireWritable(name)
    return this.#writer.remove(this.#home, name)
  }

  /** The resolved path of a file that may be written with this text, or removed (null). */
  targetPath(name: string, file: string, content: string | null): string {
    const skill = this.#requireWritable(name)
    const parts = parseLinkedPath(file)
    if (content !== null) checkText(content)
    return realPath(join(skill.dir, ...parts))
  }

  /** The resolved path of SKILL.md; of a new skill where `category` is given. */
  skillPath(name: string, category?: string | null): string {
    if (category === undefined) return realPath(join(this.#requireWritable(name).dir, 'SKILL.md'))
    return realPath(
      join(skillsRoot(this.#home), checkCategory(category) ?? '', checkName(name), 'SKILL.md'),
    )
  }

  /** The resolved paths of all files of a skill that may be removed. */
  files(name: string): string[] {
    const { dir } = this.#requireWritable(name)
    return readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => realPath(join(entry.parentPath, entry.name)))
  }

  writeFile(name: string, file: string, content: string): string {
    const skill = this.#requireWritable(name)
    parseLinkedPath(file)
    checkText(content)
    const path = writeLinkedFile(skill.dir, file, content)
    deletePromptSnapshot(this.#home)
    return path
  }

  removeFile(name: string, file: string): void {
    const skill = this.#requireWritable(name)
    const path = join(skill.dir, ...parseLinkedPath(file))
    const there = lstatSync(path, { throwIfNoEntry: false })
    if (!there || there.isDirectory() || !isInside(skill.dir, dirname(path)))
      throw missing('There is no such file in this skill.', {
        available_files: this.#filesOf(skill),
      })
    rmSync(path)
    reportWrite(path)
    removeEmptyDirs(skill.dir, dirname(path))
    deletePromptSnapshot(this.#home)
  }

  #require(name: string): FoundSkill {
    const skill = this.#finder.find(this.#home, name)
    if (skill?.enabled) return skill
    if (skill) throw forbidden(`The skill "${skill.name}" is turned off in this profile.`)
    const names = this.#finder.findAll(this.#home).filter(each => each.enabled && each.compatible)
    throw missing('There is no such skill.', {
      available_skills: names.slice(0, MAX_NAMES).map(each => each.name),
    })
  }

  #requireWritable(name: string): FoundSkill {
    const skill = this.#require(name)
    refuseReadOnly(skill)
    return skill
  }

  #filesOf({ dir }: FoundSkill): string[] {
    return Object.values(listLinkedFiles(dir)).flat()
  }

  #readFile(skill: FoundSkill, file: string) {
    try {
      return readLinkedFile(skill.dir, file)
    } catch {
      // The list of existing files helps the model more than the exact error.
      throw missing('There is no such file in this skill.', {
        available_files: this.#filesOf(skill),
      })
    }
  }
}
