/** Composition: models, tools and turns, shared by the service and the command line. */
import type { Words } from '../base/sentences.ts'
import { join } from 'node:path'
import type { Dispatcher } from 'undici'
import { createExternalAgents, type ExternalAgents } from '../agent/acp/agents.ts'
import { hintFor } from '../agent/failure.ts'
import { createAgent } from '../agent/loop.ts'
import { createProviders, createProxyDispatcher } from '../agent/providers/registry.ts'
import type { Agent, ModelEndpoint, Providers } from '../agent/types.ts'
import type { HostSessions } from '../host-db/host-sessions.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config.ts'
import {
  type CommandRunners,
  commandsOf,
  createCommandRunners,
  createControlOf,
  hiddenBySandbox,
} from './command-runners.ts'
import { createContainerRunners, withContainers } from './container-runners.ts'
import { createCronStore } from '../cron/agent-api.ts'
import type { Cron } from '../cron/cron.ts'
import { createLanguageServers, type LanguageServers } from '../diagnostics/diagnostics.ts'
import { createDocuments } from '../documents/documents.ts'
import { UserError } from '../errors.ts'
import { createHookRecords, type HookRecords } from '../hooks/records.ts'
import type { Hub } from '../hub.ts'
import { createMcp, type Mcp, type McpHome } from '../mcp/mcp.ts'
import { memoryPrompt } from '../memory/memory.ts'
import { SignIns } from '../models/sign-in/sign-ins.ts'
import { sharedSignInFile } from '../models/sign-in/shared-sign-in.ts'
import { createModelServices, type ModelServices } from '../models/model-services.ts'
import { unpackRipgrep } from './data.ts'
import { packedHere } from '../packed.ts'
import { personalityPrompt } from '../personalities.ts'
import { writeEnv } from '../profiles/write-env.ts'
import type { Home } from '../profiles/home.ts'
import type { Homes } from '../profiles/homes.ts'
import { otherHomePaths } from '../profiles/other-homes.ts'
import { redact, redactKnown, redactValue, reveal, unusableCommand } from '../redact/redact.ts'
import type { Sessions } from '../sessions/types.ts'
import type { Skills } from '../skills/skills.ts'
import type { ToolOutput } from '../tool-output.ts'
import { type AuxiliaryFor, createAuxiliaryModels } from '../turn-context/auxiliary-model.ts'
import {
  createSpendingLimit,
  type SpendingLimitOptions,
  type SpendingScope,
} from '../turn-context/spending-limit.ts'
import { codeTools } from '../turn-context/code-tools.ts'
import { type Compressions, createCompressions } from '../turn-context/session-compression.ts'
import { createDelegation } from '../turn-context/subagent-settings.ts'
import { ownPorts } from '../turn-context/control-files.ts'
import { createChatMemos } from '../turn-context/chat-memos.ts'
import { createGrants, type Grants } from '../turn-context/grants.ts'
import { ownedPaths } from '../turn-context/role-guards.ts'
import { createTurnContextFactory, type TurnContextOptions } from '../turn-context/turn-context.ts'
import { homeTools } from '../turn-context/home-tools.ts'
import { createMcpToolList } from '../turn-context/mcp-tool-list.ts'
import { mcpTools } from '../turn-context/mcp-tools.ts'
import { createSessionWarnings, createTurnWarnings } from '../turn-context/session-warnings.ts'
import { createPrefill } from '../turn-context/prefill-messages.ts'
import type { PromptCache } from '../turn-context/prompt-cache.ts'
import { createSystemPrompt } from '../turn-context/system-prompt.ts'
import { createHooksFor } from '../turn-context/turn-hooks.ts'
import { createTurns, type Turns, type TurnsOptions } from '../turns/runner.ts'
import { createSpentSince } from '../turn-context/spending.ts'
import { createTurnTools } from '../turn-context/turn-tools.ts'
import { createWindowFit, type WindowFitOptions } from '../turn-context/window-fit.ts'
import { compressingEvent } from '../turns/to-stream-event.ts'

