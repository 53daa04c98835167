/** One YAML file: read as it stands now, edited in place so that comments, order and quoting survive. */
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Document, isAlias, isMap } from 'yaml'
import { isObject, type JsonObject } from '../base/json.ts'
import { conflict, messageOf, type UserError } from '../errors.ts'
import { cachedFile } from './cached-file.ts'
import { replaceText } from './atomic-write.ts'
import { spliceYaml, toNode } from './yaml-splice.ts'
import { parseYaml } from './yaml-values.ts'

export type YamlEdit = readonly [path: readonly string[], value: unknown]

export type YamlFile = {
  readonly path: string
  /**
   * The mapping as plain values; treat it as frozen. Of a broken file: the last version that could be read. Where there
   * is none it refuses with file, line and reason: what cannot be read is never taken for empty. A missing file is empty.
   */
  read(): Record<string, unknown>
  /** The same to look at only, empty where `read` refuses: nothing may be run or decided by it. */
  peek(): Record<string, unknown>
  /** Why the file cannot be understood as it stands, or null. */
  problem(): string | null
  /** It cannot be understood, and never could since this process began. */
  isLost(): boolean
  /** Sets one value, making the mappings on the way; undefined removes the key. Refuses to touch a broken file. */
  edit(path: readonly string[], value: unknown): void
  /** Several edits in one write: either all of them are on disk or none. */
  editAll(edits: readonly YamlEdit[]): void
}

/** `off` and `on` reach us as words or as booleans, depending on who wrote the file: both as the word. */
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

type Seen = { text: string; value: JsonObject | null; problem: string | null }

const NOTHING: JsonObject = Object.freeze({})

/** Why nothing is done that this file decides about. `config_problem`: the person has a file to mend, not a key to add. */
export const unreadableError = (path: string, problem: string): UserError =>
  conflict(
    `${path} cannot be read: ${problem}. Nothing runs with these settings until it is mended.`,
    { config_problem: true },
  )

/** A copy of `map` with `value` at `path`: what the file has to say after an edit. */
const withValue = (map: JsonObject, path: readonly string[], value: unknown): JsonObject => {
  const [key, ...rest] = path
  if (key === undefined) return map
  const { [key]: old, ...others } = map
  if (rest.length === 0) return value === undefined ? others : { ...map, [key]: value }
  if (isEmpty(old)) return value === undefined ? map : { ...map, [key]: withValue({}, rest, value) }
  if (!isObject(old)) throw new Error(`"${key}" is not a mapping`)
  return { ...map, [key]: withValue(old, rest, value) }
}

/** Way out for unusual places (anchors, keys in flow style): correct, but the printer decides the spacing. */
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

/** The text after one edit; throws when the place is taken by something else. Cut by hand where that provably gives the wanted values, printed anew otherwise. */
export const editYaml = (text: string, [path, value]: YamlEdit): string => {
  const { document, value: before } = parseYaml(text)
  const wanted = withValue(before, path, value)
  if (isDeepStrictEqual(wanted, before)) return text
  const says = (candidate: string): boolean => {
    try {
      return isDeepStrictEqual(parseYaml(candidate).value, wanted)
    } catch {
      // A cut that does not even parse is only a reason to take the other way.
      return false
    }
  }
  const cut = spliceYaml(text, document.contents, path, value)
  if (cut !== undefined && says(cut)) return cut
  const printed = rewrite(text, document, path, value)
  if (!says(printed)) throw new Error(`"${path.join('.')}" cannot be set there`)
  return printed
}

/** A megabyte of configuration takes about a second to understand, once. */
const MAX_BYTES = 1024 * 1024
/** Some editors move the old file away before the new one is there. */
const SAVING_MS = 1_000

/** `refuseEdit` gives the sentence why this file is not ours to write, if it is not. */
export const yamlFile = (path: string, editRefusal?: () => string | undefined): YamlFile => {
  const parsed = cachedFile(
    path,
    ({ text, problem }): Seen => {
      if (text === null) return { text: '', value: problem === null ? {} : null, problem }
      try {
        return { text, value: parseYaml(text).value, problem: null }
      } catch (error) {
        return { text, value: null, problem: messageOf(error) }
      }
    },
    { maxBytes: MAX_BYTES },
  )
  let good: Seen | null = null
  /** When the file was first found to be gone. */
  let goneMs: number | null = null

  /** What is in force: the file as it stands, else the last version of it that could be understood. */
  const view = (): { inForce: JsonObject | null; text: string; problem: string | null } => {
    const seen = parsed()
    const had = good !== null && good.text.trim() !== ''
    if (seen.value === null)
      return { inForce: good?.value ?? null, text: '', problem: seen.problem }
    if (seen.text === '' && had && !existsSync(path)) {
      goneMs ??= performance.now()
      if (performance.now() - goneMs < SAVING_MS)
        return { inForce: good?.value ?? null, text: '', problem: null }
    } else goneMs = null
    good = seen
    return { inForce: seen.value, text: seen.text, problem: null }
  }

  const editAll = (edits: readonly YamlEdit[]): void => {
    const sentence = editRefusal?.()
    if (sentence) throw conflict(sentence)
    const name = basename(path)
    const { text, problem } = view()
    if (problem) throw conflict(`${name} cannot be read, so it was left alone: ${problem}`)
    let next = text
    try {
      for (const edit of edits) next = editYaml(next, edit)
    } catch (error) {
      // Whatever stands in the way is in the person's file: say it, change nothing.
      throw conflict(`${name} was left alone: ${messageOf(error)}`)
    }
    if (next !== text) replaceText(path, next)
  }
  return {
    path,
    read() {
      const { inForce, problem } = view()
      if (inForce === null) throw unreadableError(path, problem ?? 'it is not there')
      return inForce
    },
    peek: () => view().inForce ?? NOTHING,
    problem: () => view().problem,
    isLost: () => view().inForce === null,
    edit: (at, value) => editAll([[at, value]]),
    editAll,
  }
}
