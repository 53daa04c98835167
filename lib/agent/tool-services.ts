/** Services the engine passes to tools: approval requests, secret masking, background processes. Types only. */
import type { Words } from '../base/sentences.ts'
import type { ChildProcess } from 'node:child_process'
import type { StringDecoder } from 'node:string_decoder'
import type { Exit, OnEnd, OnSignal } from '../base/process.ts'
import type { RunsIn } from '../schema/command-place.ts'
import type { AnyCall, ApprovalChoice, Reason, TextSpan } from '../schema/question.ts'

/** Asks the user before something risky runs. */
export type ApprovalRequest = {
  command: string
  /** Labels of the matching risk rules, most severe first. */
  patternKeys: string[]
  description: string
  /** The description in parts; see `because`. */
  reasons?: readonly Reason[]
  /** The parts of `command` that lead to the labels. */
  marks?: readonly TextSpan[]
  /** The parts of `command` that can change something, one per program; absent where the text does not say. */
  lines?: readonly string[]
  cwd: string
  /** Where the command would run; absent where commands have no runner. */
  runsIn?: RunsIn
  /** Unified diff of the edit, for file changes. */
  diff?: string
  /**
   * It is no command: `command` shows a tool with its arguments, or files with their change. `key` is what is remembered
   * when the user allows all calls of this tool, all changes of these files. Without that, only what was shown is.
   */
  any?: AnyCall & { key: string }
  /** More that decides about the call than the card shows, such as the end of a long change: remembered with it. */
  whole?: string
  /** The answers on offer; all four when absent. */
  choices?: readonly ApprovalChoice[]
  /** It changes what controls the agent itself. Only the user can answer: no setting and no earlier answer applies. */
  isControl?: true
  /** The `ask` rule that requires this approval: no setting and no earlier answer applies, except for unattended turns. */
  rule?: string
  /** It runs outside the sandbox. A mode that asks about nothing does not answer it. */
  leavesSandbox?: true
  /** Withdraws the request: what asked is gone. A running call adds the end of its turn itself. */
  signal?: AbortSignal
  /** What allows the call it is about: then it is recorded, not asked, unless it is left to the user in any case. */
  allowedBy?: 'config' | 'hook'
  /** The call that asks and has done nothing yet, so that it can be made again after a restart. Set by the engine. */
  waitingCall?: string
  /** A running command wants to reach this. */
  network?: NetworkTarget
}

/** What a command in a sandbox wants to connect to. `host` is a name or an address, without brackets. */
export type NetworkTarget = {
  host: string
  port: number
  /** It is in a network of the person; `address`: what the name stands for. */
  isPrivate?: boolean
  address?: string
}

/** Null: the destination may be reached, otherwise a sentence why not. Never rejects. `ended`: the command has ended. */
export type CheckTarget = (target: NetworkTarget, ended: AbortSignal) => Promise<string | null>

/**
 * Hard limits from the home's configuration (`approvals.deny`, an unsupported terminal backend, …). No approval, session
 * setting or mode overrides them. Each returns a sentence why, or null; call them at every use, because the file may change.
 */
export type Guards = {
  /** For any command at all. */
  commands: () => string | null
  /** For this command. */
  command: (command: string) => string | null
  /** For file tools that write to this real path. */
  write: (path: string) => string | null
  /** For a tool by name. */
  tool: (name: string) => string | null
}

/** What is about to change: files by real path, or anything in the workspace. */
export type ChangeScope = readonly string[] | 'workspace'

/** Plan mode of a turn, subagents and scripts included. See `plan-mode.ts`. */
export type PlanMode = {
  /** Read at each call: the user can switch at any time. */
  isOn: () => boolean
  /** Shows a plan (Markdown) and waits. An approval has ended plan mode when this resolves; null: no one can answer. */
  present: (plan: string, callId: string) => Promise<string | null>
}

/** Masks secrets before the model reads text, and restores them in text the model wrote from it. */
export type Secrets = {
  /** Masks secrets in a tool result, before the model reads it and anything is recorded. */
  mask: (text: string) => string
  /** Restores masked secrets in `edited`, which replaces `original`. Throws a sentence when that is not possible. */
  reveal: (edited: string, original: string) => string
  /** Why a command cannot run: it contains a mask in place of a secret. Null: it can. */
  commandError: (command: string) => string | null
}

