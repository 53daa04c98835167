/** Models, tools and turns, joined once: what the service and the command line have in common. */
import { join } from 'node:path'
import { createExternalAgents } from '../agent/acp/agents.ts'
import { hintFor } from '../agent/failure.ts'
import { createAgent } from '../agent/loop.ts'
import { createProviders, createProxyDispatcher } from '../agent/providers/registry.ts'
import type { Agent } from '../agent/types.ts'
import type { HostSessions } from '../host-db/host-sessions.ts'
import type { Config } from '../config.ts'
import { createCronStore } from '../cron/agent-api.ts'
import type { Cron } from '../cron/cron.ts'
import { UserError } from '../errors.ts'
import type { Hub } from '../hub.ts'
import { createMcp } from '../mcp/mcp.ts'
import { memoryPrompt } from '../memory/memory.ts'
import { createModelServices } from '../models/model-services.ts'
import { personalityPrompt } from '../personalities.ts'
import { writeEnv } from '../profiles/write-env.ts'
import type { Homes } from '../profiles/homes.ts'
import { otherHomePaths } from '../profiles/other-homes.ts'
import { redact, redactKnown, redactValue, reveal, unusableCommand } from '../redact/redact.ts'
import type { Sessions } from '../sessions/types.ts'
import type { Skills } from '../skills/skills.ts'
import type { ToolOutput } from '../tool-output.ts'
import { createAuxiliaryModels } from '../turn-context/auxiliary-model.ts'
import { createSpendingLimit, type SpendingScope } from '../turn-context/spending-limit.ts'
import { codeTools } from '../turn-context/code-tools.ts'
import { createCompressions } from '../turn-context/session-compression.ts'
import { createDelegation } from '../turn-context/subagent-settings.ts'
import { controlFiles, ownPorts } from '../turn-context/control-files.ts'
import { createGrants } from '../turn-context/grants.ts'
import { createTurnContextFactory, type TurnContextOptions } from '../turn-context/turn-context.ts'
import { homeTools } from '../turn-context/home-tools.ts'
import { mcpTools } from '../turn-context/mcp-tools.ts'
import { createPrefill } from '../turn-context/prefill-messages.ts'
import type { PromptCache } from '../turn-context/prompt-cache.ts'
import { createSystemPrompt } from '../turn-context/system-prompt.ts'
import { createTurns, type TurnsOptions } from '../turns/runner.ts'
import { createSpentSince } from '../turn-context/spending.ts'
import { createTurnTools } from '../turn-context/turn-tools.ts'
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
  /** Absent: nothing is started in the background. */
  processesOf?: TurnContextOptions['processesOf']
  /** Built after this, because tasks begin turns. */
  cron: () => Cron
  liveDir: string
  /** Seconds since 1970. */
  now: () => number
  log: {
    info: (line: string, extra?: Record<string, unknown>) => void
    warn: (line: string, extra?: Record<string, unknown>) => void
    error: (line: string, extra?: Record<string, unknown>) => void
  }
  /** Where the answers are read; a page when absent. */
  surface?: 'terminal'
  /** What MCP servers have to say that is no result. */
  onWarning?: (message: string) => void
  onIdle?: (sessionId: string) => void
  onDone?: (sessionId: string) => void
  onQueue?: (sessionId: string) => void
  /** Each agent as it is to be called: watched, for example. */
  wrapAgent?: (agent: Agent) => Agent
  wrapPrompt?: (prompt: TurnContextOptions['promptFor']) => TurnContextOptions['promptFor']
  wrapCreateContext?: (equip: TurnsOptions['createContext']) => TurnsOptions['createContext']
}

export type Engine = Awaited<ReturnType<typeof createEngine>>

const identity = <T>(value: T): T => value

