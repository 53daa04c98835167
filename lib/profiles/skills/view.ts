/** One skill as a whole: its text, its files, and what it needs that is not there yet. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../home.ts'
import { sha256 } from '../../base/sha256.ts'
import { toSeconds } from '../../base/clock.ts'
import { findProgram } from '../../base/find-program.ts'
import { isObject } from '../../base/json.ts'
import { redact } from '../../base/redact/redact.ts'
import { conflict } from '../../errors.ts'
import type { ErrorCode } from '../../schema/error-code.ts'
import type { Skill, SkillRow } from '../../schema/skill.ts'
import { resolveInside } from '../../store/path-within.ts'
import type { FoundSkill } from './finder.ts'
import { agentMetadata, parseFrontMatter, scalarText, listOfTexts } from './front-matter.ts'
import { listLinkedFiles } from './linked-files.ts'
import { readWholeText } from '../../store/read-text.ts'

type Values = Readonly<Record<string, unknown>>
type RequiredVariable = { name: string; [key: string]: unknown }

export const versionOf = (text: string): string => sha256(text).slice(0, 16)

/** Throws, with the text of now, where it is not the one that was read. */
export const requireVersion = (
  text: string,
  expected: string | undefined,
  code: ErrorCode,
): void => {
  const version = versionOf(text)
  if (expected !== undefined && version !== expected)
    throw conflict('The file has changed since you opened it. Review it before you overwrite it.', {
      code,
      content: redact(text),
      version,
    })
}

export const toSkillRow = ({ name, description, category, ...skill }: FoundSkill): SkillRow => ({
  name,
  description,
  category,
  enabled: skill.enabled,
  compatible: skill.compatible,
  read_only: skill.readOnly,
  slug: skill.slug,
})

/** Names alone or with what to ask for; the older place is `prerequisites`. */
const requiredVariables = ({ required_environment_variables: list, prerequisites }: Values) => {
  const older = isObject(prerequisites) ? listOfTexts(prerequisites.env_vars) : []
  const items: unknown[] = [...(Array.isArray(list) ? list : listOfTexts(list)), ...older]
  const variables = items.flatMap((item): RequiredVariable[] => {
    const name = isObject(item) ? scalarText(item.name) : scalarText(item)
    return name === '' ? [] : [isObject(item) ? { ...item, name } : { name }]
  })
  return variables.filter(
    ({ name }, at) => variables.findIndex(other => other.name === name) === at,
  )
}

/** On the PATH a tool of this home would get. */
const isCommand = (name: string, path: string): boolean =>
  !/[\\/\0]/.test(name) && findProgram(path, name) !== undefined

const isThere = (dir: string, file: string): boolean => {
  try {
    return existsSync(resolveInside(dir, file))
  } catch {
    // It names a place outside the home: nothing we would vouch for.
    return false
  }
}

const needsOf = (home: Home, values: Values) => {
  const env = home.env()
  const variables = requiredVariables(values)
  const { prerequisites, required_credential_files: files } = values
  const commands = isObject(prerequisites) ? listOfTexts(prerequisites.commands) : []
  const missing = variables.filter(({ name }) => !env[name]?.trim())
  const credentials = (Array.isArray(files) ? files : listOfTexts(files))
    .map(item => (isObject(item) ? scalarText(item.path) : scalarText(item)))
    .filter(file => file !== '' && !isThere(home.dir, file))
  const help = [...new Set(missing.map(({ help }) => scalarText(help)).filter(Boolean))].join('\n')
  return {
    required_environment_variables: variables,
    required_commands: commands,
    missing_required_environment_variables: missing.map(({ name }) => name),
    missing_credential_files: credentials,
    missing_required_commands: commands.filter(name => !isCommand(name, env.PATH ?? '')),
    ...(help ? { setup_help: help } : {}),
  }
}

export const toSkill = (home: Home, skill: FoundSkill): Skill => {
  const path = join(skill.dir, 'SKILL.md')
  const content = readWholeText(path)
  const { values } = parseFrontMatter(content)
  const more = agentMetadata(values)
  const linked_files = listLinkedFiles(skill.dir)
  const needs = needsOf(home, values)
  const setup_needed =
    needs.missing_required_environment_variables.length > 0 ||
    needs.missing_credential_files.length > 0 ||
    needs.missing_required_commands.length > 0
  const compatibility = scalarText(values.compatibility)
  const missing = needs.missing_required_environment_variables
  return {
    success: true,
    ...toSkillRow(skill),
    tags: [...new Set([...listOfTexts(values.tags), ...listOfTexts(more.tags)])],
    related_skills: [
      ...new Set([...listOfTexts(values.related_skills), ...listOfTexts(more.related_skills)]),
    ],
    content,
    path: `${skill.relativePath}/SKILL.md`,
    version: versionOf(content),
    mtime: toSeconds(statSync(path).mtimeMs),
    linked_files,
    usage_hint: Object.keys(linked_files).length
      ? 'Ask for one of linked_files with its path to read it.'
      : null,
    ...needs,
    setup_needed,
    setup_skipped: false,
    readiness_status: skill.compatible
      ? setup_needed
        ? 'setup_needed'
        : 'available'
      : 'unsupported',
    ...(missing.length ? { setup_note: `Set ${missing.join(', ')} in the home's .env.` } : {}),
    ...(compatibility ? { compatibility } : {}),
    ...(isObject(values.metadata) ? { metadata: values.metadata } : {}),
  }
}