/** Text files as they are in the person's editor, by real path. Never rejects. */
export type EditorFiles = {
  /** The text with unsaved changes; null where the editor does not have the file. */
  read: (fullPath: string) => Promise<string | null>
  /** Shows a new text in the editor. The file on the disk has it already. */
  write: (fullPath: string, text: string) => Promise<void>
}

/** A changed text file by real path. Null: it does not exist. */
export type EditedFile = { fullPath: string; before: string | null; after: string | null }

/** Fields of the result of an edit. */
export type EditDiagnostics = {
  /** Errors and warnings that the edit caused, one per line. Empty: there are none; absent: they are not known. */
  diagnostics?: string[]
  /** Why a language server is not asked any more. */
  diagnostics_note?: string
}

/** Asks language servers about files that were just written. Bounded in time; never rejects. */
export type CheckEdits = (
  edits: readonly EditedFile[],
  signal: AbortSignal,
) => Promise<EditDiagnostics>

export type DocumentKind = 'pdf' | 'docx' | 'xlsx' | 'pptx' | 'odt' | 'ods' | 'odp' | 'epub'

/** One page, sheet, slide, or chapter; a text document is one part without a title. */
export type DocumentPart = { title: string; text: string }
/** From 1, both included. */
export type PageRange = { from: number; to: number }

export type DocumentText = {
  parts: DocumentPart[]
  /** Parts of the whole document. */
  total: number
  /** Whether a limit of time or text was reached. */
  isCut: boolean
}

/** Extracts the text of a document. Rejects with a sentence when that is not possible. */
export type ReadDocument = (
  bytes: Uint8Array,
  kind: DocumentKind,
  options: { range: PageRange; signal: AbortSignal },
) => Promise<DocumentText>

export type ProcessView = {
  /** `proc_` and twelve hexadecimal digits. */
  session_id: string
  command: string
  cwd: string
  pid: number
  status: 'running' | 'exited'
  /** Null while it runs. */
  exit_code: number | null
  /** Running time in seconds. */
  uptime: number
  /** Seconds since 1970. */
  started_at: number
}

export type Program = { file: string; args: readonly string[] }

/** Where a command runs: in its runner, or directly on this computer, with everything that its user can do. */
export type CommandAccess = 'confined' | 'unconfined'

/** A program with all that `spawnGroup` needs besides the standard streams. */
export type PlacedProgram = Program & {
  cwd: string
  env: Readonly<Record<string, string>>
  /** For a runner whose process group does not contain what it runs, such as `docker exec`. */
  onSignal?: OnSignal
  /** Keeps what it has done in the Git directory, and closes its network. */
  onEnd?: OnEnd
  /** Bytes that it reads from a descriptor of its own: the filter of system calls. */
  filter?: Uint8Array
}

export type CommandPlacement = {
  program: Program
  /** Real paths of this computer, also in `program` and `readable`. */
  cwd: string
  /** The complete environment. It must not become visible in the arguments of a process. */
  env: Readonly<Record<string, string>>
  /** `network`: it shares the network of this computer. */
  access: 'confined' | 'network'
  /**
   * It runs Git in the repository of the workspace, so it gets a Git directory that can change. `git init` and `git clone`
   * need none. In containers and on macOS that is one of other name, in GIT_DIR.
   */
  changesGit?: boolean
  /** Its stdin is a pipe. Without it, stdin is empty. */
  hasInput?: boolean
  /** What it writes to descriptor 3 must reach descriptor 3 of the placed program. */
  hasReport?: boolean
  /** More paths that it reads, such as the folder of a scheduled script. */
  readable?: readonly string[]
  /** Decides about what it connects to, while it waits. Absent: it has no network, unless all commands have it. */
  onTarget?: CheckTarget
}

/**
 * Where the commands of a turn run: in a sandbox or in a container. Each turn has its own; without one, commands run
 * directly on this computer. See lib/commands/README.md.
 */
