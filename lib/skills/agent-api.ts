/** What the agent itself may do with skills: look, write and remove, each text looked through before it is on disk. */
import { lstatSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { forbidden, invalid, missing } from '../errors.ts'
import { isInside, realPath } from '../store/path-within.ts'
import { replaceText } from '../store/atomic-write.ts'
import { readTextBytes, displayText } from '../store/text-bytes.ts'
import { rewriteText } from '../store/text-rewrite.ts'
import { findThreatInCode } from '../prompt-injection.ts'
import type { Finder, Found, SkillsHome } from './find.ts'
import { parseFrontMatter } from './front-matter.ts'
import { checkPlace, linkedFiles, readLinked, writeLinked } from './linked.ts'
import { toSkill } from './view.ts'
import {
  checkContent,
  type createSkillWriter,
  dropEmptied,
  dropSnapshot,
  requireOwn,
} from './write.ts'
import { readWhole } from '../store/read-text.ts'

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/
const MOST_NAMES = 30

/** Nothing is written that was not looked through: there is never anything to take back. */
const checkText = (text: string): void => {
  const threat = findThreatInCode(text)
  if (threat) throw forbidden(`Nothing was written: the text holds ${threat}.`)
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

/** As `rewrite` takes it back. */
const shownText = (path: string): string => {
  const file = readTextBytes(readWhole(path))
  if (!file) throw invalid('The file is not text.')
  return displayText(file)
}

export const createAgentVerbs = (
  finder: Finder,
  writer: Pick<ReturnType<typeof createSkillWriter>, 'save' | 'remove'>,
) => {
  const require = (home: SkillsHome, name: string): Found => {
    const found = finder.find(home, name)
    if (found?.enabled) return found
    if (found) throw forbidden(`The skill "${found.name}" is switched off in this profile.`)
    const names = finder.findAll(home).filter(each => each.enabled && each.compatible)
    throw missing('There is no such skill.', {
      available_skills: names.slice(0, MOST_NAMES).map(each => each.name),
    })
  }
  const requireWritable = (home: SkillsHome, name: string): Found => {
    const found = require(home, name)
    requireOwn(found)
    return found
  }
  const filesOf = ({ dir }: Found): string[] => Object.values(linkedFiles(dir)).flat()

  const readFile = (found: Found, file: string) => {
    try {
      return readLinked(found.dir, file)
    } catch {
      // Whatever was wrong with the path: these are the ones there are.
      throw missing('There is no such file in this skill.', { available_files: filesOf(found) })
    }
  }

  return {
    view(home: SkillsHome, name: string) {
      const found = require(home, name)
      return { ...toSkill(home, found), directory: found.dir }
    },
    file: (home: SkillsHome, name: string, file: string) => readFile(require(home, name), file),

    /** What a patch begins with; only of skills that may be written. */
    text(home: SkillsHome, name: string, file: string | null): string {
      const found = requireWritable(home, name)
      if (file === null) return shownText(join(found.dir, 'SKILL.md'))
      const { content, is_binary } = readFile(found, file)
      if (is_binary) throw invalid('The file is not text.')
      return content
    },

    create(home: SkillsHome, given: { name: string; content: string; category: string | null }) {
      checkName(given.name, 'skill name')
      if (given.category !== null) checkName(given.category, 'category')
      checkHead(given.content)
      checkText(given.content)
      return writer.save(home, { ...given, create: true })
    },

    /** SKILL.md as a whole; it stays where it is. */
    edit(home: SkillsHome, name: string, content: string) {
      const found = requireWritable(home, name)
      checkHead(content)
      checkText(content)
      const path = join(found.dir, 'SKILL.md')
      replaceText(path, rewriteText(readWhole(path), checkContent(content, found.name)))
      dropSnapshot(home)
      return { path }
    },

    remove: (home: SkillsHome, name: string): string => {
      requireWritable(home, name)
      return writer.remove(home, name)
    },

    /** Where a file really lies that may be written with this text, or removed (null). */
    place(home: SkillsHome, name: string, file: string, content: string | null): string {
      const found = requireWritable(home, name)
      const parts = checkPlace(file)
      if (content !== null) checkText(content)
      return realPath(join(found.dir, ...parts))
    },

    writeFile(home: SkillsHome, name: string, file: string, content: string): string {
      const found = requireWritable(home, name)
      checkPlace(file)
      checkText(content)
      const path = writeLinked(found.dir, file, content)
      dropSnapshot(home)
      return path
    },

    removeFile(home: SkillsHome, name: string, file: string): void {
      const found = requireWritable(home, name)
      const path = join(found.dir, ...checkPlace(file))
      const there = lstatSync(path, { throwIfNoEntry: false })
      if (!there || there.isDirectory() || !isInside(found.dir, dirname(path)))
        throw missing('There is no such file in this skill.', { available_files: filesOf(found) })
      rmSync(path)
      dropEmptied(found.dir, dirname(path))
      dropSnapshot(home)
    },
  }
}
