/** Composition: models, tools and turns, shared by the service and the command line. */
import { join } from 'node:path'
import type { Dispatcher } from 'undici'
import { ExternalAgents } from '../agent/acp/agents.ts'
import { runEngine } from '../agent/agent.ts'
import { createProviders } from '../agent/providers/registry.ts'
import type { Agent, ModelEndpoint } from '../agent/types.ts'
import { redactValue } from '../base/redact/redact.ts'
import { Mcp } from '../mcp/mcp.ts'
import { ModelServices } from '../models/models.ts'
import { sharedSignInFile } from '../models/sign-in/shared-sign-in.ts'
import { SignIns } from '../models/sign-in/sign-ins.ts'
import type { Home } from '../profiles/home.ts'
import { HookRecords } from '../profiles/hooks/records.ts'
import { writeEnv } from '../profiles/write-env.ts'
import { AuxiliaryModels } from '../turns/context/auxiliary-model.ts'
import { ChatMemos } from '../turns/context/chat-memos.ts'
import { Grants } from '../turns/context/grants.ts'
import type { Services, TurnSources } from '../turns/context/services.ts'
import { Compressions } from '../turns/context/session-compression.ts'
import { MissingFiles } from '../turns/context/missing-files.ts'
import { SessionWarnings } from '../turns/context/session-warnings.ts'
import { Spending } from '../turns/context/spending-limit.ts'
import { SessionTurnContext } from '../turns/context/context.ts'
import { WebServices } from '../turns/context/web-services.ts'
import { Turns, type TurnsOptions } from '../turns/turns.ts'
import { LanguageServers } from '../workspaces/diagnostics/diagnostics.ts'
import { readDocument } from '../workspaces/documents/documents.ts'
import { CommandRunners } from './command-runners.ts'
import { ContainerRunners } from './container-runners.ts'
import { unpackRipgrep } from './data.ts'

export type EngineOptions = TurnSources & {
  /** The proxy for outgoing requests; undefined without one. */
  dispatcher: Dispatcher | undefined
  liveDir: string
  /** Of the cell, see `Owned`. */
  missingFiles?: readonly string[]
  /** As in `TurnsOptions`. */
  resume?: TurnsOptions['resume']
  onIdle?: (sessionId: string) => void
  onDone?: (sessionId: string) => void
  onEnded?: TurnsOptions['onEnded']
  onPlanAnswer?: TurnsOptions['onPlanAnswer']
  /** Decorates the agent of a turn, for example to observe its events. */
  wrapAgent?: (agent: Agent) => Agent
}

/** Null: titles are not asked for. */
const titleEndpoint = (home: Home, own: ModelEndpoint, auxiliary: AuxiliaryModels) =>
  home.config().auxiliary.title_generation.enabled
    ? auxiliary.for('title_generation', home, own).endpoint
    : null

const warningsOf = (onWarning?: (message: string) => void): Services['warnings'] => ({
  mcp: new SessionWarnings('mcp', onWarning),
  window: new SessionWarnings('window', onWarning),
  reduced: new SessionWarnings('window', onWarning),
  hook: new SessionWarnings('hook', onWarning),
  image: new SessionWarnings('image', onWarning),
  shell: new SessionWarnings('shell', onWarning),
})

/** The services of turns, and the turns. */
export class Engine {
  readonly services: Services
  readonly turns: Turns

  constructor(options: EngineOptions) {
    const { config, version, dispatcher, homes, sessions, log, clock } = options
    const signIns = new SignIns({
      clock,
      sharedFile: sharedSignInFile(config.baseHome, config.env),
      dispatcher,
      log: log.warn,
    })
    const providers = createProviders(dispatcher, clock, signIns.keyFor)
    const external = new ExternalAgents(clock, version, log.info)
    const models = new ModelServices({
      clock,
      config,
      providers,
      dispatcher,
      writeEnv,
      log: log.warn,
      agentModels: (home, agent) => external.modelsOf(home, agent),
      keyFor: signIns.keyFor,
    })
    const auxiliary = new AuxiliaryModels(models, providers, clock)
    const containers = new ContainerRunners(config, clock, log.warn)
    void containers.cleanUp(homes.list())
    this.services = {
      ...options,
      dispatcher,
      providers,
      external,
      models,
      auxiliary,
      web: new WebServices(auxiliary, dispatcher),
      mcp: new Mcp({ version, dispatcher, clock }),
      endpointOf: (home, model) => models.endpoint(home, models.compatible(home, model).model),
      compressions: new Compressions(options, models, auxiliary, () => this.turns),
      spending: new Spending(sessions, () => this.turns.running()),
      grants: new Grants(join(config.stateDir, 'grants.json'), clock),
      hooks: new HookRecords(clock),
      runners: new CommandRunners(config, homes, containers),
      languageServers: new LanguageServers(clock, log.warn),
      chatMemos: new ChatMemos(),
      missingFiles: new MissingFiles(options.missingFiles ?? []),
      warnings: warningsOf(options.observer?.warning),
      agent: runEngine,
      wrapAgent: options.wrapAgent ?? (agent => agent),
      readDocument,
      unpackRipgrep: unpackRipgrep(config),
    }
    this.turns = new Turns({
      ...options,
      log: log.error,
      redactMessage: redactValue,
      createContext: (turn, questions, text) =>
        new SessionTurnContext(this.services, turn, questions, text),
      providers,
      titleEndpoint: (sessionId, own) =>
        titleEndpoint(homes.of(sessions.row(sessionId)?.profile), own, auxiliary),
    })
  }
}
