/**
 * The engine for commands that run turns: the same turns, tools, prompt and rules as the server, with transcripts in a private
 * temporary directory that is removed at the end. In the server's state directory only accepted-settings.json is written: what a
 * person allows for good at this terminal changes config.yaml and counts as confirmed.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Dispatcher } from 'undici'
import { createProxyDispatcher } from '../agent/providers/registry.ts'
import type { AgentEvent, AgentRequest } from '../agent/types.ts'
import { systemClock, waitAtMost } from '../base/clock.ts'
import type { TurnRecorder } from '../workspaces/checkpoints/turn-recorder.ts'
import { HostSessions } from '../sessions/host-db/host-sessions.ts'
import type { Config } from '../config.ts'
import { Cron } from '../cron/cron.ts'
import { unavailable } from '../errors.ts'
import { Engine, type EngineOptions } from '../app/engine.ts'
import { AcceptedGuards } from '../commands/guards/accepted-guards.ts'
import { signing } from '../people/signing-key.ts'
import { AcceptedSettings } from '../commands/guards/accepted-settings.ts'
import { Hub } from '../http/hub.ts'
import { isStartedByAgent } from '../commands/own-processes/started-by-agent.ts'
import { packedHere } from '../store/packed.ts'
import { Homes } from '../profiles/homes.ts'
import { KnownSecrets } from '../profiles/known-secrets.ts'
import { redact, watchSecrets } from '../base/redact/redact.ts'
import { Sessions } from '../sessions/sessions.ts'
import { Skills } from '../profiles/skills/skills.ts'
import { searchWorkerOf } from '../app/data.ts'
import { ToolOutput } from '../sessions/tool-output.ts'
import { HomeGuards } from '../turns/context/guards.ts'
import { PromptCache } from '../turns/context/prompt-cache.ts'
import type { TurnObserver } from '../turns/context/services.ts'

/** Callbacks for what happens in a turn, and the answers to its questions. */
export type TerminalObserver = TurnObserver & {
  event: (event: AgentEvent, sessionId: string) => void
  /** Adds to the request of a turn. */
  request?: (request: AgentRequest, sessionId: string) => AgentRequest
}

export type TerminalEngineOptions = {
  addon: string | undefined
  version: string
  observer: TerminalObserver
  /** Where answers are read; absent: where Markdown is rendered. */
  surface?: 'terminal'
  /** MCP servers of one session, besides those of its profile. */
  sessionServers?: EngineOptions['sessionServers']
  /** Receives what the server would write to its log. */
  problem: (line: string, extra?: unknown) => void
}

const CLOSE_TIMEOUT_MS = 2_000

/** Checkpoints are for the page's undo; the terminal has none. */
const NO_CHECKPOINTS: TurnRecorder = {
  beforeChange: async () => [],
  callStarted: () => undefined,
  callEnded: () => undefined,
  stopping: () => undefined,
  end: async () => undefined,
}

/** Runs turns without the server. `close` ends it. */
export class TerminalEngine {
  readonly clock = systemClock
  /** A private directory for files that last as long as the engine. */
  readonly dir = mkdtempSync(join(tmpdir(), 'agent-webui-chat-'))
  readonly homes: Homes
  readonly sessions: Sessions
  readonly hostSessions: HostSessions
  readonly skills: Skills
  readonly #engine: Engine
  readonly #cron: Cron

  static async open(config: Config, options: TerminalEngineOptions): Promise<TerminalEngine> {
    const terminalEngine = new TerminalEngine(
      config,
      options,
      await createProxyDispatcher(config.env),
    )
    await terminalEngine.#engine.services.runners.ready
    return terminalEngine
  }

  private constructor(
    config: Config,
    options: TerminalEngineOptions,
    dispatcher: Dispatcher | undefined,
  ) {
    const { addon, version, observer, problem, surface, sessionServers } = options
    const { clock } = this
    const acceptedSettings = new AcceptedSettings(config.stateDir, signing(config.stateDir), {
      mayConfirm: !isStartedByAgent(config),
    })
    this.homes = new Homes(config, clock, acceptedSettings)
    const secrets = new KnownSecrets(() => this.homes.list())
    watchSecrets(() => secrets.list())
    this.sessions = new Sessions({
      dir: this.#pathOf('sessions'),
      trashDir: this.#pathOf('trash'),
      cacheDir: this.#pathOf('cache'),
      redact,
      onRow: () => undefined,
      onDeleted: () => undefined,
      onCopied: () => undefined,
      log: problem,
      clock,
      addon,
      ...searchWorkerOf(packedHere()),
    })
    this.hostSessions = new HostSessions({
      sessions: this.sessions,
      isActive: () => false,
      lastWorkspace: home => home.dir,
      trashDir: this.#pathOf('trash'),
      clock,
      log: problem,
      onChange: () => undefined,
      addon,
    })
    this.skills = new Skills(config.userHome)
    this.#cron = new Cron({
      clock,
      homes: () => this.homes.list(),
      start: () => Promise.reject(unavailable('Scheduled tasks run in the server only.')),
      stop: () => false,
      skill: () => null,
      forbids: () => null,
      log: problem,
    })
    const { homes, sessions, hostSessions, skills } = this
    this.#engine = new Engine({
      ...{ config, version, dispatcher, homes, sessions, hostSessions, skills, clock },
      ...{ surface, sessionServers, observer },
      hub: new Hub(randomBytes(4).toString('hex'), clock),
      promptCache: new PromptCache(this.#pathOf('prompts'), clock, problem),
      toolOutput: new ToolOutput(this.#pathOf('tool-output'), problem),
      checkpoints: { startTurn: () => NO_CHECKPOINTS, canUndo: false },
      // Read only: safeguards that were accepted on the page are accepted here as well.
      guards: new HomeGuards(
        new AcceptedGuards(join(config.stateDir, 'accepted-guards.json')),
        acceptedSettings,
        skills,
      ),
      cron: () => this.#cron,
      liveDir: this.#pathOf('live'),
      log: { info: problem, warn: problem, error: problem },
      // Shown before it is recorded, for the shortest delay.
      wrapAgent: agent => (request, emit) => {
        const id = request.sessionKey ?? ''
        return agent(observer.request?.(request, id) ?? request, event => {
          observer.event(event, id)
          emit(event)
        })
      },
    })
  }

  #pathOf(name: string): string {
    return join(this.dir, name)
  }

  get models() {
    return this.#engine.services.models
  }

  get turns() {
    return this.#engine.turns
  }

  get mcp() {
    return this.#engine.services.mcp
  }

  get compressions() {
    return this.#engine.services.compressions
  }

  /** Ends running turns and child processes, and deletes the transcripts. */
  async close(): Promise<void> {
    const { turns } = this.#engine
    const { languageServers, mcp, runners } = this.#engine.services
    await waitAtMost(systemClock, CLOSE_TIMEOUT_MS, turns.close())
    languageServers.close()
    await Promise.all([this.#cron.close(), mcp.close(), this.sessions.close(), runners.close()])
    rmSync(this.dir, { recursive: true, force: true })
  }
}
