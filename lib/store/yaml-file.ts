/** One YAML file: read in its current state, edited so that comments, order and quoting survive. */
import type { Words } from '../base/sentences.ts'
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isAlias, isMap } from 'yaml'
import { isObject, type JsonObject } from '../base/json.ts'
import { conflict, messageOf, type UserError } from '../errors.ts'
import { CachedFile } from './cached-file.ts'
import { lookAgain } from './file-stats.ts'
import { replaceText } from './atomic-write.ts'
import { spliceYaml, toNode } from './yaml-splice.ts'
import { parseYaml } from './yaml-values.ts'

export type YamlEdit = readonly [path: readonly string[], value: unknown]

export type YamlFile = {
  readonly path: string
  /**
   * The mapping as plain values; treat it as frozen. For a damaged file, the last version that could be read; without one
   * it throws with file, line and reason: an unreadable file is never treated as empty. A missing file is empty.
   */
  read(): Record<string, unknown>
  /** For display only: empty where `read` throws, and as soon as the file is missing. Nothing may be executed or decided based on it. */
  peek(): Record<string, unknown>
  /** Why the file cannot be read in its current state, or null. */
  problem(): Words | null
  /** True when the file cannot be read and never could in this process. */
  isLost(): boolean
  /** Sets one value and creates missing parent mappings; undefined removes the key. Throws for a damaged file. */
  edit(path: readonly string[], value: unknown): void
  /** Applies all edits in one write, or none. */
  editAll(edits: readonly YamlEdit[]): void
}

/** Normalizes `off` and `on`, which are words or booleans depending on the program that wrote the file, to words. */
export const yamlWord = (value: unknown): string => {
  if (value === false) return 'off'
  if (value === true) return 'on'
  return typeof value === 'string' ? value.trim().toLowerCase() : ''
}

const FLAGS: ReadonlyMap<string, boolean> = new Map(
  Object.entries({
    on: true,
    yes: true,
    true: true,
    off: false,
    no: false,
    false: false,
    1: true,
    0: false,
  }),
)

/** Every spelling of a boolean: `on`, `yes`, `1`, `"true"`, … Undefined when it is none. */
export const yamlFlag = (value: unknown): boolean | undefined =>
  FLAGS.get(typeof value === 'number' ? String(value) : yamlWord(value))

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || isDeepStrictEqual(value, {})

type ParsedYaml = { text: string; value: JsonObject | null; problem: Words | null }

const NOTHING: JsonObject = Object.freeze({})

/** The error when a decision depends on an unreadable file. `config_problem`: the user must fix a file, not add a key. */
export const unreadableError = (path: string, problem: Words): UserError =>
  conflict(
    `${path} cannot be read: ${problem}. Nothing runs with these settings until it is fixed.`,
    { code: 'file_unreadable', values: { file: path, reason: problem }, config_problem: true },
  )

/** A copy of `map` with `value` at `path`: the expected content after an edit. */
const withValue = (map: JsonObject, path: readonly string[], value: unknown): JsonObject => {
  const [key, ...rest] = path
  if (key === undefined) return map
  const { [key]: old, ...others } = map
  if (rest.length === 0) return value === undefined ? others : { ...map, [key]: value }
  if (isEmpty(old)) return value === undefined ? map : { ...map, [key]: withValue({}, rest, value) }
  if (!isObject(old)) throw new Error(`"${key}" is not a mapping`)
  return { ...map, [key]: withValue(old, rest, value) }
}

/** What the file holds after these edits. */
export const withEdits = (values: JsonObject, edits: readonly YamlEdit[]): JsonObject =>
  edits.reduce((map, [path, value]) => withValue(map, path, value), values)

