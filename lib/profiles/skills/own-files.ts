/** Creates, edits, renames, and deletes the files of the user's commands and subagents. */
import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { conflict, forbidden, invalid, missing } from '../../errors.ts'
import { unredact } from '../../base/redact/redact.ts'
import type { OwnFile, OwnFileFields, OwnFileKind } from '../../schema/own-file.ts'
import { replaceText } from '../../store/atomic-write.ts'
import { makeDir } from '../../store/make-dir.ts'
import { isBuiltIn } from '../slash-commands.ts'
import { isInside } from '../../store/path-within.ts'
import { readWhole } from '../../store/read-text.ts'
import { rewriteText } from '../../store/text-rewrite.ts'
import { editFrontMatter } from './front-matter.ts'
import { parseFrontMatter } from './front-matter.ts'
import { MAX_FILE_BYTES, MAX_NESTING, type MarkdownFile } from './markdown-files.ts'
import {
  contentOf,
  filesOf,
  findFile,
  type FilesHome,
  isReadOnly,
  KEYS,
  listOwnFiles,
  readOwnFile,
  rootOf,
  shownText,
  fieldOf,
} from './own-file-rows.ts'
import { SUBAGENT_NAME, subagentName } from './subagent-files.ts'
import { requireVersion } from './view.ts'
import { removeEmptyDirs } from './write.ts'
import { reportWrite } from '../../store/write-reports.ts'

export type OwnFileInput = {
  kind: OwnFileKind
  /** Of the file, as in its row. Of a new one: what it is to be called. */
  name: string
  create?: boolean | undefined
  /** Another name for the file of a command. */
  new_name?: string | undefined
  fields?: OwnFileFields | undefined
  /** The text after the front matter. */
  text?: string | undefined
  /** The whole file, instead of fields and text. */
  content?: string | undefined
  /** The version that was read: a change since then is a conflict. */
  expected_version?: string | undefined
}

const pathOf = (root: string, name: string): string =>
  join(root, ...name.split(':').slice(0, -1), `${name.split(':').at(-1)}.md`)

const PART = /^(?!\.)[\w.-]{1,64}$/

/** The name of a command's file from what was typed: `/Git Sum` is `git-sum`. */
const commandName = (input: string): string => {
  const name = input.trim().replace(/^\//, '').toLowerCase().replace(/\s+/g, '-')
  const parts = name.split(':')
  if (!parts.every(part => PART.test(part)) || parts.length > MAX_NESTING)
    throw invalid(
      'A command’s name has letters from a to z, digits, “.”, “-”, and “_”; “:” separates folders.',
      { code: 'invalid_command_name' },
    )
  return name
}

/** Only what differs is written, so that unchanged keys keep their spelling. */
const changedKeys = (kind: OwnFileKind, file: MarkdownFile, fields: OwnFileFields) => {
  const values: Record<string, string | readonly string[] | undefined> = {}
  for (const [field, key] of Object.entries(KEYS[kind]) as [keyof OwnFileFields, string][]) {
    const value = fields[field]
    if (value === undefined) continue
    const next =
      typeof value === 'string'
        ? value.trim().replace(/\s+/g, ' ')
        : (value?.map(name => name.trim()).filter(Boolean) ?? null)
    if (isDeepStrictEqual(next, fieldOf(file, field, key))) continue
    if (next === null || next === '') values[key] = undefined
    else if (typeof next === 'string') values[key] = next
    // Comma-separated, as most programs write it, unless the file has a list or a name contains a comma.
    else if (Array.isArray(file.values[key]) || next.some(name => name.includes(',')))
      values[key] = next
    else values[key] = next.join(', ')
  }
  const unknown = Object.keys(fields).filter(field => !(field in KEYS[kind]))
  if (unknown.length > 0)
    throw invalid(`A ${kind} has no ${unknown.join(', ').replaceAll('_', '-')}.`)
  return values
}

const requireFile = (
  home: FilesHome,
  kind: OwnFileKind,
  name: string,
  expected: string | undefined,
): MarkdownFile => {
  const file = findFile(home, kind, name)
  if (!file)
    throw expected === undefined
      ? missing(`There is no ${kind} “${name}”.`, { code: 'file_not_found' })
      : conflict('The file has been deleted since you opened it.', { code: 'file_not_found' })
  if (isReadOnly(home, kind, file.path))
    throw forbidden(
      `${file.path} is a link to a file outside ${rootOf(home, kind)}. Edit it there.`,
      { code: 'file_linked', values: { path: file.path } },
    )
  requireVersion(contentOf(file.path), expected, 'file_changed')
  return file
}

/** A path for a new file. Rejects one that exists in any form, and one in a linked folder outside of the home. */
const freePath = (home: FilesHome, kind: OwnFileKind, name: string): string => {
  const root = rootOf(home, kind)
  const path = pathOf(root, name)
  if (!isInside(root, path))
    throw invalid('The folder of that name is a link to another place.', {
      code: 'file_linked',
      values: { path },
    })
  if (existsSync(path)) throw conflict(`There is already a file ${path}.`, { code: 'file_exists' })
  return path
}

/** `Code reviewer` → `code-reviewer`; a name in other letters gets a number. */
const subagentFileName = (home: FilesHome, called: string): string => {
  const plain = called
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[-.]+|-+$/g, '')
  const names = new Set(filesOf(home, 'subagent').map(({ name }) => name))
  const base = plain || 'subagent'
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? base : `${base}-${number}`
    if (!names.has(name)) return name
  }
}

