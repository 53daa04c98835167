/**
 * Reads JSON as models write it: invalid escapes, raw line breaks, single quotes, unquoted keys, Python literals, comments, trailing
 * commas. A string that does not end is never read, because what is missing could change what a call does.
 */

export type JsonReading =
  | { ok: true; value: unknown; end: number; isClosed: boolean }
  | { ok: false; at: number; reason: string }

const WORDS: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  null: null,
  True: true,
  False: false,
  None: null,
  undefined: null,
}
const SPACE = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
const NUMBER = /[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])/y
const WORD = /[A-Za-z_$][\w$-]*/y
/** One closing bracket may be missing; more of them mean that the text was cut. */
const MAX_MISSING = 1
const MAX_DEPTH = 100

class Unreadable extends Error {
  readonly at: number
  constructor(at: number, reason: string) {
    super(reason)
    this.at = at
  }
}

/** The value that begins at `from`, and where it ends. `isClosed` is false when a closing bracket was missing. */
export const readJson = (text: string, from = 0): JsonReading => {
  const reader = new Reader(text, from)
  try {
    const value = reader.value()
    return { ok: true, value, end: reader.at, isClosed: reader.missing === 0 }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return { ok: false, at: error.at, reason: error.message }
  }
}

class Reader {
  missing = 0
  private depth = 0
  private readonly text: string
  at: number

  constructor(text: string, at: number) {
    this.text = text
    this.at = at
  }

  value(): unknown {
    this.skip()
    const char = this.text.charAt(this.at)
    if (char === '{') return this.object()
    if (char === '[') return this.array()
    if (char === '"' || char === "'") return this.string(char)
    const number = this.match(NUMBER)
    if (number !== null) return Number(number)
    const start = this.at
    const word = this.match(WORD)
    if (word !== null && Object.hasOwn(WORDS, word)) return WORDS[word]
    throw new Unreadable(start, start < this.text.length ? 'a value is expected' : 'it ends early')
  }

  private object(): Record<string, unknown> {
    const entries: [string, unknown][] = []
    this.list('}', () => {
      const start = this.at
      const char = this.text.charAt(this.at)
      const isQuoted = char === '"' || char === "'"
      const key = isQuoted ? this.string(char) : this.match(WORD)
      if (key === null) throw new Unreadable(start, 'a name in double quotes is expected')
      this.skip()
      if (this.text.charAt(this.at) !== ':') throw new Unreadable(this.at, '":" is expected')
      this.at++
      entries.push([key, this.value()])
    })
    return Object.fromEntries(entries)
  }

  private array(): unknown[] {
    const items: unknown[] = []
    this.list(']', () => void items.push(this.value()))
    return items
  }

  /** Elements up to `close`, separated by commas; one may follow the last element. */
  private list(close: string, readElement: () => void): void {
    if (++this.depth > MAX_DEPTH) throw new Unreadable(this.at, 'it is nested too deeply')
    this.at++
    this.elements(close, readElement)
    this.depth--
  }

  private elements(close: string, readElement: () => void): void {
    for (let count = 0; ; count++) {
      this.skip()
      if (this.take(close)) return
      if (count > 0) {
        if (this.isEnd() && this.missing < MAX_MISSING) {
          this.missing++
          return
        }
        if (!this.take(',')) throw new Unreadable(this.at, `"," or "${close}" is expected`)
        this.skip()
        if (this.take(close)) return
      }
      readElement()
    }
  }

  /** The text ends, or a tag begins that ends the call. */
  private isEnd(): boolean {
    return this.at >= this.text.length || this.text.charAt(this.at) === '<'
  }

  private string(quote: string): string {
    const start = this.at
    for (let at = start + 1; at < this.text.length; at++) {
      const char = this.text.charAt(at)
      if (char === '\\') at++
      else if (char === quote) {
        this.at = at + 1
        return unescaped(this.text.slice(start + 1, at))
      }
    }
    throw new Unreadable(start, 'the string that begins here does not end')
  }

  private take(char: string): boolean {
    if (this.text.charAt(this.at) !== char) return false
    this.at++
    return true
  }

  private skip(): void {
    this.match(SPACE)
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at
    const text = pattern.exec(this.text)?.[0]
    if (text === undefined) return null
    this.at += text.length
    return text
  }
}

const ESCAPE = /\\(u[\da-fA-F]{4}|[\s\S])/g
const INVALID_ESCAPE = /(?<!\\)(?:\\\\)*\\(?!["'\\/bfnrt\n\r]|u[\da-fA-F]{4})/
const DRIVE = /^[A-Za-z]:\\(?!\\)/
const CONTROL: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

/**
 * An escape that JSON does not have (`\d` of a regular expression, `\U` of a Windows path) is the text itself. Whoever
 * writes one does not escape backslashes, so `\b` in the same string is one of its regular expression, too, and in a
 * path nothing is an escape.
 */
const unescaped = (raw: string): string => {
  if (!raw.includes('\\')) return raw
  const isLiteral = INVALID_ESCAPE.test(raw)
  const isPath = isLiteral && DRIVE.test(raw)
  return raw.replace(ESCAPE, (whole, code: string) => {
    if (code.length > 1) return String.fromCharCode(Number.parseInt(code.slice(1), 16))
    if (code === '"' || code === "'" || code === '\\' || code === '\n') return code
    if (isPath) return whole
    if (code === '/') return code
    if (isLiteral && (code === 'b' || code === 'f')) return whole
    return CONTROL[code] ?? whole
  })
}
