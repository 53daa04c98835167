/** External agents (ACP): installed and configured ones, and how a model id selects one. */
import { statSync } from 'node:fs'
import { delimiter, isAbsolute } from 'node:path'
import { isDirectory } from '../base/directories.ts'
import { findProgram } from '../base/find-program.ts'
import type { ExternalAgentSettings } from '../agent/external-agent.ts'
import type { ModelEndpoint } from '../agent/types.ts'
import { unavailable } from '../errors.ts'
import type { ModelGroup } from '../schema/model.ts'
import { toProviderId } from './provider-ids.ts'
import { displayName } from './providers.ts'
import type { ModelSetup } from './provider-config.ts'

export type AgentProgram = {
  id: string
  /** Display name. */
  name: string
  command: readonly string[]
}

/** Provider id of all external agents: `@acp:<agent>` or `@acp:<agent>:<model>`. */
const AGENT_PROVIDER = 'acp'

const program = (id: string, name: string, command: string): AgentProgram => ({
  id,
  name,
  command: command.split(' '),
})

/** Launch commands. Only installed programs are offered; nothing is downloaded. */
const KNOWN_AGENTS: readonly AgentProgram[] = [
  program('claude', 'Claude Code', 'claude-agent-acp'),
  program('claude', 'Claude Code', 'claude-code-acp'),
  program('codex', 'Codex', 'codex-acp'),
  program('gemini', 'Gemini CLI', 'gemini --acp'),
  program('opencode', 'OpenCode', 'opencode acp'),
  program('goose', 'goose', 'goose acp'),
  program('copilot', 'GitHub Copilot CLI', 'copilot --acp --stdio'),
  program('cursor', 'Cursor', 'cursor-agent acp'),
  program('kiro', 'Kiro', 'kiro-cli acp'),
  program('kimi', 'Kimi', 'kimi acp'),
  program('openhands', 'OpenHands', 'openhands acp'),
  program('openclaw', 'OpenClaw', 'openclaw acp'),
  program('qwen', 'Qwen Code', 'qwen --acp'),
  program('auggie', 'Auggie', 'auggie --acp'),
  program('qoder', 'Qoder', 'qodercli --acp'),
  program('droid', 'Droid', 'droid exec --output-format acp'),
  program('vibe', 'Mistral Vibe', 'vibe-acp'),
  program('pi', 'Pi', 'pi-acp'),
  program('hermes', 'Hermes', 'hermes acp'),
  program('cline', 'Cline', 'cline --acp'),
  program('kilo', 'Kilo Code', 'kilo acp'),
]

const directories = (path: string): string[] =>
  path.split(delimiter).filter(directory => isAbsolute(directory))

/** Null for a name that is relative to a directory. */
const findExecutable = (name: string, path: string): string | null =>
  isAbsolute(name) || !name.includes('/') ? (findProgram(path, name) ?? null) : null

/** Installed agents of the table, one entry per id. */
export const installedAgents = (path: string): AgentProgram[] => {
  const programs = new Map<string, AgentProgram>()
  for (const agent of KNOWN_AGENTS) {
    const [file = '', ...args] = agent.command
    const executable = programs.has(agent.id) ? null : findExecutable(file, path)
    if (executable) programs.set(agent.id, { ...agent, command: [executable, ...args] })
  }
  return [...programs.values()]
}

/** Repeats the search only when the mtime of a PATH directory has changed. */
export class InstalledAgents {
  #key = ''
  #programs: AgentProgram[] = []

