/** A cell in the list of those of a person. */
export type ListedCell = {
  title: string
  /** From the base of the page, with a trailing slash. */
  path: string
  is_awake: boolean
  /** Turns. */
  running: number
  /** Questions and approvals without an answer. */
  waiting: number
  /** Seconds since 1970. */
  active_at: number | null
}