/** Fallback for unusual positions (anchors, keys in flow style): correct, but the printer decides the spacing. */
const rewrite = (text: string, document: Document, path: readonly string[], value: unknown) => {
  for (let depth = 1; depth < path.length; depth++) {
    const way = path.slice(0, depth)
    const node = document.getIn(way, true)
    if (isAlias(node)) document.setIn(way, node.resolve(document)?.clone())
    else if (!isMap(node) && value !== undefined) document.setIn(way, document.createNode({}))
  }
  if (value === undefined) document.deleteIn(path)
  else document.setIn(path, toNode(value))
  const indentSeq = !/^( *)[^\s#-][^\n]*:[ \t]*\r?\n\1- /m.test(text)
  return document.toString({ lineWidth: 0, indentSeq })
}

/** The text after one edit. Splices the text when the result provably has the expected values, else prints the document. Throws when another value is in the way. */
export const editYaml = (text: string, [path, value]: YamlEdit): string => {
  const { document, value: before } = parseYaml(text)
  const target = withValue(before, path, value)
  if (isDeepStrictEqual(target, before)) return text
  const says = (candidate: string): boolean => {
    try {
      return isDeepStrictEqual(parseYaml(candidate).value, target)
    } catch {
      // A splice that does not parse: use the printer.
      return false
    }
  }
  const cut = spliceYaml(text, document.contents, path, value)
  if (cut !== undefined && says(cut)) return cut
  const printed = rewrite(text, document, path, value)
  if (!says(printed)) throw new Error(`"${path.join('.')}" cannot be set there`)
  return printed
}

/** Parsing a megabyte of configuration takes about a second. */
const MAX_BYTES = 1024 * 1024
/** Some editors rename the old file before they create the new one: so long, turns go on with it. */
const SAVING_MS = 1_000

/** `editRefusal` returns the reason why this file must not be edited, if there is one. */
export const yamlFile = (path: string, editRefusal?: () => string | undefined): YamlFile => {
  const file = new CachedFile(
    path,
    ({ text, problem }): ParsedYaml => {
      if (text === null) return { text: '', value: problem === null ? {} : null, problem }
      try {
        return { text, value: parseYaml(text).value, problem: null }
      } catch (error) {
        return { text, value: null, problem: messageOf(error) }
      }
    },
    { maxBytes: MAX_BYTES, looks: 'once' },
  )
  let good: ParsedYaml | null = null
  /** When the file was first found missing. */
  let goneMs: number | null = null

  /** The current file, else the last version that could be read. */
  const view = (): {
    inForce: JsonObject | null
    text: string
    problem: Words | null
    isMissing?: true
  } => {
    const seen = file.read()
    const had = good !== null && good.text.trim() !== ''
    if (seen.value === null)
      return { inForce: good?.value ?? null, text: '', problem: seen.problem }
    if (seen.text === '' && had && !existsSync(path)) {
      goneMs ??= performance.now()
      if (performance.now() - goneMs < SAVING_MS)
        return { inForce: good?.value ?? null, text: '', problem: null, isMissing: true }
    } else goneMs = null
    good = seen
    return { inForce: seen.value, text: seen.text, problem: null }
  }

  const editAll = (edits: readonly YamlEdit[]): void => {
    const sentence = editRefusal?.()
    if (sentence) throw conflict(sentence)
    const name = basename(path)
    lookAgain()
    const { text, problem } = view()
    if (problem)
      throw conflict(`${name} cannot be read, so it was left alone: ${problem}`, {
        code: 'file_unreadable',
        values: { file: name, reason: problem },
      })
    let next = text
    try {
      for (const edit of edits) next = editYaml(next, edit)
    } catch (error) {
      // The obstacle is in the user's file: report it, change nothing.
      throw conflict(`${name} was left alone: ${messageOf(error)}`, {
        code: 'file_not_edited',
        values: { file: name, reason: messageOf(error) },
      })
    }
    if (next !== text) replaceText(path, next, { keepsMark: true })
  }
  return {
    path,
    read() {
      const { inForce, problem } = view()
      if (inForce === null) throw unreadableError(path, problem ?? 'it is not there')
      return inForce
    },
    peek() {
      const { inForce, isMissing } = view()
      return (isMissing ? null : inForce) ?? NOTHING
    },
    problem: () => view().problem,
    isLost: () => view().inForce === null,
    edit: (at, value) => editAll([[at, value]]),
    editAll,
  }
}
