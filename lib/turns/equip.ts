/** Binds a turn to its session and home: history, prompt, tools, environment, and who may say yes. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemPrompt } from '../agent/prompt.ts'
import type { Agent, ApiMode, Provider, Tool, WireMessage } from '../agent/types.ts'
import type { Home } from '../profiles/home.ts'
import type { Message } from '../schema/message.ts'
import { toHistory } from '../sessions/history.ts'
import type { Sessions } from '../sessions/types.ts'
import { createPolicy } from './policy.ts'
import type { Questions } from './questions.ts'
import type { Turn, TurnTools } from './turn.ts'

export type EquipDeps = {
  sessions: Sessions
  agent: Agent
  providers: Readonly<Record<ApiMode, Provider>>
  tools: readonly Tool[]
  homeOf: (profile: string | null | undefined) => Home
  /** What belongs to other profiles. */
  placesOfOthers: (home: Home) => string[]
  stateDir: string
  redact: (text: string) => string
  redactMessage: (message: Message) => Message
  /** The active personality's text; empty when there is none or it has gone from the configuration. */
  personality: (home: Home, name: string | null) => string
  /** What the home's notes say, for the prompt. */
  memory: (home: Home) => string
  /** `/skill and words` → what the skill says and the words; any other text as it is. */
  expandSkill: (home: Home, text: string) => string
}

const CLARIFY_WAIT_S = 120
const MAX_STEPS = 90

const numberAt = (config: Readonly<Record<string, unknown>>, section: string, key: string) => {
  const inner = config[section]
  const value =
    inner !== null && typeof inner === 'object' && key in inner
      ? (inner as Record<string, unknown>)[key]
      : undefined
  return typeof value === 'number' && value > 0 ? value : undefined
}

const readIfThere = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')

/** What the state directory holds of ours; `workspace` beside it is where the agent may work. */
const OWN_STATE = [
  'sessions',
  'live',
  'trash',
  'file-trash',
  'incoming',
  'cache',
  'settings.json',
  'auth-sessions.json',
  '.signing_key',
  'instance.lock',
  'instance.json',
  'workspaces.json',
  'projects.json',
  'last_workspace.txt',
]

/** Where no tool may go: the service's own state and the secrets of the home. */
const forbiddenOf = (home: Home, stateDir: string): string[] => [
  ...OWN_STATE.map(name => join(stateDir, name)),
  ...['.env', 'auth.json', 'auth.lock'].map(name => join(home.dir, name)),
]

/** The newest user message carries the workspace it was written for; the stored one does not. */
const withWorkspace = (history: WireMessage[], workspace: string): WireMessage[] => {
  const last = history.findLastIndex(message => message.role === 'user')
  return history.map((message, at) =>
    at === last && typeof message.content === 'string'
      ? { ...message, content: `[Workspace: ${workspace}]\n${message.content}` }
      : message,
  )
}

/** Expanded at each turn and never stored: the transcript keeps what the person wrote. */
const withSkills = (history: WireMessage[], expand: (text: string) => string): WireMessage[] =>
  history.map(message =>
    message.role === 'user' &&
    typeof message.content === 'string' &&
    message.content.startsWith('/')
      ? { ...message, content: expand(message.content) }
      : message,
  )

export const createEquip =
  (deps: EquipDeps) =>
  (turn: Turn, questions: Questions): TurnTools => {
    const { sessions } = deps
    const id = turn.sessionId
    const { meta } = sessions.head(id)
    const home = deps.homeOf(meta.profile)
    const workspace = meta.workspace ?? home.dir
    const allowed = new Set(
      Array.isArray(meta.approved_patterns) ? meta.approved_patterns.map(String) : [],
    )
    const allowForSession = (labels: string[]): void => {
      for (const label of labels) allowed.add(label)
      sessions.append(id, [{ t: 'meta', patch: { approved_patterns: [...allowed] } }])
    }
    const allowAlways = (labels: string[]): void => {
      const { command_allowlist: before } = home.config.read()
      const list = Array.isArray(before) ? before : []
      home.config.edit(['command_allowlist'], [...new Set([...list, ...labels])])
    }
    const config = home.values()
    const { unattended } = turn
    return {
      agent: deps.agent,
      providers: deps.providers,
      // A question nobody can answer is not offered.
      tools: unattended ? deps.tools.filter(({ kind }) => kind !== 'ask') : deps.tools,
      system: systemPrompt({
        soul: readIfThere(join(home.dir, 'SOUL.md')),
        workspace,
        memory: unattended ? '' : deps.memory(home),
        personality: deps.personality(home, meta.personality ?? null),
        now: new Date(turn.startedAt * 1_000),
        ...(unattended ? { occasion: unattended.preamble } : {}),
      }),
      history: () =>
        withWorkspace(
          withSkills(toHistory(sessions.load(id).messages), text => deps.expandSkill(home, text)),
          workspace,
        ),
      workspace,
      env: home.childEnv({ AGENT_SESSION_KEY: id, TERMINAL_CWD: workspace, AGENT_EXEC_ASK: '1' }),
      forbidden: [...forbiddenOf(home, deps.stateDir), ...deps.placesOfOthers(home)],
      maxSteps: numberAt(config, 'agent', 'max_turns') ?? MAX_STEPS,
      nextMessageId: () => sessions.nextMessageId(id),
      record(message) {
        const [entry] = sessions.append(id, [{ t: 'message', message }])
        if (entry?.t !== 'message') throw new Error('Expected the appended message back')
        return deps.redactMessage(entry.message)
      },
      redact: deps.redact,
      approve: createPolicy({
        sessionId: id,
        config: () => home.values(),
        allowAlways,
        sessionAllowed: () => [...allowed],
        allowForSession,
        ask: unattended
          ? async ask =>
              unattended.ask({
                command: ask.command,
                patternKeys: ask.pattern_keys,
                description: ask.description,
                cwd: ask.cwd ?? workspace,
              })
          : questions.approve,
        redact: deps.redact,
      }),
      clarify: (question, choices) =>
        questions.clarify(
          { session_id: id, question, choices_offered: choices },
          (numberAt(config, 'clarify', 'timeout') ?? CLARIFY_WAIT_S) * 1_000,
        ),
    }
  }
