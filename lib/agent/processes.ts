/** What tools need of programs that run on beside the conversation; always bound to one session. */

export type ProcessView = {
  /** `proc_` and twelve hexadecimal digits. */
  session_id: string
  command: string
  cwd: string
  pid: number
  status: 'running' | 'exited'
  /** Null while it runs. */
  exit_code: number | null
  /** Seconds it has run. */
  uptime: number
  /** Seconds since 1970. */
  started_at: number
}

export type ProcessStart = {
  /** As it is shown. */
  command: string
  /** What is really started. */
  file: string
  args: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  /** Say so to the person when it ends. */
  notify: boolean
}

/** Verbs throw a sentence when there is no such process or it cannot be done. */
export type Processes = {
  start: (options: ProcessStart) => Promise<ProcessView>
  list: () => ProcessView[]
  view: (id: string) => ProcessView
  /** What it printed, as far as it is kept; `left_out`: characters that were dropped from the front. */
  read: (id: string) => { text: string; left_out: number }
  /** What was printed since the last call of this. */
  poll: (id: string) => string
  write: (id: string, data: string) => Promise<void>
  /** What was written since the last line end: with what comes next it may become a command. */
  pendingInput: (id: string) => string
  /** Until it ends or the time is over. */
  wait: (id: string, timeoutMs: number, signal: AbortSignal) => Promise<ProcessView>
  /** Ends it with everything it has started. */
  kill: (id: string) => Promise<ProcessView>
}
