/** Binds a turn to its session and home: history, prompt, tools, environment, and who may say yes. */
import { join } from 'node:path'
import type {
  Agent,
  AgentRequest,
  ModelEndpoint,
  Providers,
  Tool,
  WireMessage,
} from '../agent/types.ts'
import type { Refusal } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { Message } from '../schema/message.ts'
import { toHistory } from '../sessions/history.ts'
import type { Sessions } from '../sessions/types.ts'
import { approver } from './allowing.ts'
import { numberAt, type TurnPlace } from './place.ts'
import type { Questions } from './questions.ts'
import type { Turn, TurnTools } from './turn.ts'

export type EquipDeps = {
  sessions: Sessions
  /** Our own engine, or another program's, by what the endpoint says. */
  agentFor: (endpoint: ModelEndpoint | Refusal) => Agent
  providers: Providers
  /** What the turn can do; other programs' tools may have to be started first. */
  toolsFor: (place: TurnPlace) => Promise<readonly Tool[]>
  promptFor: (place: TurnPlace, tools: readonly Tool[]) => string
  recoverFor: (place: TurnPlace) => AgentRequest['recover']
  homeOf: (profile: string | null | undefined) => Home
  /** What belongs to other profiles. */
  placesOfOthers: (home: Home) => string[]
  stateDir: string
  redact: (text: string) => string
  redactMessage: (message: Message) => Message
  /** `/skill and words` → what the skill says and the words; any other text as it is. */
  expandSkill: (home: Home, text: string) => string
}

const CLARIFY_WAIT_S = 120
const MAX_STEPS = 90

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
    const config = home.values()
    const { unattended, endpoint } = turn
    const place: TurnPlace = { turn, sessionId: id, home, workspace, meta, config, unattended }
    const recover = deps.recoverFor(place)
    return {
      agent: deps.agentFor(endpoint),
      async request() {
        const tools = await deps.toolsFor(place)
        return {
          providers: deps.providers,
          tools,
          system: deps.promptFor(place, tools),
          workspace,
          sessionKey: id,
          env: home.childEnv({
            AGENT_SESSION_KEY: id,
            TERMINAL_CWD: workspace,
            AGENT_EXEC_ASK: '1',
          }),
          forbidden: [...forbiddenOf(home, deps.stateDir), ...deps.placesOfOthers(home)],
          maxSteps: numberAt(config, 'agent', 'max_turns') ?? MAX_STEPS,
          nextMessageId: () => sessions.nextMessageId(id),
          approve: approver(place, { sessions, redact: deps.redact, ask: questions.approve }),
          clarify: (question, choices) =>
            questions.clarify(
              { session_id: id, question, choices_offered: choices },
              (numberAt(config, 'clarify', 'timeout') ?? CLARIFY_WAIT_S) * 1_000,
            ),
          ...(recover && { recover }),
        }
      },
      history: () =>
        withWorkspace(
          withSkills(toHistory(sessions.load(id).messages), text => deps.expandSkill(home, text)),
          workspace,
        ),
      record(message) {
        const [entry] = sessions.append(id, [{ t: 'message', message }])
        if (entry?.t !== 'message') throw new Error('Expected the appended message back')
        return deps.redactMessage(entry.message)
      },
      redact: deps.redact,
    }
  }
