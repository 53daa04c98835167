/** Types of the reading of commands. */

/** Where a command would run. All values are passed in; the reading uses no globals. */
export type ShellContext = {
  home: string
  cwd: string
  /** The workspace; `cwd` if absent. */
  workspace?: string
  /** The environment of the command. */
  env?: Readonly<Record<string, string>>
  /** Files and directories that control the agent; they always need approval. */
  controlPaths?: readonly string[]
  /** Our own ports. */
  ownAddresses?: readonly string[]
  /** Whether a signal to this process, or group, reaches the service. */
  isOwnProcess?: (pid: number) => boolean
}

/** A word as the program gets it; null: known only at run time. */
export type Value = string | null

export type Word = {
  value: Value
  /** An unquoted wildcard: `value` is the pattern, and the program gets the names that fit. */
  isGlob: boolean
  /** As it is written, where the value is not known. */
  raw?: string
}

export type Redirect = { op: string; target: Value; raw?: string }

/** One program with its arguments, wherever it stands in the text. */
export type CommandPart = {
  /** The program as it is written; null: known only at run time. */
  program: Value
  /** Its base name, in lower case; '' for assignments alone. */
  name: string
  words: readonly Word[]
  redirects: readonly Redirect[]
  /** Names of the variables that are set for it. */
  assigns: readonly (readonly [name: string, value: Value])[]
  /** Texts given to it by here-documents and here-strings; null: known only at run time. */
  inputs: readonly Value[]
  /** It reads the output of the part before it. */
  isPiped?: true
  /** Started by another part (`sudo`, `bash -c`), not by the shell itself. */
  isInner?: true
}

export type ReadCommand = {
  /** Every program that the text names, in order: in substitutions, loops, and functions, and those that wrappers start. */
  parts: readonly CommandPart[]
  /** Programs, words, `|`, `&&`, `||`, `;`, and redirections to nowhere: nothing whose meaning depends on the run. */
  isPlain: boolean
  /** Every program that it starts is named in the text; what those programs do themselves is never known. */
  isFollowed: boolean
}
