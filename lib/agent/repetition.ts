/** Finds a model that goes round in circles: the same call with the same result, or a text that repeats itself. */
import { parseArguments } from './tool-calls.ts'
import type { LoopMessage } from './types.ts'

/** From here on, the model is told. */
export const REPEATS_TOLD = 3
/** Here the turn ends. */
export const REPEATS_MAX = 6

/** Fields of results that differ each time. */
const VOLATILE = /"(?:total_)?duration_seconds":[\d.]+/g

/**
 * Counts how often a call has been made with the same result since the turn last learned something new, which is any
 * other call or result that was not there before. So calls that alternate are found, and the same test after each edit is not.
 */
export class RepeatCounter {
  readonly #seen = new Set<string>()
  readonly #counts = new Map<string, number>()

  /** For the messages of one step: the count by the id of each result. */
  count(messages: readonly LoopMessage[]): Map<string, number> {
    const calls = new Map(
      messages.flatMap(({ tool_calls }) => tool_calls ?? []).map(call => [call.id, call]),
    )
    const keys = new Map<string, string>()
    for (const { role, tool_call_id: id, content } of messages) {
      const call = role === 'tool' && id !== undefined ? calls.get(id) : undefined
      if (!call || id === undefined || typeof content !== 'string') continue
      const { name, arguments: text } = call.function
      const args = JSON.stringify(parseArguments(text) ?? text)
      keys.set(id, `${name}\n${args}\n${content.replace(VOLATILE, '')}`)
    }
    const fresh = new Set(keys.values())
    if ([...fresh].some(key => !this.#seen.has(key))) this.#counts.clear()
    for (const key of fresh) {
      this.#seen.add(key)
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    }
    return new Map([...keys].map(([id, key]) => [id, this.#counts.get(key) ?? 0]))
  }

  forget(): void {
    this.#counts.clear()
  }
}

/** The end of a text in which a repetition is looked for. */
const TAIL_CHARS = 4_000
/** Times that it must stand there. */
const MIN_TIMES = 8

/** The end of the text is one sentence, or less, again and again: to continue it would add more of the same. */
export const repeatsItself = (text: string): boolean => {
  const tail = text.slice(-TAIL_CHARS)
  if (tail.length < TAIL_CHARS) return false
  // Length of the longest beginning that ends at each place (Knuth, Morris, Pratt): what is left is the period.
  const borders = [0]
  for (let at = 1; at < tail.length; at++) {
    let length = borders[at - 1] ?? 0
    while (length > 0 && tail[at] !== tail[length]) length = borders[length - 1] ?? 0
    borders.push(tail[at] === tail[length] ? length + 1 : 0)
  }
  return tail.length - (borders.at(-1) ?? 0) <= TAIL_CHARS / MIN_TIMES
}
