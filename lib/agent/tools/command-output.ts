/** Collects the output of a command: streamed to the page as it is; for the model as a terminal shows it, and limited. */
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import { TerminalScreen } from '../../base/terminal-screen.ts'
import { coloredHead, stripAllButColors, RESET, coloredTail } from '../colors.ts'

const MAX_CHARS = 50_000
const HEAD_CHARS = MAX_CHARS * 0.4
const TAIL_CHARS = MAX_CHARS * 0.6
const MAX_LIVE_CHARS = 200_000
/** Kept in memory until the command ends, for offloading the full output. */
const MAX_WHOLE_CHARS = 5_000_000
const LIVE_EVERY_MS = 40

export type CapturedOutput = { output: string; colored?: string }

/** `live` is called with batched pieces, colors kept. */
export class CommandOutput {
  readonly #clock: Clock
  readonly #live: (text: string) => void
  readonly #decoder = new StringDecoder('utf8')
  readonly #screen = new TerminalScreen(text => this.#keep(text))
  #head = ''
  #tail = ''
  #cutChars = 0
  #whole: string[] = []
  #size = 0
  #pending = ''
  #liveChars = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock, live: (text: string) => void) {
    this.#clock = clock
    this.#live = live
  }

  write(bytes: Buffer): void {
    this.#add(this.#decoder.write(bytes))
  }

  /** Flushes and ends the live output. */
  end(): void {
    this.#add(this.#decoder.end())
    this.#screen.flush()
    this.#flush()
  }

  /** Ends the live output of a program that is still running: what it printed, and the decoder for the rest. */
  handOver() {
    this.#screen.flush()
    this.#flush()
    const output =
      this.#size > MAX_WHOLE_CHARS
        ? { text: this.#tail, omitted: this.#size - this.#tail.length }
        : { text: this.#whole.join(''), omitted: 0 }
    return { decoder: this.#decoder, output }
  }

  /** The text for the model and, with colors, for the page: long output without its middle, with the path of the full text. */
  text(spill: (text: string) => string | null = () => null): CapturedOutput {
    const over = Math.max(0, this.#tail.length - TAIL_CHARS)
    const missing = this.#cutChars + over
    const path =
      missing > 0 ? spill(stripVTControlCharacters(toWhole(this.#whole, this.#size))) : null
    this.#whole = []
    const where = path === null ? '' : `; all of it is in ${path}`
    const note = missing > 0 ? `\n[… ${missing} characters left out${where} …]\n` : ''
    const [begin, end] =
      missing > 0
        ? [coloredHead(this.#head, this.#head.length) + RESET, coloredTail(this.#tail, over)]
        : [this.#head, this.#tail]
    const output = stripVTControlCharacters(`${begin}${note}${end}`)
    const colored = stripAllButColors(`${begin}${note}${end}`)
    return { output, ...(colored !== null && { colored }) }
  }

  #add(text: string): void {
    this.#screen.write(text)
    // Not cut here: each cut would copy what is pending.
    if (this.#liveChars + this.#pending.length >= MAX_LIVE_CHARS) return
    this.#pending += text
    this.#cancel ??= this.#clock.timer(LIVE_EVERY_MS, () => this.#flush())
  }

  #flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    if (this.#pending === '') return
    const text = this.#pending.slice(0, MAX_LIVE_CHARS - this.#liveChars)
    this.#liveChars += text.length
    this.#pending = ''
    this.#live(
      this.#liveChars >= MAX_LIVE_CHARS ? `${text}\n[… more output is not shown live …]\n` : text,
    )
  }

  #keep(text: string): void {
    if (this.#size < MAX_WHOLE_CHARS) this.#whole.push(text.slice(0, MAX_WHOLE_CHARS - this.#size))
    this.#size += text.length
    const free = Math.max(0, HEAD_CHARS - this.#head.length)
    this.#head += text.slice(0, free)
    this.#tail += text.slice(free)
    // Trim in large steps; trimming on every chunk would copy the tail each time.
    if (this.#tail.length > TAIL_CHARS * 4) {
      // A little more, to detect a cut escape sequence.
      this.#cutChars += this.#tail.length - TAIL_CHARS - 64
      this.#tail = this.#tail.slice(-TAIL_CHARS - 64)
    }
  }
}

const toWhole = (pieces: readonly string[], length: number): string =>
  length > MAX_WHOLE_CHARS
    ? `${pieces.join('')}\n[… ${length - MAX_WHOLE_CHARS} more characters were not kept …]\n`
    : pieces.join('')
