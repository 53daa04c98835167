/** How long questions of the agent waited for a person. Times in seconds since 1970. */

export type Wait = { asked_at: number; answered_at: number }

/** Questions that wait at the same time count once. */
export const waitedSeconds = (waits: readonly Wait[]): number => {
  let sum = 0
  let until = 0
  for (const { asked_at, answered_at } of waits.toSorted((a, b) => a.asked_at - b.asked_at)) {
    const from = Math.max(asked_at, until)
    if (answered_at <= from) continue
    sum += answered_at - from
    until = answered_at
  }
  return sum
}
