/** Types of the command classification. */
import type { Disk } from './disk.ts'

/** Where a command would run. All values are passed in; the classification reads no globals. */
export type ShellContext = {
  home: string
  cwd: string
  /** The workspace; `cwd` if absent. */
  workspace?: string
  /** The environment of the command; if absent, no variable counts as unset. */
  env?: Readonly<Record<string, string>>
  /** Files and directories that control the agent; they always need approval. */
  controlPaths?: readonly string[]
  /** Our own addresses, as `host:port` or a socket path. */
  ownAddresses?: readonly string[]
  /** Cached for this classification. */
  disk?: Disk
}

/** A program as the shell would start it. */
export type SimpleCommand = {
  /** Base name in lower case; UNKNOWN if unknown before run time. */
  name: string
  /** The name as written. */
  path: string
  args: string[]
  redirects: Redirect[]
  /** Text on its stdin; null if unknown, undefined if none. */
  input: string | null | undefined
  /** Programs before it in its pipeline. */
  from: SimpleCommand[]
  /** Null if unknown before run time. */
  cwd: string | null
  /** Variables set for this command only. */
  assigns: [name: string, value: string][]
  background: boolean
  /** It runs another program, which is classified separately. */
  wraps: boolean
}

export type Redirect = { op: string; target: string }

/** One reason for approval or refusal. */
export type Finding = {
  /** Stored in rules and allowlists; never change a label. */
  label: string
  /** Why it is refused without asking. */
  blocked?: string
  /** It couldn't be parsed completely; the parsed part is still classified. */
  isUnclear?: true
  /** It affects a control file, so no grant covers it. */
  isControl?: true
  /** Only counts in a typed command; project files may do it. */
  isOrdinary?: true
}