export type CommandRunner = {
  kind: 'bubblewrap' | 'seatbelt' | 'docker' | 'podman'
  /** Why commands cannot run at this moment, and what to do. Null: they can. Called before each command, so it is cheap. */
  problem: () => Promise<Words | null>
  /** What the model must know, as part of the description of the terminal tool: the same bytes for the whole session. */
  note: string
  /** The model may ask to run a command directly on this computer. Absent: it may not. */
  canLeave?: true
  /** Commands that have network access without being asked about: all, none, or patterns such as `npm install *`. */
  network: boolean | readonly string[]
  /** Commands can change folders of this computer besides the workspace. */
  sharesFolders?: boolean
  /**
   * The same place for commands that may change nothing but a private /tmp, without network: for plan mode. Absent: it has
   * no such place.
   */
  readOnly?: () => CommandRunner
  /** It is such a place. */
  isReadOnly?: true
  /** Outside the workspace, commands change a system of their own, as in a container. Absent: such changes are lost. */
  hasOwnSystem?: boolean
  /** A directory with the same path inside, where commands cannot change it. Folders of scripts are created in it. */
  sharedDir: () => string
  /**
   * What commands start with in place of the environment of the turn. Known once `problem` was called; absent: the same.
   */
  environment?: (env: Readonly<Record<string, string>>) => Readonly<Record<string, string>>
  /** Variables that each command gets anew, so that they are no change by the command before it. */
  sets?: readonly string[]
  /**
   * What commands can do with a real path of this computer; null: they cannot see it. File tools ask where they would do
   * more. Absent: they see what the file tools see.
   */
  reach?: (path: string) => 'read' | 'write' | null
  /** The path on this computer of a path as commands see it: their /tmp may be another one. */
  hostPath: (path: string) => string
  /**
   * The program that runs the given one inside. It is started at once and at most once, in a process group of its own;
   * SIGKILL to that group (or `onSignal`) must end everything that it runs. Rejects with a sentence when it cannot run.
   */
  place: (placement: CommandPlacement) => Promise<PlacedProgram>
}

export type ProcessStart = {
  /** The command and its directory as they are displayed. */
  command: string
  cwd: string
  placed: PlacedProgram
  access: CommandAccess
  /** Notify the user when it exits. */
  notify: boolean
}

/** A running foreground command that becomes a background process. Its stdout has no reader any more. */
export type ProcessHandover = {
  command: string
  cwd: string
  access: CommandAccess
  child: ChildProcess
  /** Resolves when it has exited and its output has been read. */
  closed: Promise<Exit>
  /** Milliseconds it has run so far. */
  elapsedMs: number
  /** What it has printed; `omitted` characters before that are gone. */
  output: { text: string; omitted: number }
  /** Holds the first bytes of a character whose other bytes are still to come. */
  decoder: StringDecoder
  /** Notify the user when it exits. */
  notify: boolean
}

/** Background processes of one session. Methods throw a sentence when the process does not exist or the action fails. */
export type Processes = {
  start: (options: ProcessStart) => Promise<ProcessView>
  /** Synchronous, so that no output is lost or read twice. `poll` returns only what it prints from now on. */
  adopt: (running: ProcessHandover) => ProcessView
  list: () => ProcessView[]
  /** What it can reach, which decides about input typed into it. */
  accessOf: (id: string) => CommandAccess
  view: (id: string) => ProcessView
  /** The output that is still stored; `left_out`: characters dropped from its start. */
  read: (id: string) => { text: string; left_out: number }
  /** The output since the last `poll`. */
  poll: (id: string) => string
  write: (id: string, data: string) => Promise<void>
  /** No more input: a program that reads to the end of its input goes on. */
  endInput: (id: string) => Promise<void>
  /** Input since the last line end: together with later input it may become a command. */
  pendingInput: (id: string) => string
  /** Resolves when the process exits or the timeout is over. */
  wait: (id: string, timeoutMs: number, signal: AbortSignal) => Promise<ProcessView>
  /** Kills the process and all its descendants. */
  kill: (id: string) => Promise<ProcessView>
}