const checkName = (input: string): string => {
  const name = input.trim()
  if (!SUBAGENT_NAME.test(name))
    throw invalid(
      'A subagent’s name is one line of 64 characters at most and begins with a letter or digit.',
      { code: 'invalid_subagent_name' },
    )
  return name
}

/** The new text between the blank lines around the old one. */
const withText = (old: string, text: string): string => {
  const from = old.indexOf(shownText(old))
  const end = old.slice(from).slice(shownText(old).length)
  return `${old.slice(0, from)}${shownText(text)}${end || '\n'}`
}

const compose = (input: OwnFileInput, file: MarkdownFile, original: string): string => {
  const { kind, fields = {}, text, content } = input
  if (content !== undefined && (text !== undefined || input.fields !== undefined))
    throw invalid('Give either the whole content, or fields and text.')
  if (content === undefined) {
    const isSame = text === undefined || shownText(text) === shownText(file.body)
    const body = isSame ? undefined : withText(file.body, text)
    return editFrontMatter(original, { values: changedKeys(kind, file, fields), body })
  }
  const { problem, hasHead } = parseFrontMatter(content)
  if (hasHead && problem !== null)
    throw invalid(`The file was not saved. ${problem}`, {
      code: 'front_matter_invalid',
      values: { problem },
    })
  return content
}

const checkText = (kind: OwnFileKind, text: string): void => {
  if (parseFrontMatter(text).body.trim() === '')
    throw invalid(`A ${kind} needs a text. It is what the model is given.`, {
      code: 'instructions_missing',
    })
  if (Buffer.byteLength(text) > MAX_FILE_BYTES)
    throw invalid(`The file is limited to ${MAX_FILE_BYTES / 1024} kB.`, {
      code: 'own_file_too_large',
      values: { max: MAX_FILE_BYTES / 1024 },
    })
}

const requireFreeName = (
  home: FilesHome,
  kind: OwnFileKind,
  called: string,
  own?: string,
): void => {
  if (kind === 'command' && isBuiltIn(called))
    throw conflict(`/${called} is a built-in command. Choose another name.`, {
      code: 'command_built_in',
      values: { name: called },
    })
  if (listOwnFiles(home, kind).some(row => row.called === called && row.name !== own))
    throw conflict(`There is already a ${kind} “${called}”.`, { code: 'file_exists' })
}

const create = (home: FilesHome, input: OwnFileInput): OwnFile => {
  const { kind } = input
  const called = kind === 'command' ? commandName(input.name) : checkName(input.name)
  requireFreeName(home, kind, called)
  const name = kind === 'command' ? called : subagentFileName(home, called)
  const path = freePath(home, kind, name)
  const fields = kind === 'subagent' ? { ...input.fields, name: called } : input.fields
  const draft = input.content === undefined ? { ...input, fields } : input
  const composed = compose(
    draft,
    { values: {}, body: '', problem: null, hasHead: false, name, path },
    '',
  )
  const text = composed.endsWith('\n') ? composed : `${composed}\n`
  checkText(kind, text)
  replaceText(path, text)
  return readOwnFile(home, kind, name)
}

/** The new name of an edited file; a subagent's name is a key in it. */
const checkRename = (home: FilesHome, file: MarkdownFile, input: OwnFileInput): string => {
  const { kind, fields, new_name: newName } = input
  if (kind === 'subagent') {
    if (newName !== undefined) throw invalid('A subagent is renamed with the field name.')
    if (fields?.name !== undefined && fields.name !== subagentName(file))
      requireFreeName(home, kind, checkName(fields.name), file.name)
    return file.name
  }
  const name = newName === undefined ? file.name : commandName(newName)
  if (newName === undefined || name === file.name.toLowerCase()) return file.name
  requireFreeName(home, kind, name, file.name)
  return name
}

/** Masked secrets that come back unchanged are restored. */
export const saveOwnFile = (home: FilesHome, input: OwnFileInput): OwnFile => {
  if (input.create) return create(home, input)
  const { kind } = input
  const file = requireFile(home, kind, input.name, input.expected_version)
  const name = checkRename(home, file, input)
  const { name: newName, ...others } = input.fields ?? {}
  // The file's own name needs no key.
  const isSame = newName === undefined || newName.trim() === subagentName(file)
  const fields = kind === 'subagent' && isSame ? others : input.fields
  const original = contentOf(file.path)
  const text = unredact(
    compose({ ...input, fields: input.fields && fields }, file, original),
    original,
  )
  checkText(kind, text)
  const bytes = rewriteText(readWhole(file.path), text)
  const path = name === file.name ? file.path : freePath(home, kind, name)
  if (path !== file.path) {
    makeDir(dirname(path))
    renameSync(file.path, path)
    for (const each of [file.path, path]) reportWrite(each)
    removeEmptyDirs(rootOf(home, kind), dirname(file.path))
  }
  if (!readWhole(path).equals(bytes)) replaceText(path, bytes)
  return readOwnFile(home, kind, name)
}

export const removeOwnFile = (
  home: FilesHome,
  kind: OwnFileKind,
  name: string,
  expected: string | undefined,
): void => {
  const { path } = requireFile(home, kind, name, expected)
  rmSync(path)
  reportWrite(path)
  removeEmptyDirs(rootOf(home, kind), dirname(path))
}