export type EngineOptions = {
  config: Config
  version: string
  homes: Homes
  sessions: Sessions
  hostSessions: HostSessions
  skills: Skills
  hub: Hub
  promptCache: PromptCache
  toolOutput: ToolOutput
  checkpoints: TurnContextOptions['checkpoints']
  guardsFor: TurnContextOptions['guardsFor']
  /** Absent: background processes are not available. */
  processesOf?: TurnContextOptions['processesOf']
  /** Built after the engine, because scheduled tasks start turns. */
  cron: () => Cron
  liveDir: string
  /** As in `TurnsOptions`. */
  resume?: TurnsOptions['resume']
  clock: Clock
  log: {
    info: (line: string, extra?: Record<string, unknown>) => void
    warn: (line: string, extra?: Record<string, unknown>) => void
    error: (line: string, extra?: Record<string, unknown>) => void
  }
  /** Where responses are shown; the page when absent. */
  surface?: 'terminal' | undefined
  /** MCP servers that the client of a session brings for it alone. */
  sessionServers?: ((sessionId: string) => McpHome | undefined) | undefined
  /** Receives warnings of MCP servers and shell init files. */
  onWarning?: (message: string) => void
  onIdle?: (sessionId: string) => void
  onDone?: (sessionId: string) => void
  onQueue?: (sessionId: string) => void
  onEnded?: TurnsOptions['onEnded']
  onPlanAnswer?: TurnsOptions['onPlanAnswer']
  /** Decorates the agent of a turn, for example to observe its events. */
  wrapAgent?: (agent: Agent) => Agent
  wrapPrompt?: (prompt: WindowFitOptions['promptFor']) => WindowFitOptions['promptFor']
  wrapContext?: (create: TurnsOptions['createContext']) => TurnsOptions['createContext']
}

export type Engine = {
  /** The proxy that outgoing requests use; undefined without one. */
  dispatcher: Dispatcher | undefined
  providers: Providers
  mcp: Mcp
  external: ExternalAgents
  models: ModelServices
  /** The endpoint that serves a session with this model. Throws UserError when it cannot be called. */
  endpointOf: (home: Home, model: string | null) => ModelEndpoint
  auxiliaryFor: AuxiliaryFor
  compressions: Compressions
  agent: Agent
  spentSince: ReturnType<typeof createSpentSince>
  budgetFor: (scope: SpendingScope, ask: SpendingLimitOptions['ask']) => () => Promise<Words | null>
  turns: Turns
  grants: Grants
  hooks: HookRecords
  runners: CommandRunners
  languageServers: LanguageServers
  /** Paths that control the agent itself, of a home and a workspace. */
  controlOf: (home: Home, workspace: string) => string[]
}

const identity = <T>(value: T): T => value

/** Null: titles are not asked for. */
const titleEndpoint = (home: Home, own: ModelEndpoint, auxiliaryFor: AuxiliaryFor) =>
  home.settings().auxiliary.title_generation.enabled
    ? auxiliaryFor('title_generation', home, own).endpoint
    : null

