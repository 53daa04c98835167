/** A log that no program can fill: so many lines in a while, and then one that says how many are left out. */

const BURST = 60
const REFILL_MS = 2_000
const LINE_CHARS = 500

export const createNoise = (
  write: (line: string) => void,
  now: () => number = () => performance.now(),
): ((line: string) => void) => {
  let room = BURST
  let filledAt = now()
  let left = 0
  return line => {
    const more = Math.floor((now() - filledAt) / REFILL_MS)
    if (more > 0) {
      room = Math.min(BURST, room + more)
      filledAt += more * REFILL_MS
    }
    if (room <= 0) {
      if (left === 0) write('prints more than is kept; what follows is left out')
      left++
      return
    }
    if (left > 0) {
      // Only when it has been quiet for a while: otherwise every second line would be this one.
      if (room < BURST / 2) {
        left++
        return
      }
      write(`${left} lines were left out`)
      left = 0
    }
    room--
    write(line.slice(0, LINE_CHARS))
  }
}
