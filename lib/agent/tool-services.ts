/** Services the engine passes to tools: approval requests, secret masking, background processes. Types only. */
import type { ChildProcess } from 'node:child_process'
import type { StringDecoder } from 'node:string_decoder'
import type { Exit } from '../base/process.ts'
import type { ApprovalChoice } from '../schema/question.ts'

/** Asks the user before something risky runs. */
export type ApprovalRequest = {
  command: string
  /** Labels of the matching risk rules, most severe first. */
  patternKeys: string[]
  description: string
  cwd: string
  /** Unified diff of the edit, for file changes. */
  diff?: string
  /** The answers on offer; all four when absent. */
  choices?: readonly ApprovalChoice[]
  /** It changes what controls the agent itself. Only the user can answer: no setting and no earlier answer applies. */
  isControl?: true
}

/** Masks secrets before the model reads text, and restores them in text the model wrote from it. */
export type Secrets = {
  /** Masks secrets in a tool result, before the model reads it and anything is recorded. */
  mask: (text: string) => string
  /** Restores masked secrets in `edited`, which replaces `stored`. Throws a sentence when that is not possible. */
  reveal: (edited: string, stored: string) => string
  /** Why a command cannot run: it contains a mask in place of a secret. Null: it can. */
  commandError: (command: string) => string | null
}

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

export type ProcessStart = {
  /** The command as it is displayed. */
  command: string
  /** The executable. */
  file: string
  args: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  /** Notify the user when it exits. */
  notify: boolean
}

/** A running foreground command that becomes a background process. Its stdout has no reader any more. */
export type ProcessHandover = {
  command: string
  cwd: string
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
  view: (id: string) => ProcessView
  /** The output that is still stored; `left_out`: characters dropped from its start. */
  read: (id: string) => { text: string; left_out: number }
  /** The output since the last `poll`. */
  poll: (id: string) => string
  write: (id: string, data: string) => Promise<void>
  /** Input since the last line end: together with later input it may become a command. */
  pendingInput: (id: string) => string
  /** Resolves when the process exits or the timeout is over. */
  wait: (id: string, timeoutMs: number, signal: AbortSignal) => Promise<ProcessView>
  /** Kills the process and all its descendants. */
  kill: (id: string) => Promise<ProcessView>
}
