/** Diffs of an agent's edits: the proposed change for an approval, and the change made. */
import { resolve } from 'node:path'
import { asObject } from '../../base/json.ts'
import { diffOfFile, diffToApprove } from '../tools/edit-diff.ts'
import { type Call, pathsOf, shownPath, firstText } from './tool-calls.ts'

/** A file's current text: null if there is none, undefined if it must not or can't be read as text. */
export type ReadFile = (path: string) => string | null | undefined

/** `isPiece`: a part of the file, so the end of the file is unknown. */
type Texts = { before: string | null; after: string | null; isPiece?: boolean }

const MAX_FILES = 20
/** For all files of a call. */
const DIFF_MS = 1_000

/** Empty if nothing changes. */
const patchOf = (name: string, { before, after, isPiece }: Texts, ms: number): string => {
  if (before === after) return ''
  const diff = diffOfFile(name, before, after, Math.max(1, ms))
  return isPiece ? diff.replace(/^\\ No newline at end of file\n/gm, '') : diff
}

const asString = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

type Replacement = { from: string; to: string; all: boolean }

const replacementOf = (raw: Record<string, unknown>): Replacement | null => {
  const from = asString(raw.old_string ?? raw.oldString ?? raw.old_str ?? raw.oldText)
  const to = asString(raw.new_string ?? raw.newString ?? raw.new_str ?? raw.newText)
  if (from === undefined || to === undefined) return null
  return { from, to, all: (raw.replace_all ?? raw.replaceAll) === true }
}

const replaced = (whole: string, { from, to, all }: Replacement): string =>
  all ? whole.replaceAll(from, () => to) : whole.replace(from, () => to)

/** The file's text after the edit, from the call's arguments; undefined if they don't say. */
const afterInput = (rawInput: unknown, before: string | null): string | undefined => {
  const raw = asObject(rawInput)
  const edits = Array.isArray(raw.edits) ? raw.edits.map(asObject) : [raw]
  const changes = edits.map(replacementOf)
  if (changes.length > 0 && changes.every(change => change !== null)) {
    let text = before ?? ''
    for (const change of changes) {
      if (change.from === '' ? text !== '' : !text.includes(change.from)) return undefined
      text = change.from === '' ? change.to : replaced(text, change)
    }
    return text
  }
  return asString(raw.content ?? raw.contents ?? raw.file_text)
}

/** A diff that the agent sent. */
const ownDiff = (rawInput: unknown): string => {
  const { diff, patch, unified_diff } = asObject(rawInput)
  return diffToApprove(firstText(diff, patch, unified_diff))
}

const isEdit = ({ kind, content }: Call): boolean =>
  kind === 'edit' || kind === 'delete' || content.some(({ type }) => type === 'diff')

/** Tracks the edits of one turn. */
export class Edits {
  readonly #workspace: string
  readonly #readFile: ReadFile
  /** File texts before the edit, by call and path, read when the call first named them. */
  readonly #seen = new Map<string, Map<string, string | null | undefined>>()

  constructor(workspace: string, readFile: ReadFile) {
    this.#workspace = workspace
    this.#readFile = readFile
  }

  /** Call it for each update of an unfinished call. */
  recordBefore(call: Call): void {
    if (!isEdit(call)) return
    const texts = this.#seen.get(call.id) ?? new Map<string, string | null | undefined>()
    this.#seen.set(call.id, texts)
    for (const path of pathsOf(call, this.#workspace).slice(0, MAX_FILES))
      if (!texts.has(path)) texts.set(path, this.#readFile(path))
  }

  /** The proposed change; '' if unknown. */
  planned(call: Call): string {
    if (!isEdit(call)) return ''
    const textsOf = (path: string): Texts[] => {
      const before = this.#readFile(path)
      if (this.#diffParts(call, path).length > 0) return this.#shownBy(call, path, before)
      if (before === undefined) return []
      if (call.kind === 'delete') return [{ before, after: null }]
      const after = afterInput(call.rawInput, before)
      return after === undefined ? [] : [{ before, after }]
    }
    return this.#render(call, textsOf) || ownDiff(call.rawInput)
  }

  /** The change made, as sent by the agent, otherwise from the files. */
  done(call: Call): string {
    if (!isEdit(call)) return ''
    const textsOf = (path: string): Texts[] => {
      const before = this.#seen.get(call.id)?.get(path)
      if (this.#diffParts(call, path).length > 0) return this.#shownBy(call, path, before)
      const after = call.status === 'failed' ? before : this.#readFile(path)
      return before === undefined || after === undefined ? [] : [{ before, after }]
    }
    const diff = this.#render(call, textsOf)
    this.#seen.delete(call.id)
    return diff || (call.status === 'failed' ? '' : ownDiff(call.rawInput))
  }

  #diffParts(call: Call, path: string) {
    return call.content.flatMap(part =>
      part.type === 'diff' && resolve(this.#workspace, part.path) === path ? [part] : [],
    )
  }

  /** The diff parts that the agent sent, applied to the whole file if they are found in it. */
  #shownBy(call: Call, path: string, before: string | null | undefined): Texts[] {
    const parts = this.#diffParts(call, path)
    const pieces = parts.map(({ oldText, newText }) => ({
      before: oldText ?? null,
      after: newText,
      isPiece: Boolean(oldText),
    }))
    if (before === undefined) return pieces
    const all = asObject(call.rawInput).replace_all === true
    let after = before ?? ''
    for (const { oldText, newText } of parts) {
      const from = oldText ?? ''
      // The file was read after the change.
      if (after === newText) return pieces
      if (from === '' || from === after) after = newText
      else if (after.includes(from)) after = replaced(after, { from, to: newText, all })
      else return pieces
    }
    return [{ before, after }]
  }

  #render(call: Call, textsOf: (path: string) => Texts[]): string {
    const until = performance.now() + DIFF_MS
    const paths = pathsOf(call, this.#workspace)
    const patches = paths
      .slice(0, MAX_FILES)
      .flatMap(path =>
        textsOf(path).map(texts =>
          patchOf(shownPath(path, this.#workspace), texts, until - performance.now()),
        ),
      )
    const more = paths.length - MAX_FILES
    const note = more > 0 ? `\\ ${more} more files are not shown.\n` : ''
    return diffToApprove(patches.join('')) + note
  }
}
