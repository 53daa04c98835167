/** Separates reasoning that some models write in a tag such as `<think>` at the start of the response. */

type Piece = { type: 'text' | 'reasoning'; text: string }

const OPEN = ['<think>', '<thinking>', '<thought>', '<reasoning>']

/** Only a tag at the start counts; later ones are content, for example in a response about tags. */
export const createThinkSplitter = () => {
  let state: 'start' | 'thinking' | 'text' = 'start'
  let held = ''
  let close = ''
  let seen = ''
  let textChars = 0

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
      // White space after the tag may still follow.
      state = held === '' ? 'start' : 'text'
      return [...piece('reasoning', thought), ...take('text')]
    }
    // Hold back a possible start of the closing tag.
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
    if (type === 'text') textChars += text.length
    return piece(type, text)
  }

  const splitter = {
    /** The text has begun: what follows is text, and needs no splitting. */
    isOver: false,
    push(text: string): Piece[] {
      seen += text
      held += text
      const pieces =
        state === 'start' ? atStart() : state === 'thinking' ? thinking() : take('text')
      splitter.isOver = state === 'text'
      return pieces
    },
    /** Returns held-back text. */
    end: (): Piece[] => take(state === 'thinking' ? 'reasoning' : 'text'),
    isOpen: () => state === 'thinking',
    /** After `end`: everything before the text, including tags and white space. */
    inline: (): string => seen.slice(0, seen.length - textChars),
  }
  return splitter
}

const piece = (type: Piece['type'], text: string): Piece[] => (text === '' ? [] : [{ type, text }])