export const createEngine = async (deps: EngineOptions) => {
  const { config, version, homes, sessions, hostSessions, skills, hub, log, now } = deps
  const { wrapAgent = identity, wrapPrompt = identity, wrapCreateContext = identity } = deps
  const dispatcher = await createProxyDispatcher(config.env)
  const providers = createProviders(dispatcher)
  const mcp = createMcp({ version, dispatcher })
  const external = createExternalAgents({ version, redact, log: log.info })
  const models = createModelServices({
    config,
    providers,
    dispatcher,
    hintFor,
    writeEnv,
    log: log.warn,
    redact,
    agentModels: external.modelsOf,
  })
  const auxiliaryFor = createAuxiliaryModels({ providers, endpoint: models.endpoint })
  const compressions = createCompressions({
    sessions,
    auxiliaryFor,
    runExclusive: (id, work) => turns.runExclusive(id, work),
    interrupt: id => turns.interrupt(id),
    requireIdle: id => turns.requireIdle(id),
    homeOf: homes.of,
    endpointOf: (home, model) => models.endpoint(home, models.compatible(home, model).model),
    ready: models.ready,
    redact,
    onStart: id => void hub.publish(`session:${id}`, compressingEvent),
    onChange: id => void hub.publish(`session:${id}`, { type: 'reset', data: {} }),
  })
  const agent = createAgent()
  const spentSince = createSpentSince({ sessions, running: () => turns.running() })
  const budgetFor = (about: SpendingScope, ask: Parameters<typeof createSpendingLimit>[1]['ask']) =>
    createSpendingLimit(about, { sessions, ask, spentSince, now })

  const grants = createGrants({ path: join(config.stateDir, 'grants.json'), now })
  const equip = createTurnContextFactory({
    sessions,
    agentFor: endpoint =>
      wrapAgent(
        !(endpoint instanceof UserError) && endpoint.apiMode === 'acp' ? external.agent : agent,
      ),
    providers,
    toolsFor: createTurnTools([
      codeTools,
      homeTools({
        skills,
        sessions,
        hostSessions,
        redact,
        dispatcher,
        auxiliaryFor,
        cronOf: home => createCronStore(deps.cron().of(home)),
      }),
      mcpTools(mcp, redact, deps.onWarning),
    ]),
    promptFor: wrapPrompt(
      createSystemPrompt({
        ...(deps.surface && { surface: deps.surface }),
        sessions,
        promptCache: deps.promptCache,
        skills: skills.index,
        personality: (home, name) => personalityPrompt(home.values(), name) ?? '',
        memory: memoryPrompt,
      }),
    ),
    prefillFor: createPrefill({ log: log.warn }),
    recoverFor: ({ home }) => models.recovery(home),
    delegationFor: createDelegation({ endpoint: models.endpoint }),
    budgetFor,
    compressions,
    onQueue: deps.onQueue ?? (() => undefined),
    homeOf: homes.of,
    guardsFor: deps.guardsFor,
    placesOfOthers: home => otherHomePaths(homes, home),
    stateDir: config.stateDir,
    controlOf: home =>
      controlFiles({
        home: home.dir,
        baseHome: config.baseHome,
        stateDir: config.stateDir,
        userHome: config.userHome,
        program: process.argv[1] ?? process.execPath,
      }),
    ownPorts: () => ownPorts(config.stateDir, config.port),
    grants,
    checkpoints: deps.checkpoints,
    ...(deps.processesOf && { processesOf: deps.processesOf }),
    toolOutput: deps.toolOutput,
    redact,
    redactKnown,
    secrets: { mask: redact, reveal, commandError: unusableCommand },
    redactMessage: redactValue,
    expandSkill: skills.expand,
  })
  const turns = createTurns({
    sessions,
    hub,
    liveDir: deps.liveDir,
    now,
    log: log.error,
    redactMessage: redactValue,
    ...(deps.onIdle && { onIdle: deps.onIdle }),
    ...(deps.onDone && { onDone: deps.onDone }),
    createContext: wrapCreateContext(equip),
    providers,
    titleEndpoint: (sessionId, own) =>
      auxiliaryFor('title_generation', homes.of(sessions.row(sessionId)?.profile), own).endpoint,
  })
  return {
    dispatcher,
    providers,
    mcp,
    external,
    models,
    auxiliaryFor,
    compressions,
    agent,
    spentSince,
    budgetFor,
    turns,
    grants,
  }
}
