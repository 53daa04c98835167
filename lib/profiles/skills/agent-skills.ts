/** Operations of the skill tools: view, create, edit, remove. Every text is checked for prompt injection before it is written. */
import { lstatSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { forbidden, invalid, missing } from '../../errors.ts'
import { isInside, realPath } from '../../store/path-within.ts'
import { replaceText } from '../../store/atomic-write.ts'
import { readTextBytes, displayText } from '../../store/text-bytes.ts'
import { rewriteText } from '../../store/text-rewrite.ts'
import { findThreatInCode } from '../../base/prompt-injection.ts'
import { type SkillFinder, type FoundSkill, type SkillsHome, skillsRoot } from './finder.ts'
import { parseFrontMatter } from './front-matter.ts'
import {
  parseLinkedPath,
  listLinkedFiles,
  readLinkedFile,
  writeLinkedFile,
} from './linked-files.ts'
import { toSkill } from './view.ts'
import {
  checkContent,
  type SkillWriter,
  removeEmptyDirs,
  deletePromptSnapshot,
  refuseReadOnly,
} from './write.ts'
import { readWhole } from '../../store/read-text.ts'
import { reportWrite } from '../../store/write-reports.ts'

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/
const MAX_NAMES = 30

/** Called before writing, so nothing has to be rolled back. */
const checkText = (text: string): void => {
  const threat = findThreatInCode(text)
  if (threat) throw forbidden(`Nothing was written: the text contains ${threat}.`)
}

const checkName = (name: string, what: string): void => {
  if (!NAME.test(name) || name.includes('..'))
    throw invalid(
      `Invalid ${what}: at most 64 lower-case letters, digits, dots, hyphens and underscores.`,
    )
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

export class AgentSkills {
  readonly #finder: SkillFinder
  readonly #writer: SkillWriter

  constructor(finder: SkillFinder, writer: SkillWriter) {
    this.#finder = finder
    this.#writer = writer
  }

  view(home: SkillsHome, name: string) {
    const found = this.#require(home, name)
    return { ...toSkill(home, found), directory: found.dir }
  }

  file(home: SkillsHome, name: string, file: string) {
    return this.#readFile(this.#require(home, name), file)
  }

  /** The text a patch starts from; only of writable skills. */
  text(home: SkillsHome, name: string, file: string | null): string {
    const found = this.#requireWritable(home, name)
    if (file === null) return shownText(join(found.dir, 'SKILL.md'))
    const { content, is_binary } = this.#readFile(found, file)
    if (is_binary) throw invalid('The file is not text.')
    return content
  }

  create(home: SkillsHome, given: { name: string; content: string; category: string | null }) {
    checkName(given.name, 'skill name')
    if (given.category !== null) checkName(given.category, 'category')
    checkHead(given.content)
    checkText(given.content)
    return this.#writer.save(home, { ...given, create: true })
  }

  /** Replaces SKILL.md; the skill is not moved. */
  edit(home: SkillsHome, name: string, content: string) {
    const found = this.#requireWritable(home, name)
    checkHead(content)
    checkText(content)
    const path = join(found.dir, 'SKILL.md')
    replaceText(path, rewriteText(readWhole(path), checkContent(content, found.name)))
    deletePromptSnapshot(home)
    return { path }
  }

  remove(home: SkillsHome, name: string): string {
    this.#requireWritable(home, name)
    return this.#writer.remove(home, name)
  }

  /** The resolved path of a file that may be written with this text, or removed (null). */
  resolveFile(home: SkillsHome, name: string, file: string, content: string | null): string {
    const found = this.#requireWritable(home, name)
    const parts = parseLinkedPath(file)
    if (content !== null) checkText(content)
    return realPath(join(found.dir, ...parts))
  }

  /** The resolved path of SKILL.md; of a new skill where `category` is given. */
  skillPath(home: SkillsHome, name: string, category?: string | null): string {
    if (category === undefined)
      return realPath(join(this.#requireWritable(home, name).dir, 'SKILL.md'))
    checkName(name, 'skill name')
    if (category !== null) checkName(category, 'category')
    return realPath(join(skillsRoot(home), category ?? '', name, 'SKILL.md'))
  }

  /** The resolved paths of all files of a skill that may be removed. */
  files(home: SkillsHome, name: string): string[] {
    const { dir } = this.#requireWritable(home, name)
    return readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => realPath(join(entry.parentPath, entry.name)))
  }

  writeFile(home: SkillsHome, name: string, file: string, content: string): string {
    const found = this.#requireWritable(home, name)
    parseLinkedPath(file)
    checkText(content)
    const path = writeLinkedFile(found.dir, file, content)
    deletePromptSnapshot(home)
    return path
  }

  removeFile(home: SkillsHome, name: string, file: string): void {
    const found = this.#requireWritable(home, name)
    const path = join(found.dir, ...parseLinkedPath(file))
    const there = lstatSync(path, { throwIfNoEntry: false })
    if (!there || there.isDirectory() || !isInside(found.dir, dirname(path)))
      throw missing('There is no such file in this skill.', {
        available_files: this.#filesOf(found),
      })
    rmSync(path)
    reportWrite(path)
    removeEmptyDirs(found.dir, dirname(path))
    deletePromptSnapshot(home)
  }

  #require(home: SkillsHome, name: string): FoundSkill {
    const found = this.#finder.find(home, name)
    if (found?.enabled) return found
    if (found) throw forbidden(`The skill "${found.name}" is turned off in this profile.`)
    const names = this.#finder.findAll(home).filter(each => each.enabled && each.compatible)
    throw missing('There is no such skill.', {
      available_skills: names.slice(0, MAX_NAMES).map(each => each.name),
    })
  }

  #requireWritable(home: SkillsHome, name: string): FoundSkill {
    const found = this.#require(home, name)
    refuseReadOnly(found)
    return found
  }

  #filesOf({ dir }: FoundSkill): string[] {
    return Object.values(listLinkedFiles(dir)).flat()
  }

  #readFile(found: FoundSkill, file: string) {
    try {
      return readLinkedFile(found.dir, file)
    } catch {
      // The list of existing files helps the model more than the exact error.
      throw missing('There is no such file in this skill.', {
        available_files: this.#filesOf(found),
      })
    }
  }
}
