/** Reads the files of the user's commands and subagents. What they do is in own-commands.ts and subagent-files.ts. */
import { withCodes } from '../../base/sentences.ts'
import { basename, join } from 'node:path'
import { missing } from '../../errors.ts'
import type {
  OwnFile,
  OwnFileFields,
  OwnFileKind,
  OwnFileProblem,
  OwnFileRow,
} from '../../schema/own-file.ts'
import { isBuiltIn } from '../slash-commands.ts'
import { isInside } from '../../store/path-within.ts'
import { readText } from '../../store/read-text.ts'
import { descriptionOf, scalarText, listOfTexts } from './front-matter.ts'
import { MAX_FILE_BYTES, type MarkdownFile, markdownFiles } from './markdown-files.ts'
import { MAX_SUBAGENTS, subagentName } from './subagent-files.ts'
import { versionOf } from './view.ts'

export type FilesHome = { dir: string }

const DIRS: Readonly<Record<OwnFileKind, string>> = { command: 'commands', subagent: 'agents' }
/** Keys that have an effect, in the order in which they are written. */
export const KEYS: Readonly<Record<OwnFileKind, Partial<Record<keyof OwnFileFields, string>>>> = {
  command: { description: 'description', argument_hint: 'argument-hint' },
  subagent: { name: 'name', description: 'description', tools: 'tools', model: 'model' },
}

export const rootOf = (home: FilesHome, kind: OwnFileKind): string => join(home.dir, DIRS[kind])

const calledOf = (kind: OwnFileKind, file: MarkdownFile): string =>
  kind === 'command' ? file.name.toLowerCase() : subagentName(file)

/** The text without the blank lines around it. */
export const shownText = (body: string): string =>
  body
    .replaceAll('\r\n', '\n')
    .replace(/^(?:[ \t]*\n)+/, '')
    .trimEnd()

/** What the file has for a key, as the fields have it. */
export const fieldOf = ({ values }: MarkdownFile, field: keyof OwnFileFields, key: string) => {
  if (field !== 'tools') return scalarText(values[key]).replace(/\s+/g, ' ')
  const { tools } = values
  return tools === undefined || tools === null ? null : listOfTexts(tools)
}

export const filesOf = (home: FilesHome, kind: OwnFileKind): MarkdownFile[] =>
  markdownFiles(rootOf(home, kind))

export const findFile = (
  home: FilesHome,
  kind: OwnFileKind,
  name: string,
): MarkdownFile | undefined => filesOf(home, kind).find(file => file.name === name)

export const contentOf = (path: string): string => {
  const { text, problem } = readText(path, { maxBytes: MAX_FILE_BYTES })
  if (text === null)
    throw missing(`The file cannot be read: ${problem ?? 'it does not exist'}.`, {
      code: 'file_unreadable',
      values: { file: basename(path), reason: problem ?? 'it does not exist' },
    })
  return text
}

export const isReadOnly = (home: FilesHome, kind: OwnFileKind, path: string): boolean =>
  !isInside(rootOf(home, kind), path)

const toRow = (
  home: FilesHome,
  kind: OwnFileKind,
  file: MarkdownFile,
  problem: OwnFileProblem | null,
): OwnFileRow => ({
  kind,
  name: file.name,
  called: calledOf(kind, file),
  description: descriptionOf(file),
  argument_hint: kind === 'command' ? scalarText(file.values['argument-hint']) : '',
  tools: kind === 'subagent' ? (fieldOf(file, 'tools', 'tools') as string[] | null) : null,
  model: kind === 'subagent' ? scalarText(file.values.model) : '',
  file: file.path,
  read_only: isReadOnly(home, kind, file.path),
  problem,
})

const problemsOf = (kind: OwnFileKind, files: readonly MarkdownFile[]) => {
  const seen = new Set<string>()
  return files.map((file): OwnFileProblem | null => {
    const called = calledOf(kind, file)
    const isFree = !seen.has(called)
    if (kind === 'command' && file.body.trim() === '') return 'empty'
    if (kind === 'command' && isBuiltIn(called)) return 'reserved'
    if (!isFree) return 'duplicate'
    seen.add(called)
    if (kind === 'subagent' && seen.size > MAX_SUBAGENTS) return 'too_many'
    return file.hasHead && file.problem !== null ? 'front_matter' : null
  })
}

export const listOwnFiles = (home: FilesHome, kind: OwnFileKind): OwnFileRow[] => {
  const files = filesOf(home, kind)
  const problems = problemsOf(kind, files)
  return files.map((file, at) => toRow(home, kind, file, problems[at] ?? null))
}

export const readOwnFile = (home: FilesHome, kind: OwnFileKind, name: string): OwnFile => {
  const file = findFile(home, kind, name)
  const row = listOwnFiles(home, kind).find(one => one.name === name)
  if (!file || !row) throw missing(`There is no ${kind} “${name}”.`, { code: 'file_not_found' })
  const content = contentOf(file.path)
  const ownKeys = new Set(Object.values(KEYS[kind]))
  return withCodes({
    ...row,
    description: scalarText(file.values.description).replace(/\s+/g, ' '),
    text: shownText(file.body),
    content,
    other_keys: Object.keys(file.values).filter(key => !ownKeys.has(key)),
    front_matter_problem: file.hasHead ? file.problem : null,
    version: versionOf(content),
  })
}
