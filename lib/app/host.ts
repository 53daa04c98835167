/** Composition: what is shared with the host agent: its sessions, its source checkout, and updates of both. */
import { join } from 'node:path'
import { findAgentDir, installAgentDependencies } from '../operations/host-agent-checkout.ts'
import { createHostSessions, type HostSessions } from '../sessions/host-db/host-sessions.ts'
import {
  createHostSessionWatcher,
  type HostSessionWatcher,
} from '../sessions/host-db/host-session-watcher.ts'
import { isExecutable } from '../store/packed.ts'
import { redact, redactValue } from '../base/redact/redact.ts'
import { createUpdates, ownCheckout, type Updates } from '../operations/updates/updates.ts'
import type { Composition } from './data.ts'

export type HostOptions = {
  /** Directory of our own sources. */
  root: string
  /** Path of the SQLite addon, in the single-file build. */
  addon?: string | undefined
  /** The checkout that updates apply to; null for none, detected when absent. */
  checkout?: string | null | undefined
  /** Replaces the process by the program that is in the checkout now. */
  restart?: (() => Promise<unknown>) | undefined
  isActive: (sessionId: string) => boolean
}

export type HostServices = {
  hostSessions: HostSessions
  hostSessionWatcher: HostSessionWatcher
  updates: Updates
}

const composeHostSessions = (
  { config, log, clock, data }: Composition,
  { addon, isActive }: HostOptions,
) => {
  const { homes, hub, sessions, settings, workspaces } = data
  const hostSessions = createHostSessions({
    sessions,
    isActive,
    lastWorkspace: home => workspaces.last(homes.of(home.name)),
    redact,
    redactValue,
    trashDir: join(config.stateDir, 'trash'),
    clock,
    log: log.warn,
    onChange: home => hostSessionWatcher.checkNow(home),
    addon,
  })
  const hostSessionWatcher = createHostSessionWatcher({
    clock,
    rowsOf: hostSessions.rows,
    problemOf: hostSessions.problem,
    enabled: () => settings.get().show_cli_sessions,
    publish(event) {
      if (event.changed) hostSessions.refreshAll(homes.of(event.profile))
      hub.publish('gateway', { type: 'gateway', data: event })
    },
  })
  return { hostSessions, hostSessionWatcher }
}

/** Installs the host agent in the background where the configuration asks for it. */
const startInstall = ({ config, log, data: { homes } }: Composition, signal: AbortSignal): void => {
  const mayInstall = config.autoInstall && homes.base.problems().every(({ in_force }) => in_force)
  void installAgentDependencies({
    agentDir: config.agentDir,
    baseHome: config.baseHome,
    enabled: mayInstall,
    env: mayInstall ? homes.base.childEnv() : {},
    log,
    uid: process.getuid?.(),
    signal,
  })
}

export const composeHost = (composition: Composition, options: HostOptions) => {
  const { config, log, clock } = composition
  const { root, restart } = options
  // Several cells run from the same files, which are not theirs to replace.
  const isOne = config.cluster?.runBy == null
  const checkout = isOne ? options.checkout : null
  const { hostSessions, hostSessionWatcher } = composeHostSessions(composition, options)
  hostSessionWatcher.start()

  // The executable does not run from the checkout that may contain it: pulling there would not update it.
  const ownSources = isExecutable() ? null : ownCheckout(root)
  const webui = checkout === undefined ? ownSources : checkout
  const updates = createUpdates({
    clock,
    checkouts: () => ({ webui, agent: findAgentDir(config) }),
    env: config.env,
    restart,
    log: log.warn,
  })
  const installing = new AbortController()
  startInstall(composition, installing.signal)

  const services: HostServices = { hostSessions, hostSessionWatcher, updates }
  return {
    services,
    close(): void {
      hostSessionWatcher.stop()
      updates.close()
      installing.abort()
    },
  }
}
