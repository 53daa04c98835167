/** Separates the thinking that some models write as a tag at the very start of their answer. */

type Piece = { type: 'text' | 'reasoning'; text: string }

const OPEN = ['<think>', '<thinking>', '<thought>', '<reasoning>']

/** Only the start counts: a tag later on is part of the answer, for example in an answer about tags. */
export const createThinkSplitter = () => {
  let state: 'start' | 'thinking' | 'text' = 'start'
  let held = ''
  let close = ''
  let seen = ''
  let said = 0

  const atStart = (): Piece[] => {
    const trimmed = held.trimStart()
    const open = OPEN.find(tag => trimmed.startsWith(tag))
    if (open) {
      state = 'thinking'
      close = open.replace('<', '</')
      held = trimmed.slice(open.length)
      return thinking()
    }
    if (OPEN.some(tag => tag.startsWith(trimmed))) return []
    state = 'text'
    return take('text')
  }

  const thinking = (): Piece[] => {
    const end = held.indexOf(close)
    if (end >= 0) {
      const thought = held.slice(0, end)
      held = held.slice(end + close.length).trimStart()
      // White space between the tag and the answer may still be under way.
      state = held === '' ? 'start' : 'text'
      return [...piece('reasoning', thought), ...take('text')]
    }
    // What could be the beginning of the closing tag waits for the next piece.
    let safe = held.length
    for (let size = Math.min(close.length - 1, held.length); size > 0; size--)
      if (close.startsWith(held.slice(-size))) {
        safe = held.length - size
        break
      }
    const thought = held.slice(0, safe)
    held = held.slice(safe)
    return piece('reasoning', thought)
  }

  const take = (type: Piece['type']): Piece[] => {
    const text = held
    held = ''
    if (type === 'text') said += text.length
    return piece(type, text)
  }

  return {
    push(text: string): Piece[] {
      seen += text
      held += text
      if (state === 'start') return atStart()
      return state === 'thinking' ? thinking() : take('text')
    },
    /** What was held back and now turns out to be what it looks like. */
    end: (): Piece[] => take(state === 'thinking' ? 'reasoning' : 'text'),
    isOpen: () => state === 'thinking',
    /** After the end: everything in front of the text, tags and white space included. */
    inline: (): string => seen.slice(0, seen.length - said),
  }
}

const piece = (type: Piece['type'], text: string): Piece[] => (text === '' ? [] : [{ type, text }])
