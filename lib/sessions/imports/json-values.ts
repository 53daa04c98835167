/**
 * Splits a stream of JSON into its objects: the elements of a list, or objects one after another. Only the bytes of one
 * of them are kept at a time; one that is too large is read past.
 */
import { invalid } from '../../errors.ts'

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const BRACKETS = { '{': 0x7b, '}': 0x7d, '[': 0x5b, ']': 0x5d }
/** A tree of messages nests twice for each message. */
const MAX_DEPTH = 20_000

export type JsonValue =
  | { bytes: Buffer }
  /** `cut`: the stream ended within a value or before the end of the list. */
  | { problem: 'too_large' | 'too_deep' | 'cut' }

const isBlank = (byte: number): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const notJson = () =>
  invalid('This is no export: the file is neither JSON nor a ZIP archive.', {
    code: 'import_unknown',
  })

export async function* jsonValues(
  chunks: AsyncIterable<Buffer>,
  {
    maxBytes,
    onKept,
  }: {
    maxBytes: number
    /** Called with each number of bytes that are kept. */
    onKept?: ((bytes: number) => void) | undefined
  },
): AsyncGenerator<JsonValue> {
  const { '{': open, '}': close, '[': openList, ']': closeList } = BRACKETS
  let list: Buffer[] = []
  let size = 0
  let depth = 0
  const openers: number[] = []
  let isInString = false
  let isEscaped = false
  let problem: 'too_large' | 'too_deep' | null = null
  let isList: boolean | null = null
  let isClosed = false
  let isFirst = true

  const keep = (part: Buffer) => {
    size += part.length
    if (size > maxBytes) problem ??= 'too_large'
    if (problem) list = []
    else {
      list.push(part)
      onKept?.(size)
    }
  }

  for await (const chunk of chunks) {
    // A byte order mark, which some programs write.
    let at = isFirst && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf ? 3 : 0
    isFirst = false
    let start = depth > 0 ? 0 : -1
    for (; at < chunk.length; at++) {
      const byte = chunk[at]!
      if (isInString) {
        if (isEscaped) isEscaped = false
        else if (byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) isInString = false
      } else if (isList === null && byte === openList) isList = true
      else if (byte === open || byte === openList) {
        isList ??= false
        if (depth === 0) start = at
        if (depth < MAX_DEPTH) openers[depth] = byte
        depth += 1
        if (depth > MAX_DEPTH) problem ??= 'too_deep'
      } else if (byte === close || byte === closeList) {
        if (depth === 0) isClosed = true
        // A bracket that does not match is in a value that is not JSON; the next one must not be lost with it.
        const opener = byte === close ? open : openList
        while (depth > 1 && depth <= MAX_DEPTH && openers[depth - 1] !== opener) depth -= 1
        depth = Math.max(0, depth - 1)
        if (depth > 0 || start < 0) continue
        keep(chunk.subarray(start, at + 1))
        yield problem ? { problem } : { bytes: list.length === 1 ? list[0]! : Buffer.concat(list) }
        start = -1
        list = []
        size = 0
        problem = null
      } else if (byte === QUOTE && isList !== null) isInString = true
      else if (isList === null && !isBlank(byte)) throw notJson()
    }
    if (start >= 0 && start < chunk.length) keep(chunk.subarray(start))
  }
  if (isList === null) throw notJson()
  if (depth > 0 || isInString || (isList && !isClosed)) yield { problem: 'cut' }
}
