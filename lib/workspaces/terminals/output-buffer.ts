/** The last output of a terminal, addressed by its position since the start. */

/** UTF-16 units: about 10,000 lines of a build. */
const MAX_UNITS = 1_000_000
const UNITS_PER_CHUNK = 16_384
/** Of one read. */
const MAX_READ_UNITS = 131_072

export type OutputSlice = { text: string; next: number; reset: boolean; more: boolean }

/** A cut between the two halves of a character outside the basic plane would destroy it. */
const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

export class OutputBuffer {
  readonly #maxUnits: number
  #chunks: string[] = []
  #start = 0
  #end = 0

  constructor(maxUnits = MAX_UNITS) {
    this.#maxUnits = maxUnits
  }

  /** Position after the last output. */
  get end(): number {
    return this.#end
  }

  append(text: string): void {
    const last = this.#chunks.length - 1
    if (last >= 0 && this.#chunks[last]!.length < UNITS_PER_CHUNK) this.#chunks[last] += text
    else this.#chunks.push(text)
    this.#end += text.length
    while (this.#chunks.length > 1 && this.#end - this.#start > this.#maxUnits)
      this.#start += this.#chunks.shift()!.length
  }

  /** Output from a position on. From the oldest whole line when that position is no longer stored, or was never reached. */
  read(after: number): OutputSlice {
    const isStored = after >= this.#start && after <= this.#end
    const from = isStored ? after : this.#oldestLine()
    let text = ''
    let at = this.#start
    for (const chunk of this.#chunks) {
      const skipped = Math.max(0, from - at)
      if (skipped < chunk.length)
        text += chunk.slice(skipped, skipped + MAX_READ_UNITS - text.length)
      at += chunk.length
      if (text.length >= MAX_READ_UNITS) break
    }
    if (from + text.length < this.#end && isHighSurrogate(text.charCodeAt(text.length - 1)))
      text = text.slice(0, -1)
    const next = from + text.length
    return { text, next, reset: !isStored, more: next < this.#end }
  }

  /** The first bytes may be the middle of an escape sequence, so a truncated buffer starts after a line break. */
  #oldestLine(): number {
    if (this.#start === 0) return 0
    const line = this.#chunks[0]!.indexOf('\n')
    return this.#start + line + 1
  }
}
