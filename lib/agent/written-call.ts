/** What a call writes into a file, read from its arguments while the model still writes them. Only strings of the outermost object are read. */
import { toolInfo } from '../base/tools.ts'
import { means } from './argument-names.ts'
import type { Emit } from './events.ts'
import { repairName } from './normalize-calls.ts'
import type { RawCall } from './tool-calls.ts'

/** What a piece of the arguments adds. `path`: another file begins. */
export type Written = { path?: string; text: string }

const OPEN = /\s*\{/y
const KEY = /[\s,]*"((?:[^"\\]|\\.)*)"\s*:\s*(?=\S)/y
/** A value that says nothing here; one that may go on is none. */
const OTHER_VALUE = /[-+.\w]+(?=\s*[,}])/y
/** What of a string has arrived whole. */
const CHARS = /[^"\\]+|\\u[\da-fA-F]{4}|\\[^u]/y
const MAX_NAME_CHARS = 200
const CONTROL: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
/** Where a patch of several files comes to the next one. */
const NEXT_FILE = /^(?:\*\*\* (?:Update|Add) File: |\+\+\+ (?:b\/)?(?!\/dev\/null))(.+)\n/gm

const decoded = (chars: string): string => {
  if (!chars.startsWith('\\')) return chars
  if (chars.length > 2) return String.fromCharCode(Number.parseInt(chars.slice(2), 16))
  return CONTROL[chars.slice(1)] ?? chars.slice(1)
}

export class WrittenCall {
  /** The arguments that are text of the file. */
  readonly #texts: readonly string[]
  #unread = ''
  /** The argument whose string is being read. */
  #key: string | null = null
  #path = ''
  /** The last line of a patch, until it ends. */
  #line = ''
  #isOpen = false
  #isOver = false

  constructor(texts: readonly string[]) {
    this.#texts = texts
  }

  /** Nothing more is read: the object has ended, or is written as none is expected to be. */
  isOver(): boolean {
    return this.#isOver
  }

  /** Null when the piece adds nothing to show. */
  push(piece: string): Written | null {
    this.#unread += piece
    this.#isOpen ||= this.#take(OPEN) !== null
    this.#isOver ||= !this.#isOpen && this.#unread.trim() !== ''
    const delta: Written = { text: '' }
    while (!this.#isOver && (this.#key === null ? this.#readKey() : this.#readString(delta)));
    return delta.text === '' && delta.path === undefined ? null : delta
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = 0
    const match = pattern.exec(this.#unread)
    if (match) this.#unread = this.#unread.slice(match[0].length)
    return match
  }

  /** Up to the value, and over it where it is not a string. False: more has to arrive. */
  #readKey(): boolean {
    const key = this.#take(KEY)
    if (!key) {
      // Otherwise a name may still be incomplete.
      this.#isOver =
        this.#unread.length > MAX_NAME_CHARS ||
        !/^[\s,]*(?:"(?:[^"\\]|\\.)*(?:\\|"\s*:?\s*)?)?$/.test(this.#unread)
      return false
    }
    if (this.#unread.startsWith('"')) {
      this.#unread = this.#unread.slice(1)
      this.#key = key[1]!
      return true
    }
    if (this.#take(OTHER_VALUE)) return true
    this.#isOver = !/^[-+.\w]+\s*$/.test(this.#unread)
    this.#unread = key[0] + this.#unread
    return false
  }

  #readString(delta: Written): boolean {
    let text = ''
    for (let chars = this.#take(CHARS); chars; chars = this.#take(CHARS)) text += decoded(chars[0])
    const hasEnded = this.#unread.startsWith('"')
    const key = this.#key!
    if (means(key, 'path')) {
      this.#path += text
      if (hasEnded) delta.path = this.#path
    } else if (this.#texts.some(name => means(key, name))) {
      delta.text += text
      if (means(key, 'patch')) this.#findFile(text, delta)
    }
    if (!hasEnded) return false
    this.#unread = this.#unread.slice(1)
    this.#key = null
    return true
  }

  #findFile(text: string, delta: Written): void {
    const lines = this.#line + text
    for (const [, path] of lines.matchAll(NEXT_FILE)) delta.path = path!.trim()
    this.#line = lines.slice(lines.lastIndexOf('\n') + 1)
  }
}

/** Emits what the calls of one message write, of the newest one only. A call that arrives whole is not shown: its message follows at once. */
export const emitWriting = (emit: Emit, messageId: string, tools: readonly string[]) => {
  let index = -1
  let newest: RawCall | null = null
  let name = ''
  let tracker: WrittenCall | null = null
  let hasEmitted = false
  /** `piece` was added to the arguments of the call. */
  const add = (call: RawCall, piece: string): void => {
    if (piece === '') return
    if (call !== newest) {
      // An earlier call that goes on.
      if (call.arguments.length > piece.length) return
      newest = call
      index++
      name = repairName(call.name.trim(), tools)
      const texts = tools.includes(name) ? toolInfo(name)?.texts : undefined
      tracker = texts ? new WrittenCall(texts) : null
    }
    const delta = tracker?.push(piece)
    const isWhole = call.arguments === piece && tracker?.isOver()
    if (!delta || isWhole) return
    hasEmitted = true
    emit({ type: 'tool_writing', messageId, index, name, ...delta })
  }
  return { add, hasEmitted: () => hasEmitted }
}
