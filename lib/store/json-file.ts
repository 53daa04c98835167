/** One JSON file: read in its current state, replaced atomically, never overwritten while it is damaged. */
import { sentence, type Words } from '../base/sentences.ts'
import { basename } from 'node:path'
import { conflict } from '../errors.ts'
import { type CachedFileOptions, type FileText, CachedFile } from './cached-file.ts'
import { fileReason } from './file-error.ts'
import { replaceText } from './atomic-write.ts'

const syntaxError = (text: string): { isCut: boolean; position: number | undefined } | null => {
  try {
    JSON.parse(text)
    return null
  } catch (error) {
    const { message } = error as SyntaxError
    const [, digits] = /position (\d+)/.exec(message) ?? []
    const position = digits === undefined ? undefined : Number(digits)
    const isAtEnd = position !== undefined && position >= text.trimEnd().length
    return { isCut: isAtEnd || /end of JSON|Unterminated/i.test(message), position }
  }
}

/** Where the parser stops. Some of its messages have no position: then, the shortest beginning with an error that is not its end. */
const errorOffset = (text: string): number => {
  const { position } = syntaxError(text) ?? {}
  if (position !== undefined) return position
  let [good, bad] = [0, text.length]
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    if (syntaxError(text.slice(0, middle))?.isCut === false) bad = middle
    else good = middle
  }
  return good
}

/** Describes a JSON error with its line. Never uses the parser's message, which quotes the text and may contain API keys. */
export const jsonReason = (error: unknown, text: string): Words => {
  if (!(error instanceof SyntaxError))
    return error instanceof Error && error.name === 'ZodError'
      ? sentence('file.format')
      : fileReason(error)
  const isCut = syntaxError(text)?.isCut === true
  const before = isCut ? text : text.slice(0, errorOffset(text))
  const line = before.split('\n').length
  return sentence(isCut ? 'json.cut' : 'json.invalid', { line })
}

export class JsonFile<T> {
  readonly path: string
  readonly #parse: (value: unknown) => T
  readonly #view: CachedFile<{ value: T; problem: Words | null }>
  #good: { value: T } | undefined

  /** `parse` converts any JSON value to T. It receives undefined for a missing file, and may throw. */
  constructor(
    path: string,
    parse: (value: unknown) => T,
    options: CachedFileOptions = { mayDangle: true },
  ) {
    this.path = path
    this.#parse = parse
    this.#view = new CachedFile(path, file => this.#read(file), options)
  }

  #read({ text, problem }: FileText): { value: T; problem: Words | null } {
    const last = () => (this.#good ? this.#good.value : this.#parse(undefined))
    if (text === null) {
      if (problem === null) this.#good = undefined
      return { value: last(), problem }
    }
    try {
      this.#good = { value: this.#parse(JSON.parse(text)) }
      return { value: this.#good.value, problem: null }
    } catch (error) {
      // Half written or mistyped: use the last good value and report the problem.
      return { value: last(), problem: jsonReason(error, text) }
    }
  }

  /** The parsed value; treat it as frozen. For a damaged file, the last good value of this process, else the empty one. */
  read(): T {
    return this.#view.read().value
  }

  /** Why the file cannot be read, or null. */
  problem(): Words | null {
    return this.#view.read().problem
  }

  /** True when the file cannot be read and never could in this process, so `read` returns the empty value. */
  isLost(): boolean {
    return this.problem() !== null && !this.#good
  }

  /** Throws a conflict while the file is damaged, so that a typo can still be fixed by hand. */
  write(value: unknown): void {
    const problem = this.problem()
    const file = basename(this.path)
    if (problem)
      throw conflict(`${file} can't be read. Fix or delete it first (${problem}).`, {
        code: 'file_unreadable',
        values: { file, reason: problem },
      })
    replaceText(this.path, `${JSON.stringify(value, null, 2)}\n`)
  }
}
