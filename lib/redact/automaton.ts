/**
 * Finds many words in one pass over a text (Aho–Corasick): the time does not depend on how many words there are.
 * A word is found also where white space, a colour sequence or an escaped line break (`\n`) stands inside it: programs fold and color what they print.
 */

export type Word<T> = {
  text: string
  tag: T
  /**
   * What a stream does with a text that ends inside this word. `never`: sends it. `whole`: waits, if a word may begin
   * there and nothing stands inside it. A number: waits behind so many characters, which may be sent in any case.
   */
  waits: 'never' | 'whole' | number
}

export type Automaton<T> = {
  /** `found` gets every occurrence, ordered by its end. Answers from where on a stream has to wait. */
  scan: (text: string, found: (from: number, to: number, tag: T) => void) => number
}

/** So many characters between two of a word are more than any program folds by. */
const LONGEST_GAP = 80
/** `\n` may also be a backslash before the first letter of a word: so many letters tell. */
const TELLING = 4
const PAIRS = 1 << 14
const BACKSLASH = 92
const ESCAPE = 27
const ESCAPED_COLOR = /u001[bB]\[[0-9;?]*[A-Za-z]/y

const UNFINISHED_COLOR = /^u(?:0(?:0(?:1(?:[bB](?:\[[0-9;?]*)?)?)?)?)?$/

const isBlank = (code: number): boolean =>
  code === 32 || code === 10 || code === 13 || code === 9 || code === ESCAPE

const BETWEEN = [32, 10, 13, 9, ESCAPE, BACKSLASH]

const isBreakLetter = (code: number): boolean => code === 110 || code === 114 || code === 116

const pairOf = (first: number, second: number): number => ((first * 131) ^ second) & (PAIRS - 1)

/** Just behind a color sequence; the length of the text when it is not whole yet, -1 when there is none. */
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

/** What of a word is compared: everything but what may stand inside one. */
const comparable = (text: string): string => text.replace(/\\+[nrt]|\s/g, '')

type Nodes = {
  kids: Map<number, number>[]
  fail: number[]
  depth: number[]
  /** Words that end here. */
  ends: number[][]
  /** The next shorter suffix at which a word ends; 0 for none. */
  more: number[]
  /** Of the words that may still come of it: whether one waits as a whole, and how little of the others may be sent. */
  whole: boolean[]
  sent: number[]
}

const plant = (words: readonly Pick<Word<unknown>, 'text' | 'waits'>[]): Nodes => {
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
      // At its last character it is whole: nothing is left to wait for.
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
  given: readonly Word<T>[],
  /** Whether a word that waits as a whole may begin here. */
  begins: (text: string, at: number) => boolean,
): Automaton<T> => {
  const words = given
    .map(word => ({ ...word, text: comparable(word.text) }))
    .filter(({ text }) => text.length > 1)
  const nodes = plant(words)
  link(nodes)
  const size = nodes.kids.length
  const fail = Int32Array.from(nodes.fail)
  const depth = Int32Array.from(nodes.depth)
  const more = Int32Array.from(nodes.more)
  const root = new Int32Array(65_536)
  const pairs = new Uint8Array(PAIRS)
  // Most nodes have one successor: two arrays are much faster to look into than a map.
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
  for (const { text } of words) {
    const first = text.charCodeAt(0)
    for (const second of [text.charCodeAt(1), ...BETWEEN]) pairs[pairOf(first, second)] = 1
  }
  let longest = 1
  for (const { text } of words) longest = Math.max(longest, text.length)
  let ringSize = 2
  while (ringSize < longest + 1) ringSize *= 2
  const ringMask = ringSize - 1

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
    scan(text, found) {
      const { length } = text
      // Where the last characters that were compared stand.
      const ring = new Int32Array(ringSize)
      let compared = 0
      let node = 0
      let gap = 0
      let at = 0
      /** Whether the letter behind a backslash begins another word; null where the text ends too early to tell. */
      const isOtherWord = (place: number): boolean | null => {
        let other = root[text.charCodeAt(place)] as number
        for (let next = place + 1; next < place + TELLING && other !== 0; next++) {
          if (next >= length) return null
          other = kidOf(other, text.charCodeAt(next))
        }
        return other !== 0
      }
      /** Where the text goes on behind what may stand inside a word; `at` itself when a character is to be compared. */
      const skip = (): number => {
        const code = text.charCodeAt(at)
        if (code === ESCAPE) {
          const after = afterColor(text, at)
          return after === -1 ? at : after
        }
        if (isBlank(code)) return at + 1
        if (code !== BACKSLASH) return at
        let end = at + 1
        while (end < length && text.charCodeAt(end) === BACKSLASH) end++
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
        let code = text.charCodeAt(at)
        if (node === 0) {
          // Most of a text begins no word: two looks at tables for each of its characters.
          for (; at + 1 < length; at++) {
            const next = text.charCodeAt(at + 1)
            if (pairs[pairOf(code, next)] === 1 && root[code] !== 0) break
            code = next
          }
        } else if (code <= 32 || code === BACKSLASH) {
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
        ring[++compared & ringMask] = at
        at++
        if (isEnd[node] === 1) {
          for (let end = node; end !== 0; end = more[end] as number) {
            for (const index of nodes.ends[end] ?? []) {
              const word = words[index] as Word<T>
              const from = ring[(compared - word.text.length + 1) & ringMask] as number
              found(from, at, word.tag)
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