  find(path: string): readonly AgentProgram[] {
    const times = directories(path).map(directory =>
      isDirectory(directory) ? statSync(directory, { throwIfNoEntry: false })?.mtimeMs : 0,
    )
    const key = `${path}\n${times.join(' ')}`
    if (this.#key !== key) this.#programs = installedAgents(path)
    this.#key = key
    return this.#programs
  }
}

/** Agents with an `acp_command` in the model section, a provider or a custom provider of config.yaml. */
const configuredAgents = ({ agents }: ModelSetup): AgentProgram[] => {
  const programs = new Map<string, AgentProgram>()
  for (const { id, name, command } of agents)
    if (command.length > 0 && !programs.has(id))
      programs.set(id, { id, name: name ?? nameOf(id), command })
  return [...programs.values()]
}

const nameOf = (id: string): string =>
  KNOWN_AGENTS.find(agent => agent.id === id)?.name ?? displayName(id)

/** Settings merged from several sections; earlier sections win. */
const settingsOf = ({ agents }: ModelSetup, id: string): ExternalAgentSettings | undefined => {
  const entries = agents.flatMap(agent => (agent.id === id ? [agent.settings] : []))
  if (entries.length === 0) return undefined
  return {
    ...Object.assign({}, ...entries.toReversed()),
    env: Object.assign({}, ...entries.toReversed().map(({ env }) => env)),
    mcp: entries.every(({ mcp }) => mcp),
  }
}

/** `copilot-acp`, the only provider of the table that is an external agent. */
const copilot = ({ env }: ModelSetup): AgentProgram => {
  const file = env.AGENT_COPILOT_ACP_COMMAND?.trim() || env.COPILOT_CLI_PATH?.trim() || 'copilot'
  const args = env.AGENT_COPILOT_ACP_ARGS?.trim() || '--acp --stdio'
  return {
    id: 'copilot-acp',
    name: displayName('copilot-acp'),
    command: [file, ...args.split(/\s+/)],
  }
}

const toEndpoint = (
  setup: ModelSetup,
  { id, name, command }: AgentProgram,
  provider: string,
  model: string,
  own: string,
): ModelEndpoint => {
  const [file = '', ...args] = command
  const executable = findExecutable(file, setup.env.PATH ?? '')
  if (!executable)
    throw unavailable(
      `Couldn’t start ${name}: ${file} isn’t installed on this machine. Install it, or pick another model.`,
      { code: 'agent_not_installed', values: { name, file } },
    )
  const settings = settingsOf(setup, id)
  // These names select no model, so the agent uses its own default.
  const isOpen = ['', 'default', 'auto', id, provider].includes(own)
  return {
    provider,
    model: model || id,
    apiMode: 'acp',
    baseUrl: '',
    apiKey: null,
    contextLength: 0,
    command: [executable, ...args],
    agent: {
      id,
      name,
      model: isOpen ? null : own,
      ...(settings && { settings }),
    },
  }
}

/** All agents that can be selected. `command` is null when the program is not installed. */
export const listExternalAgents = (setup: ModelSetup) => {
  const path = setup.env.PATH ?? ''
  const agents = new Map(
    [...installedAgents(path), ...configuredAgents(setup)].map(agent => [agent.id, agent]),
  )
  return [...agents.values()].map(({ id, name, command: [file = '', ...args] }) => {
    const executable = findExecutable(file, path)
    return {
      id,
      name,
      command: executable === null ? null : [executable, ...args],
      settings: settingsOf(setup, id) ?? { env: {}, mcp: true },
    }
  })
}

/** The endpoint of an external agent; null when the pair does not select one. Throws a UserError when it cannot be started. */
export const agentEndpoint = (
  setup: ModelSetup,
  provider: string,
  model: string,
): ModelEndpoint | null => {
  const configured = configuredAgents(setup)
  const slug = provider.replace(/^custom:/, '')
  const own = configured.find(
    ({ id }) =>
      id === provider ||
      id === slug ||
      // The agent's id may be an alias of a provider.
      (id === setup.provider?.toLowerCase() && toProviderId(id) === provider),
  )
  if (provider === AGENT_PROVIDER) {
    const cut = model.indexOf(':')
    const agentId = cut < 0 ? model : model.slice(0, cut)
    const rest = cut < 0 ? '' : model.slice(cut + 1)
    const agent =
      configured.find(({ id }) => id === agentId) ??
      installedAgents(setup.env.PATH ?? '').find(({ id }) => id === agentId) ??
      KNOWN_AGENTS.find(({ id }) => id === agentId)
    if (agent) return toEndpoint(setup, agent, provider, model, rest)
    if (own) return toEndpoint(setup, own, provider, model, model)
    throw unavailable(
      `Unknown agent "${agentId}". Pick one in the model menu, or add it to config.yaml with acp_command.`,
      { code: 'agent_unknown', values: { name: agentId } },
    )
  }
  if (own) return toEndpoint(setup, own, provider, model, model)
  return provider === 'copilot-acp'
    ? toEndpoint(setup, copilot(setup), provider, model, model)
    : null
}

/** True when the agent can be started. Whether it is signed in is not known here. */
export const isAgentReady = (setup: ModelSetup, provider: string, model: string): boolean => {
  try {
    return agentEndpoint(setup, provider, model) !== null
  } catch {
    // Not installed, or unknown.
    return false
  }
}

export type ExternalAgentSources = {
  /** Installed agents. */
  programs: (path: string) => readonly AgentProgram[]
  /** Models the agent reported; empty until it has run once. */
  models: (id: string) => readonly { id: string; label: string }[]
}

/** The group of external agents in the model list; null when there are none. */
export const agentGroup = (setup: ModelSetup, beyond: ExternalAgentSources): ModelGroup | null => {
  const agents = new Map(
    [...beyond.programs(setup.env.PATH ?? ''), ...configuredAgents(setup)].map(agent => [
      agent.id,
      agent,
    ]),
  )
  const models = [...agents.values()].flatMap(({ id, name }) => [
    { id: `@${AGENT_PROVIDER}:${id}`, label: name },
    ...beyond.models(id).map(model => ({
      id: `@${AGENT_PROVIDER}:${id}:${model.id}`,
      label: `${name} · ${model.label}`,
    })),
  ])
  return models.length > 0
    ? { provider: 'Agents on this machine', provider_id: AGENT_PROVIDER, models }
    : null
}
