/** Composition: where the commands of a turn run. */
import type { CommandRunner } from '../agent/tool-services.ts'
import type { Home } from '../profiles/home.ts'

export type RunnerScope = {
  home: Home
  workspace: string
  /** The session, or the scheduled task whose script runs: what keeps a place of its own. */
  owner: string
}

/**
 * A sandbox where `sandbox.enabled` is on, a container where `terminal.backend` names one. Undefined: commands run
 * directly on this computer.
 */
export type RunnerFor = (scope: RunnerScope) => CommandRunner | undefined

export type CommandRunners = {
  runnerFor: RunnerFor
  /** Ends what still runs and removes what was created. */
  close: () => Promise<void>
}

export const createCommandRunners = (): CommandRunners => ({
  runnerFor: () => undefined,
  close: async () => undefined,
})
