/** Where a tool call may begin in a text that is still being written. */
import { hasMark } from './call-dialects.ts'

/** How the marks begin, as far as it is always the same. */
const OPENINGS = [
  '<tool_call',
  '<tools>',
  '<tool>',
  '<tool_code>',
  '<function',
  '<start_function_call>',
  '<FUNCTION_CALL>',
  '<TOOLCALL>',
  '<invoke',
  '<minimax:',
  '<deepseek:',
  '<|',
  '<｜',
  '[TOOL_',
]
/** Words, which are marks only where a line begins. */
const LINE_OPENINGS = [
  'commentary to=',
  'analysis to=',
  'to=functions.',
  'assistantcommentary to=',
  'assistantanalysis to=',
]
/** A mark that is longer is none. */
const MAX_MARK_CHARS = 120
const MAX_OBJECT_MARK_CHARS = 24
const OBJECT_ALONE = /^\s*\[?\s*\{\s*"(?:name|type|function|tool_name|id)"/
const LIST_ALONE = /^\s*\[[A-Za-z_]\w*\(/

/** What stands before a text: nothing but white space so far, and the last characters. */
export type Before = { isBlank: boolean; near: string }

/** The first character of a mark, or what stands before a word where a line begins. */
const FIRST = /[<[]|\n[ \t]*(?=[act])/
const INDENT = /^[ \t]*(?=[act])/
const LINE_START = /\n[ \t]*$/

/** Where a call may begin in a text that is still being written; its length when nowhere. */
export const mayBegin = (text: string, { isBlank, near }: Before): number => {
  if (isBlank && /^\s*[[{]/.test(text)) return 0
  const indent = isBlank || LINE_START.test(near) ? INDENT.exec(text) : null
  if (indent) return indent[0].length
  const found = FIRST.exec(text)
  if (!found) return text.length
  return found[0].startsWith('\n') ? found.index + found[0].length : found.index
}

/** A tag with any namespace. */
const NAMESPACE = /^<(?:$|[a-z]+(?:$|:$|:[fit]))/

/** Whether a call begins with this text, as far as it was written. Without a mark, it has to name a tool. */
export const beginsCall = (
  text: string,
  { isBlank: isStart }: Before,
  names: readonly string[],
): 'yes' | 'no' | 'maybe' => {
  if (hasMark(text)) return 'yes'
  const isMark =
    NAMESPACE.test(text) ||
    [...OPENINGS, ...LINE_OPENINGS].some(each => each.startsWith(text) || text.startsWith(each))
  if (isMark && text.length < MAX_MARK_CHARS) return 'maybe'
  if (!isStart || !/^\s*[[{]/.test(text)) return 'no'
  const mayBe = OBJECT_ALONE.test(text) || LIST_ALONE.test(text)
  if (mayBe && names.some(name => text.includes(name))) return 'yes'
  return text.length < (mayBe ? MAX_MARK_CHARS : MAX_OBJECT_MARK_CHARS) ? 'maybe' : 'no'
}