export const createEngine = async (options: EngineOptions): Promise<Engine> => {
  const { config, version, homes, sessions, hostSessions, skills, hub, log, clock } = options
  const { wrapAgent = identity, wrapPrompt = identity, wrapContext = identity } = options
  const dispatcher = await createProxyDispatcher(config.env)
  const signIns = new SignIns({
    clock,
    sharedFile: sharedSignInFile(config.baseHome, config.env),
    dispatcher,
    log: log.warn,
  })
  const providers = createProviders(dispatcher, clock, signIns.keyFor)
  const mcp = createMcp({ version, dispatcher, clock })
  const external = createExternalAgents({ clock, version, redact, log: log.info })
  const models = createModelServices({
    clock,
    config,
    providers,
    dispatcher,
    hintFor,
    writeEnv,
    log: log.warn,
    redact,
    agentModels: external.modelsOf,
    keyFor: signIns.keyFor,
  })
  const endpointOf: Engine['endpointOf'] = (home, model) =>
    models.endpoint(home, models.compatible(home, model).model)
  const auxiliaryFor = createAuxiliaryModels({
    clock,
    providers,
    endpoint: models.endpoint,
    apply: models.windows.apply,
  })
  const compressions = createCompressions({
    sessions,
    auxiliaryFor,
    runExclusive: (id, work) => turns.runExclusive(id, work),
    interrupt: id => turns.interrupt(id),
    requireIdle: id => turns.requireIdle(id),
    homeOf: homes.of,
    endpointOf,
    apply: models.windows.apply,
    ready: models.ready,
    redact,
    onStart: id => void hub.publish(`session:${id}`, compressingEvent),
    onChange: id => void hub.publish(`session:${id}`, { type: 'reset', data: {} }),
  })
  const agent = createAgent()
  const spentSince = createSpentSince({ sessions, running: () => turns.running() })
  const budgetFor: Engine['budgetFor'] = (scope, ask) =>
    createSpendingLimit(scope, { sessions, ask, spentSince, clock })
  const hooks = createHookRecords(clock, redact)
  const grants = createGrants({ path: join(config.stateDir, 'grants.json'), clock })
  const controlOf = createControlOf(config)
  const containers = createContainerRunners({ clock, config, log, controlOf })
  void containers.cleanUp(homes.list())
  const runners = withContainers(createCommandRunners({ config, homes, controlOf }), containers)
  const languageServers = createLanguageServers({ clock, warn: log.warn })
  const createContext = createTurnContextFactory({
    sessions,
    agentFor: endpoint =>
      wrapAgent(
        !(endpoint instanceof UserError) && endpoint.apiMode === 'acp' ? external.agent : agent,
      ),
    providers,
    fitFor: createWindowFit({
      windows: models.windows,
      sessions,
      redact,
      warnServer: createSessionWarnings('window', redact, options.onWarning),
      warnReduced: createSessionWarnings('window', redact, options.onWarning),
      toolsFor: createTurnTools({
        sources: [
          // Looked up by each turn: a start does not load them.
          scope => codeTools(scope),
          homeTools({
            skills,
            sessions,
            hostSessions,
            redact,
            dispatcher,
            auxiliaryFor,
            currentEndpoint: models.windows.apply,
            cronOf: (home, role) => createCronStore(options.cron().of(home), role),
          }),
        ],
        mcp: mcpTools(mcp, redact, { ...options, auxiliaryFor }),
        runnerFor: runners.runnerFor,
        mcpToolList: createMcpToolList({ sessions, promptCache: options.promptCache }),
      }),
      promptFor: wrapPrompt(
        createSystemPrompt({
          ...options,
          ...commandsOf(runners, languageServers, config),
          skills: skills.index,
          subagents: skills.subagents,
          personality: (home, name) => personalityPrompt(home.settings(), name) ?? '',
          memory: memoryPrompt,
        }),
      ),
    }),
    prefillFor: createPrefill({ log: log.warn }),
    recoverFor: ({ home }) => models.recovery(home),
    delegationFor: createDelegation({ endpoint: models.endpoint, subagents: skills.subagents }),
    budgetFor,
    compressions,
    onQueue: options.onQueue ?? (() => undefined),
    homeOf: homes.of,
    guardsFor: options.guardsFor,
    hooksFor: createHooksFor({
      records: hooks,
      redact,
      warn: createSessionWarnings('hook', redact, options.onWarning),
    }),
    placesOfOthers: home => [...otherHomePaths(homes, home), ...hiddenBySandbox(home)],
    stateDir: config.stateDir,
    controlOf,
    ownedBy: home => ownedPaths(home.dir, config.baseHome),
    ...createTurnWarnings(redact, options.onWarning),
    ownPorts: () => ownPorts(config.stateDir, config.port),
    grants,
    checkpoints: options.checkpoints,
    processesOf: options.processesOf,
    ...commandsOf(runners, languageServers, config),
    toolOutput: options.toolOutput,
    chatMemoOf: createChatMemos(),
    redact,
    redactKnown,
    secrets: { mask: redact, reveal, commandError: unusableCommand },
    readDocument: createDocuments({ workerCode: packedHere()?.documentWorker }),
    unpackRipgrep: unpackRipgrep(config),
    redactMessage: redactValue,
    expandSkill: skills.expand,
  })
  const turns = createTurns({
    ...options,
    log: log.error,
    redactMessage: redactValue,
    createContext: wrapContext(createContext),
    providers,
    titleEndpoint: (sessionId, own) =>
      titleEndpoint(homes.of(sessions.row(sessionId)?.profile), own, auxiliaryFor),
  })
  await runners.ready
  return {
    dispatcher,
    providers,
    mcp,
    external,
    models,
    endpointOf,
    auxiliaryFor,
    compressions,
    agent,
    spentSince,
    budgetFor,
    turns,
    grants,
    hooks,
    runners,
    languageServers,
    controlOf,
  }
}
