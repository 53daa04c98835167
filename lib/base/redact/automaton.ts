/**
 * Multi-pattern search (Aho–Corasick): one pass over the text, independent of the number of words.
 * White space, color sequences, and escaped line breaks (`\n`) inside a word are ignored, because programs wrap and color their output.
 */

export type Word<T> = {
  text: string
  tag: T
  /**
   * What a stream does when the text ends inside this word. `never`: emit it. `whole`: hold back the whole word, if a
   * token may begin there and it has no gaps. A number: emit that many characters and hold back the rest.
   */
  waits: 'never' | 'whole' | number
}

export type Automaton<T> = {
  /** Calls `onMatch` for every match, ordered by end. Returns the index from which a stream must hold back. */
  scan: (text: string, onMatch: (from: number, to: number, tag: T) => void) => number
}

/** Longest gap inside a word, in characters; no program wraps with more. */
const LONGEST_GAP = 80
/** `\n` may also be a backslash before a word that begins with `n`: letters compared to tell them apart. */
const LOOKAHEAD = 4
const BACKSLASH = 92
const ESCAPE = 27
const ESCAPED_COLOR = /u001[bB]\[[0-9;?]{0,32}[A-Za-z]/y

const UNFINISHED_COLOR = /^u(?:0(?:0(?:1(?:[bB](?:\[[0-9;?]*)?)?)?)?)?$/

const isBlank = (code: number): boolean =>
  code === 32 || code === 10 || code === 13 || code === 9 || code === ESCAPE

const BLANKS = [32, 10, 13, 9]
const BETWEEN = [...BLANKS, ESCAPE, BACKSLASH]
/** What follows when a backslash, or an escape character, begins a gap. */
const AFTER_BACKSLASH = [...'\\nrtu'].map(letter => letter.charCodeAt(0))
const AFTER_ESCAPE = ['['.charCodeAt(0)]
const ANY = Array.from({ length: 128 }, (_, code) => code)

const isBreakLetter = (code: number): boolean => code === 110 || code === 114 || code === 116

/** Three characters, of seven bits each: exact for ASCII. */
const START_BITS = 21
const START_MASK = (1 << START_BITS) - 1

const shifted = (start: number, code: number): number => ((start << 7) | (code & 127)) & START_MASK

/** A bit for every three characters with which a word may begin, gaps included. */
const startsOf = (words: readonly string[]): Uint32Array => {
  const starts = new Uint32Array(1 << (START_BITS - 5))
  for (const text of words) {
    const [first = 0, second = 0] = [text.charCodeAt(0), text.charCodeAt(1)]
    const add = (next: number, codes: readonly number[]) => {
      for (const code of codes) {
        const start = shifted(shifted(first, next), code)
        starts[start >> 5]! |= 1 << (start & 31)
      }
    }
    add(second, text.length === 2 ? ANY : [text.charCodeAt(2), ...BETWEEN])
    for (const blank of BLANKS) add(blank, [second, ...BETWEEN])
    add(BACKSLASH, AFTER_BACKSLASH)
    add(ESCAPE, AFTER_ESCAPE)
  }
  return starts
}

/** Index after a color sequence; the text length when the sequence is incomplete, -1 when there is none. */
const afterColor = (text: string, at: number): number => {
  if (at + 1 >= text.length) return text.length
  if (text[at + 1] !== '[') return -1
  for (let end = at + 2; end < text.length && end < at + 32; end++) {
    const code = text.charCodeAt(end)
    if (code >= 64 && code <= 126) return end + 1
    if (code < 48 || code > 63) return -1
  }
  return at + 32 > text.length ? text.length : -1
}

/** A word without the characters that are ignored inside a match. The lookbehind keeps long runs of backslashes from being read again and again. */
const comparable = (text: string): string => text.replace(/(?<!\\)\\+[nrt]|\s/g, '')

type Nodes = {
  kids: Map<number, number>[]
  fail: number[]
  depth: number[]
  /** Indexes of the words that end here. */
  ends: number[][]
  /** The next shorter suffix that ends a word; 0 for none. */
  more: number[]
  /** Of the words that continue from here: whether one is held back whole, and the fewest characters the others emit. */
  whole: boolean[]
  sent: number[]
}

const buildTrie = (words: readonly Word<unknown>[]): Nodes => {
  const nodes: Nodes = {
    kids: [new Map()],
    fail: [0],
    depth: [0],
    ends: [[]],
    more: [0],
    whole: [false],
    sent: [Infinity],
  }
  for (const [index, { text, waits }] of words.entries()) {
    let node = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      let kid = nodes.kids[node]?.get(code)
      if (kid === undefined) {
        kid = nodes.kids.length
        nodes.kids[node]?.set(code, kid)
        nodes.kids.push(new Map())
        nodes.fail.push(0)
        nodes.depth.push(at + 1)
        nodes.ends.push([])
        nodes.more.push(0)
        nodes.whole.push(false)
        nodes.sent.push(Infinity)
      }
      node = kid
      // The last character completes the word, so nothing is held back.
      if (at === text.length - 1 || waits === 'never') continue
      if (waits === 'whole') nodes.whole[node] = true
      else nodes.sent[node] = Math.min(nodes.sent[node] as number, waits)
    }
    nodes.ends[node]?.push(index)
  }
  return nodes
}

const link = ({ kids, fail, ends, more }: Nodes): void => {
  const queue = [...(kids[0]?.values() ?? [])]
  for (let next = 0; next < queue.length; next++) {
    const node = queue[next] as number
    for (const [code, kid] of kids[node] ?? []) {
      let back = fail[node] as number
      while (back !== 0 && !kids[back]?.has(code)) back = fail[back] as number
      const target = kids[back]?.get(code) ?? 0
      fail[kid] = target
      more[kid] = (ends[target]?.length ?? 0) > 0 ? target : (more[target] as number)
      queue.push(kid)
    }
  }
}

export const createAutomaton = <T>(
  list: readonly Word<T>[],
  /** Whether a word with `waits: 'whole'` may begin here. */
  begins: (text: string, at: number) => boolean,
): Automaton<T> => {
  const words = list
    .map(word => ({ ...word, text: comparable(word.text) }))
    .filter(({ text }) => text.length > 1)
  const nodes = buildTrie(words)
  link(nodes)
  const size = nodes.kids.length
  const fail = Int32Array.from(nodes.fail)
  const depth = Int32Array.from(nodes.depth)
  const more = Int32Array.from(nodes.more)
  const root = new Int32Array(65_536)
  const starts = startsOf(words.map(({ text }) => text))
  // Most nodes have one child; two arrays are much faster than a map.
  const onlyCode = new Int32Array(size).fill(-1)
  const onlyKid = new Int32Array(size)
  const many: (Map<number, number> | undefined)[] = []
  const isEnd = new Uint8Array(size)
  for (let node = 0; node < size; node++) {
    const kids = nodes.kids[node] as Map<number, number>
    isEnd[node] = (nodes.ends[node]?.length ?? 0) > 0 || more[node] !== 0 ? 1 : 0
    if (node === 0) for (const [code, kid] of kids) root[code] = kid
    else if (kids.size === 1)
      for (const [code, kid] of kids) {
        onlyCode[node] = code
        onlyKid[node] = kid
      }
    else if (kids.size > 1) many[node] = kids
  }
  let longest = 1
  for (const { text } of words) longest = Math.max(longest, text.length)
  let ringSize = 2
  while (ringSize < longest + 1) ringSize *= 2
  const ringMask = ringSize - 1

  /** The next index at which a word may begin, or that of the last two characters. */
  const nextStart = (text: string, from: number): number => {
    const { length } = text
    let start = shifted(text.charCodeAt(from), text.charCodeAt(from + 1))
    for (let next = from + 2; next < length; next++) {
      start = shifted(start, text.charCodeAt(next))
      if ((starts[start >> 5]! >> (start & 31)) & 1) return next - 2
    }
    return Math.max(from, length - 2)
  }

  const kidOf = (node: number, code: number): number =>
    onlyCode[node] === code ? (onlyKid[node] as number) : (many[node]?.get(code) ?? 0)

  const step = (from: number, code: number): number => {
    for (let node = from; node !== 0; node = fail[node] as number) {
      if (onlyCode[node] === code) return onlyKid[node] as number
      const kid = many[node]?.get(code)
      if (kid !== undefined) return kid
    }
    return root[code] as number
  }

  return {
    scan(text, onMatch) {
      const { length } = text
      // Indexes of the most recently compared characters.
      const ring = new Int32Array(ringSize)
      let compared = 0
      let node = 0
      let gap = 0
      let at = 0
      /** Before it, no word begins; behind `at` when that is not known. */
      let start = -1
      /** Whether the letter after a backslash begins another word; null when the text ends too early to tell. */
      const isOtherWord = (from: number): boolean | null => {
        let other = root[text.charCodeAt(from)] as number
        for (let next = from + 1; next < from + LOOKAHEAD && other !== 0; next++) {
          if (next >= length) return null
          other = kidOf(other, text.charCodeAt(next))
        }
        return other !== 0
      }
      /** Index after a gap inside a word; `at` itself when the character must be compared. */
      const skip = (): number => {
        const code = text.charCodeAt(at)
        if (code === ESCAPE) {
          const after = afterColor(text, at)
          return after === -1 ? at : after
        }
        if (isBlank(code)) return at + 1
        if (code !== BACKSLASH) return at
        // Not the whole run, which would be read again at each of its characters.
        const last = Math.min(length, at + LONGEST_GAP)
        let end = at + 1
        while (end < last && text.charCodeAt(end) === BACKSLASH) end++
        if (end >= length) return length
        if (isBreakLetter(text.charCodeAt(end))) {
          const other = isOtherWord(end)
          return other === null ? length : other ? at : end + 1
        }
        if (text[end] !== 'u') return at
        if (length - end < 32 && UNFINISHED_COLOR.test(text.slice(end))) return length
        ESCAPED_COLOR.lastIndex = end
        return ESCAPED_COLOR.test(text) ? ESCAPED_COLOR.lastIndex : at
      }
      while (at < length) {
        // Most characters begin no word.
        if (node === 0) {
          if (start < at) start = nextStart(text, at)
          at = start
        }
        const code = text.charCodeAt(at)
        if (node !== 0 && (code <= 32 || code === BACKSLASH)) {
          const after = skip()
          if (after > at) {
            gap += after - at
            if (gap > LONGEST_GAP) node = 0
            at = after
            continue
          }
        }
        gap = 0
        node = step(node, code)
        // Most words begin with a common letter: without this, the fast path would be left for long.
        if (depth[node] === 1) {
          if (start < at) start = nextStart(text, at)
          if (start !== at) node = 0
        }
        ring[++compared & ringMask] = at
        at++
        if (isEnd[node] === 1) {
          for (let end = node; end !== 0; end = more[end] as number) {
            for (const index of nodes.ends[end] ?? []) {
              const word = words[index] as Word<T>
              const from = ring[(compared - word.text.length + 1) & ringMask] as number
              onMatch(from, at, word.tag)
            }
          }
        }
      }
      let waiting = length
      for (; node !== 0; node = fail[node] as number) {
        const from = ring[(compared - (depth[node] as number) + 1) & ringMask] as number
        const isUnbroken = length - from === depth[node]
        const sent = nodes.sent[node] as number
        if (sent !== Infinity) waiting = Math.min(waiting, isUnbroken ? from + sent : from)
        if (nodes.whole[node] && isUnbroken && begins(text, from)) waiting = Math.min(waiting, from)
      }
      return waiting
    },
  }
}
