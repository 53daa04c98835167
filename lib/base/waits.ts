/** How long questions of the agent waited for a person. Times in seconds since 1970. */

export type Wait = { asked_at: number; answered_at: number }

/** In the order in which they were asked. Those that wait at the same time count once. */
export const waitedSeconds = (waits: readonly Wait[]): number => {
  let sum = 0
  let until = 0
  for (const { asked_at, answered_at } of waits) {
    sum += Math.max(0, answered_at - Math.max(asked_at, until))
    until = Math.max(until, answered_at)
  }
  return sum
}
