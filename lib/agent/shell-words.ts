/** Takes a shell command line apart as far as judging it needs: simple commands, their words without quotes, redirections, pipes. */

export type ShellCommand = {
  /** Quotes and backslashes resolved; variables and substitutions left as text. */
  words: string[]
  redirects: { op: string; target: string }[]
  /** Reads what the command before it writes. */
  piped: boolean
}

const MAX_DEPTH = 6

/**
 * Every simple command in reading order, those inside `$(…)`, backticks and `<(…)` behind the one they stand in.
 * Errs on the side of seeing too many commands: text in quotes is never one, text in a here-document always is.
 */
export const parseShell = (text: string, depth = 0): ShellCommand[] => {
  if (depth > MAX_DEPTH) return []
  const scan = createScan()
  const nested: string[] = []
  let at = 0

  const inner = (end: number, from: number) => {
    nested.push(text.slice(from, end))
    scan.add(text.slice(at, end + 1))
    at = end + 1
  }

  /** `$…` outside single quotes. */
  const dollar = (quoted: boolean) => {
    const next = text[at + 1]
    if (next === '(') return inner(closing(text, at + 2, '(', ')'), at + 2)
    if (next === '{') {
      const end = closing(text, at + 2, '{', '}')
      nested.push(...substitutionsIn(text.slice(at + 2, end)))
      scan.add(text.slice(at, end + 1))
      at = end + 1
      return
    }
    if (next === "'" && !quoted) {
      const end = quoteEnd(text, at + 2)
      scan.add(decodeAnsiC(text.slice(at + 2, end)))
      at = end + 1
      return
    }
    // `$"…"` is a quoted text like any other.
    if (!(next === '"' && !quoted)) scan.add('$')
    at++
  }

  const backtick = () => inner(indexOr(text, '`', at + 1), at + 1)

  const doubleQuoted = () => {
    scan.add('')
    at++
    while (at < text.length && text[at] !== '"') {
      const char = text[at]
      if (char === '$') dollar(true)
      else if (char === '`') backtick()
      else {
        const escapes = char === '\\' && '"\\$`\n'.includes(text[at + 1] ?? '')
        scan.add((escapes ? text[at + 1] : char) ?? '')
        at += escapes ? 2 : 1
      }
    }
    at++
  }

  while (at < text.length) {
    const char = text[at] ?? ''
    if (char === '\\') {
      scan.add(text[at + 1] ?? '')
      at += 2
    } else if (char === "'") {
      const end = indexOr(text, "'", at + 1)
      scan.add(text.slice(at + 1, end))
      at = end + 1
    } else if (char === '"') doubleQuoted()
    else if (char === '$') dollar(false)
    else if (char === '`') backtick()
    else if (char === '#' && !scan.inWord()) at = indexOr(text, '\n', at)
    else if ((char === '<' || char === '>') && text[at + 1] === '(')
      inner(closing(text, at + 2, '(', ')'), at + 2)
    else if (char === '<' || char === '>' || (char === '&' && text[at + 1] === '>')) {
      const op = /^(?:&>>?|<<<|<<-?|<>|[<>]&|>>|>\||[<>])/.exec(text.slice(at, at + 3))?.[0] ?? char
      scan.redirect(op)
      at += op.length
    } else if (char === '|' && text[at + 1] !== '|') {
      scan.endCommand(true)
      at += text[at + 1] === '&' ? 2 : 1
    } else if (/[\n;&|()]/.test(char)) {
      scan.endCommand(false)
      at += char === '|' ? 2 : 1
    } else if (/\s/.test(char)) {
      scan.endWord()
      at++
    } else {
      scan.add(char)
      at++
    }
  }
  scan.endCommand(false)
  return [...scan.commands, ...nested.flatMap(part => parseShell(part, depth + 1))]
}

/** Gathers characters into words, words into commands. */
const createScan = () => {
  const commands: ShellCommand[] = []
  let word: string | null = null
  let op: string | null = null
  let current: ShellCommand = { words: [], redirects: [], piped: false }
  const endWord = () => {
    if (word === null) return
    if (op === null) current.words.push(word)
    else current.redirects.push({ op, target: word })
    word = null
    op = null
  }
  return {
    commands,
    inWord: () => word !== null,
    add: (text: string) => {
      word = (word ?? '') + text
    },
    endWord,
    redirect(next: string): void {
      // A number directly before it is a descriptor, not a word.
      if (word !== null && /^\d+$/.test(word) && op === null) word = null
      endWord()
      op = next
    },
    endCommand(piping: boolean): void {
      endWord()
      op = null
      if (current.words.length > 0 || current.redirects.length > 0) commands.push(current)
      current = { words: [], redirects: [], piped: piping }
    },
  }
}

const indexOr = (text: string, char: string, from: number): number => {
  const found = text.indexOf(char, from)
  return found < 0 ? text.length : found
}

/** The end of `$'…'`, in which a backslash escapes the quote. */
const quoteEnd = (text: string, from: number): number => {
  let at = from
  while (at < text.length && text[at] !== "'") at += text[at] === '\\' ? 2 : 1
  return Math.min(at, text.length)
}

/** The bracket that closes the one before `from`, quotes respected. */
const closing = (text: string, from: number, open: string, close: string): number => {
  let depth = 1
  let at = from
  while (at < text.length) {
    const char = text[at]
    if (char === '\\') at++
    else if (char === "'") at = indexOr(text, "'", at + 1)
    else if (char === '"') {
      at++
      while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
    } else if (char === open) depth++
    else if (char === close && --depth === 0) return at
    at++
  }
  return text.length
}

const substitutionsIn = (text: string): string[] => (/[`$]/.test(text) ? [text] : [])

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', e: '\x1b', a: '\x07' }

const decodeAnsiC = (text: string): string =>
  text.replace(
    /\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{1,4})|U([0-9a-f]{1,6})|([0-7]{1,3})|([\s\S]))/gi,
    (_, hex, short, long, octal, char) => {
      const code = Number.parseInt(hex ?? short ?? long ?? octal, octal === undefined ? 16 : 8)
      if (char === undefined) return code <= 0x10ffff ? String.fromCodePoint(code) : ''
      return ESCAPES[char] ?? char
    },
  )
