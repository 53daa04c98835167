/** The services of this process that turns are built from, by reference. */
import type { Dispatcher } from 'undici'
import type { ExternalAgents } from '../../agent/acp/agents.ts'
import type { Processes, ReadDocument } from '../../agent/tool-services.ts'
import type { Agent, AgentRequest, ModelEndpoint, Providers } from '../../agent/types.ts'
import type { Commands } from '../../commands/commands.ts'
import type { Clock } from '../../base/clock.ts'
import type { Config } from '../../config.ts'
import type { Cron } from '../../cron/cron.ts'
import type { Hub } from '../../http/hub.ts'
import type { Mcp, McpHome } from '../../mcp/mcp.ts'
import type { ModelServices } from '../../models/models.ts'
import type { Home } from '../../profiles/home.ts'
import type { Homes } from '../../profiles/homes.ts'
import type { HookRecords } from '../../profiles/hooks/records.ts'
import type { Skills } from '../../profiles/skills/skills.ts'
import type { NewMessage } from '../../schema/message.ts'
import type { HostSessions } from '../../sessions/host-db/host-sessions.ts'
import type { ToolOutput } from '../../sessions/tool-output.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { LanguageServers } from '../../workspaces/diagnostics/diagnostics.ts'
import type { Questions } from '../questions.ts'
import type { AuxiliaryModels } from './auxiliary-model.ts'
import type { ChatMemos } from './chat-memos.ts'
import type { Grants } from './grants.ts'
import type { HomeGuards } from './guards.ts'
import type { PromptCache } from './prompt-cache.ts'
import type { Compressions } from './session-compression.ts'
import type { MissingFiles } from './missing-files.ts'
import type { SessionWarnings } from './session-warnings.ts'
import type { Spending } from './spending-limit.ts'
import type { WebServices } from './web-services.ts'
import type { CheckpointSource } from './with-checkpoints.ts'

export type Log = {
  info: (line: string, extra?: Record<string, unknown>) => void
  warn: (line: string, extra?: Record<string, unknown>) => void
  error: (line: string, extra?: Record<string, unknown>) => void
}

/** What a command that runs turns at a terminal shows of them, and answers itself. */
export type TurnObserver = {
  /** A warning of an MCP server, a hook, or a shell init file. */
  warning: (message: string) => void
  /** A message is complete. */
  message: (sessionId: string, message: NewMessage) => void
  prompt: (sessionId: string, text: string) => void
  approve: Questions['approve']
  clarify: Questions['clarify']
}

export type TurnSources = {
  config: Config
  version: string
  homes: Homes
  sessions: Sessions
  hostSessions: HostSessions
  skills: Skills
  hub: Hub
  promptCache: PromptCache
  toolOutput: ToolOutput
  /** Records file changes; null when checkpoints are not available. */
  checkpoints: CheckpointSource | null
  guards: HomeGuards
  /** Background processes of a session; absent where they are not available. */
  processesOf?: (sessionId: string) => Processes
  /** Built after the engine, because scheduled tasks start turns. */
  cron: () => Cron
  clock: Clock
  log: Log
  /** Where responses are shown; the page when absent. */
  surface?: 'terminal' | undefined
  /** MCP servers that the client of a session brings for it alone. */
  sessionServers?: ((sessionId: string) => McpHome | undefined) | undefined
  observer?: TurnObserver
  /** The session's queue changed. */
  onQueue?: (sessionId: string) => void
}

/** `TurnSources`, and what the engine makes of them. */
export type Services = TurnSources & {
  /** The proxy that outgoing requests use; undefined without one. */
  dispatcher: Dispatcher | undefined
  providers: Providers
  mcp: Mcp
  external: ExternalAgents
  models: ModelServices
  /** The endpoint that serves a session with this model. Throws UserError when it cannot be called. */
  endpointOf: (home: Home, model: string | null) => ModelEndpoint
  auxiliary: AuxiliaryModels
  web: WebServices
  compressions: Compressions
  spending: Spending
  grants: Grants
  hooks: HookRecords
  runners: Commands
  languageServers: LanguageServers
  chatMemos: ChatMemos
  /** Show warnings once per chat: about MCP servers, the model's window, what was reduced to fit it, hooks, images, and the shell. */
  missingFiles: MissingFiles
  warnings: Record<'mcp' | 'window' | 'reduced' | 'hook' | 'image' | 'shell', SessionWarnings>
  /** Runs turns of models that are called directly. */
  agent: Agent
  /** Decorates the agent of a turn, for example to observe its events. */
  wrapAgent: (agent: Agent) => Agent
  readDocument: ReadDocument
  unpackRipgrep: AgentRequest['unpackRipgrep']
}
