/**
 * Where the commands of a home run: in a container, in a sandbox, or directly on this computer. `sandbox/` and `containers/` run
 * them, `processes.ts` keeps those in the background, and `guards/` decides which settings about them are in force.
 */
import type { CommandRunner } from '../agent/tool-services.ts'
import type { Sentence } from '../base/sentences.ts'
import type { Home } from '../profiles/home.ts'
import type { Availability } from './sandbox/availability.ts'

export type RunnerScope = {
  home: Home
  /** The directory that commands may change; null for scripts of scheduled tasks, which have none. */
  workspace: string | null
  /** The session, or the scheduled task whose script runs: what keeps a place of its own. */
  owner: string
  /** More paths that commands may read, such as stored results of the session. */
  readable?: readonly string[]
}

/** A container where `terminal.backend` names one, else a sandbox where `sandbox.enabled` is on. */
export interface Commands {
  /** Resolves when `sandbox.enabled: auto` has an answer. Never rejects. */
  readonly ready: Promise<void>
  /** Undefined: commands run directly on this computer. */
  runnerFor(scope: RunnerScope): CommandRunner | undefined
  /** Whether commands of this home run in a sandbox, if their workspace can be protected. */
  isSandboxed(home: Home): boolean
  /** Why commands of this workspace run directly although a sandbox is wanted wherever it works; null: they do not, or none is. */
  whyDirect(scope: RunnerScope): Sentence | null
  /** Checks whether a sandbox works here now, whether it is on or not. */
  checkSandbox(): Promise<Availability>
  /** Ends what still runs and removes what was created. */
  close(): Promise<void>
}
