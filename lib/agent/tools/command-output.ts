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

export type Printed = { output: string; colored?: string }

/** `live` is called with batched pieces, colors kept; `text` returns head and tail. */
export const createOutput = (clock: Pick<Clock, 'timer'>, live: (text: string) => void) => {
  const decoder = new StringDecoder('utf8')
  let head = ''
  let tail = ''
  let left = 0
  let whole: string[] = []
  let held = 0
  let pending = ''
  let shown = 0
  let cancel: (() => void) | undefined

  const flush = () => {
    cancel?.()
    cancel = undefined
    if (pending === '') return
    const text = pending.slice(0, MAX_LIVE_CHARS - shown)
    shown += text.length
    pending = ''
    live(shown >= MAX_LIVE_CHARS ? `${text}\n[… more output is not shown live …]\n` : text)
  }

  const keep = (text: string) => {
    if (held < MAX_WHOLE_CHARS) whole.push(text.slice(0, MAX_WHOLE_CHARS - held))
    held += text.length
    const free = Math.max(0, HEAD_CHARS - head.length)
    head += text.slice(0, free)
    tail += text.slice(free)
    // Trim in large steps; trimming on every chunk would copy the tail each time.
    if (tail.length > TAIL_CHARS * 4) {
      // A little more, to detect a cut escape sequence.
      left += tail.length - TAIL_CHARS - 64
      tail = tail.slice(-TAIL_CHARS - 64)
    }
  }
  const screen = new TerminalScreen(keep)

  const add = (text: string) => {
    screen.write(text)
    if (shown >= MAX_LIVE_CHARS) return
    pending = (pending + text).slice(0, MAX_LIVE_CHARS)
    cancel ??= clock.timer(LIVE_EVERY_MS, flush)
  }

  return {
    write: (bytes: Buffer): void => add(decoder.write(bytes)),
    /** Flushes and ends the live output. */
    end(): void {
      add(decoder.end())
      screen.flush()
      flush()
    },
    /** Ends the live output of a program that is still running: what it printed, and the decoder for the rest. */
    handOver() {
      screen.flush()
      flush()
      return {
        decoder,
        output:
          held > MAX_WHOLE_CHARS
            ? { text: tail, omitted: held - tail.length }
            : { text: whole.join(''), omitted: 0 },
      }
    },
    /** The text for the model and, with colors, for the page: long output without its middle, with the path of the full text. */
    text(spill: (text: string) => string | null = () => null): Printed {
      const over = Math.max(0, tail.length - TAIL_CHARS)
      const missing = left + over
      const path = missing > 0 ? spill(stripVTControlCharacters(toWhole(whole, held))) : null
      whole = []
      const where = path === null ? '' : `; all of it is in ${path}`
      const note = missing > 0 ? `\n[… ${missing} characters left out${where} …]\n` : ''
      const [begin, end] =
        missing > 0
          ? [coloredHead(head, head.length) + RESET, coloredTail(tail, over)]
          : [head, tail]
      const output = stripVTControlCharacters(`${begin}${note}${end}`)
      const colored = stripAllButColors(`${begin}${note}${end}`)
      return { output, ...(colored !== null && { colored }) }
    },
  }
}

const toWhole = (pieces: readonly string[], length: number): string =>
  length > MAX_WHOLE_CHARS
    ? `${pieces.join('')}\n[… ${length - MAX_WHOLE_CHARS} more characters were not kept …]\n`
    : pieces.join('')
