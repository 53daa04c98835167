/** What the parts of the judgement say to each other. */

/** Where a command would run and what belongs there. Everything as a value: judging reads no global. */
export type ShellContext = {
  home: string
  cwd: string
  /** Where the agent works; `cwd` when absent. */
  workspace?: string
  /** The environment of the command; without it no variable counts as unset. */
  env?: Readonly<Record<string, string>>
  /** Files and directories that decide what the agent may do; always asked about. */
  controlPaths?: readonly string[]
  /** Our own addresses, as `host:port` or a socket path. */
  ownAddresses?: readonly string[]
  /** What the disk has answered during this judgement. */
  seen?: Map<string, boolean>
}

/** A program as the shell would start it. */
export type Simple = {
  /** Base name, lower case. UNKNOWN when only the running shell knows it. */
  name: string
  /** The name as it was written. */
  path: string
  args: string[]
  redirects: Redirect[]
  /** Known text on its standard input; null when it gets something unknown, undefined when nothing. */
  input: string | null | undefined
  /** Those before it in its pipeline. */
  from: Simple[]
  /** Null when only the running shell knows it. */
  cwd: string | null
  /** Variables set for this command alone. */
  assigns: [name: string, value: string][]
  background: boolean
  /** It runs another one, which is judged by itself. */
  wraps: boolean
}

export type Redirect = { op: string; target: string }

/** One reason to ask or to refuse. */
export type Finding = {
  /** Stored in rules and lists of allowed labels: never change one. */
  label: string
  /** Why it is refused without asking. */
  blocked?: string
  /** It was not understood; what was understood is judged all the same. */
  isUnclear?: true
  /** It concerns what decides about the agent itself: no grant covers it. */
  isControl?: true
  /** Only matters where a person typed it: project files may do it. */
  isOrdinary?: true
}
