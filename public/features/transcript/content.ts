/** Helpers for one message: time and markers. */
import type { Message } from '../../../lib/schema/message.ts'

export const secondsOf = (message: Message): number | null =>
  message._ts ?? message.timestamp ?? null

/** Prefix of compaction summaries, shared by all clients. */
export const isCompaction = (message: Message): boolean =>
  typeof message.content === 'string' && /^\[context compaction/i.test(message.content)

export const isCancelMarker = (message: Message): boolean =>
  message._error === true && message.content === '*Task cancelled.*'

/** Characters per row: longer text is split between blocks, so that long answers can be virtualized. */
const PIECE = 6000

/** Splits only at blank lines between paragraphs, never in fences, lists, tables or quotes. */
export const splitText = (text: string): string[] => {
  if (text.length <= PIECE * 1.5) return [text]
  const pieces: string[] = []
  let start = 0
  let fence = ''
  let blank = false
  for (let at = 0; at < text.length; ) {
    const index = text.indexOf('\n', at)
    const end = index < 0 ? text.length : index
    const line = text.slice(at, Math.min(end, at + 120))
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? ''
    if (!fence && blank && at - start >= PIECE && (mark || /^[\p{L}\p{N}#*_"“(`[]/u.test(line))) {
      // A list marker may continue the list above.
      if (!/^(?:\d{1,9}[.)]|[*+-])\s/.test(line)) {
        pieces.push(text.slice(start, at))
        start = at
      }
    }
    if (mark && !fence) fence = mark
    else if (mark && mark[0] === fence[0] && mark.length >= fence.length) fence = ''
    blank = line.trim() === ''
    at = end + 1
  }
  pieces.push(text.slice(start))
  return pieces
}
