/** Separates reasoning that some models write in a tag such as `<think>` at the start of the response. */
import { type TextDelta, pieceOf } from './stream-request.ts'

const OPEN = ['<think>', '<thinking>', '<thought>', '<reasoning>']

/** Only a tag at the start counts; later ones are content, for example in a response about tags. */
export class ThinkSplitter {
  /** The text has begun: what follows is text, and needs no splitting. */
  isOver = false
  #state: 'start' | 'thinking' | 'text' = 'start'
  #buffer = ''
  #close = ''
  #seen = ''
  #textChars = 0

  push(text: string): TextDelta[] {
    this.#seen += text
    this.#buffer += text
    const pieces =
      this.#state === 'start'
        ? this.#atStart()
        : this.#state === 'thinking'
          ? this.#thinking()
          : this.#take('text')
    this.isOver = this.#state === 'text'
    return pieces
  }

  /** Returns held-back text. */
  end(): TextDelta[] {
    return this.#take(this.isOpen() ? 'reasoning' : 'text')
  }

  isOpen(): boolean {
    return this.#state === 'thinking'
  }

  /** After `end`: everything before the text, including tags and white space. */
  inline(): string {
    return this.#seen.slice(0, this.#seen.length - this.#textChars)
  }

  #atStart(): TextDelta[] {
    const trimmed = this.#buffer.trimStart()
    const open = OPEN.find(tag => trimmed.startsWith(tag))
    if (open) {
      this.#state = 'thinking'
      this.#close = open.replace('<', '</')
      this.#buffer = trimmed.slice(open.length)
      return this.#thinking()
    }
    if (OPEN.some(tag => tag.startsWith(trimmed))) return []
    this.#state = 'text'
    return this.#take('text')
  }

  #thinking(): TextDelta[] {
    const [buffer, close] = [this.#buffer, this.#close]
    const end = buffer.indexOf(close)
    if (end >= 0) {
      this.#buffer = buffer.slice(end + close.length).trimStart()
      // White space after the tag may still follow.
      this.#state = this.#buffer === '' ? 'start' : 'text'
      return [...pieceOf('reasoning', buffer.slice(0, end)), ...this.#take('text')]
    }
    // Hold back a possible start of the closing tag.
    let size = Math.min(close.length - 1, buffer.length)
    while (size > 0 && !close.startsWith(buffer.slice(-size))) size--
    const safe = buffer.length - size
    this.#buffer = buffer.slice(safe)
    return pieceOf('reasoning', buffer.slice(0, safe))
  }

  #take(type: 'text' | 'reasoning'): TextDelta[] {
    const text = this.#buffer
    this.#buffer = ''
    if (type === 'text') this.#textChars += text.length
    return pieceOf(type, text)
  }
}
