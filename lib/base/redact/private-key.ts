/** Private keys in PEM, also JSON-escaped or without an end. */
import type { Shape } from './shapes.ts'

const LONGEST_BLOCK = 16_384
const BLOCK_HEAD = /-----BEGIN[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const BLOCK_END = /-----END[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/
/** One step over the lines of a key. An unbounded pattern would exhaust the stack of the regular expression engine. */
const BLOCK_LINE =
  /(?:\s|\\{1,64}[nr]){0,1000}[A-Za-z0-9+/=]{16,4096}|(?<=[A-Za-z0-9+/=])[A-Za-z0-9+/=]+/y

/** End of the lines of base64 that begin at `from`. */
const linesEnd = (text: string, from: number): number => {
  let end = from
  BLOCK_LINE.lastIndex = from
  while (BLOCK_LINE.test(text)) end = BLOCK_LINE.lastIndex
  return end
}

/** End of the block that begins with this head; undefined when it isn't found. */
const blockEnd = (text: string, head: number): number | undefined => {
  const next = text.indexOf('-----BEGIN', head)
  const most = Math.min(text.length, head + LONGEST_BLOCK, next === -1 ? Infinity : next)
  const found = BLOCK_END.exec(text.slice(head, most))
  // Shell metacharacters are not part of a key.
  if (!found || /[;&$()<>`]/.test(text.slice(head, head + found.index))) return undefined
  return head + found.index + found[0].length
}

export const PRIVATE_KEY: Shape = {
  words: ['-----BEGIN'],
  waits: true,
  match(text, at, _after, final) {
    BLOCK_HEAD.lastIndex = at
    if (!BLOCK_HEAD.test(text)) {
      const isHeadYet = /^-----BEGIN[A-Z ]{0,60}-{0,4}$/.test(text.slice(at, at + 90))
      return !final && isHeadYet && text.length - at < 90 ? { pending: at } : null
    }
    const head = BLOCK_HEAD.lastIndex
    const end = blockEnd(text, head)
    if (end === undefined && !final && text.length - head < LONGEST_BLOCK) return { pending: at }
    return { from: at, to: end ?? linesEnd(text, head), as: '[REDACTED PRIVATE KEY]' }
  },
  maybe: /[A-Z ]{0,40}PRIVATE KEY/y,
}
