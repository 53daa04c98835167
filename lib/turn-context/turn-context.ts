/** Binds a turn to its session and home: history, prompt, tools, environment, and who may say yes. */
import { join } from 'node:path'
import { protectedPaths } from '../store/state-files.ts'
import { stripVTControlCharacters } from 'node:util'
import type {
  Agent,
  AgentRequest,
  Delegation,
  ModelEndpoint,
  Providers,
  Tool,
  WireMessage,
} from '../agent/types.ts'
import type { Processes, Secrets } from '../agent/tool-services.ts'
import { UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import type { Sent } from '../sessions/entries.ts'
import { toConversation } from '../sessions/history.ts'
import type { Sessions } from '../sessions/types.ts'
import { visibleWords } from '../base/visible.ts'
import { createApprover } from './approver.ts'
import { replaySent, annotateMessage, expandSkills, modelText } from './user-content.ts'
import type { Compressions } from './session-compression.ts'
import { externalFor } from './external-agent.ts'
import type { GuardsFor } from './guards.ts'
import { withCheckpoints, type CheckpointSource } from './with-checkpoints.ts'
import type { TurnScope } from './turn-scope.ts'
import { queuedOf, withoutQueued } from '../sessions/queued.ts'
import type { Grants } from './grants.ts'
import type { Questions } from '../turns/questions.ts'
import type { Turn, TurnContext } from '../turns/turn.ts'

export type TurnContextOptions = {
  sessions: Sessions
  /** Our own engine, or another program's, by what the endpoint says. */
  agentFor: (endpoint: ModelEndpoint | UserError) => Agent
  providers: Providers
  /** What the turn can do; other programs' tools may have to be started first. */
  toolsFor: (place: TurnScope) => Promise<readonly Tool[]>
  promptFor: (place: TurnScope, tools: readonly Tool[], forbidden: readonly string[]) => string
  /** What is said before the conversation. */
  prefillFor: (place: TurnScope) => WireMessage[]
  delegationFor: (place: TurnScope) => Delegation
  /** Asked before each model call. */
  budgetFor: (place: TurnScope, ask: Questions['approve']) => () => Promise<string | null>
  /** The session's waiting messages have changed. */
  onQueue: (sessionId: string) => void
  /** What happens when the model cannot answer: other keys, other models. */
  recoverFor: (
    place: TurnScope,
  ) => Pick<AgentRequest, 'recover' | 'attemptLimit' | 'onEndpointSuccess'>
  /** How long conversations are kept within the window; see `compression.ts`. */
  compressions: Pick<Compressions, 'forTurn' | 'record'>
  homeOf: (profile: string | null | undefined) => Home
  /** What the home itself forbids. */
  guardsFor: GuardsFor
  /** What belongs to other profiles. */
  placesOfOthers: (home: Home) => string[]
  stateDir: string
  /** What decides about the agent of a home, and the ports this service answers on. */
  controlOf: (home: Home) => string[]
  ownPorts: () => string[]
  grants: Grants
  /** Records what a turn changes. */
  checkpoints: CheckpointSource | null
  /** Programs that run on beside a session; absent where there are none. */
  processesOf?: (sessionId: string) => Processes
  /** Where long results of a session are put aside. */
  toolOutput: {
    dirOf: (sessionId: string) => string
    save: (sessionId: string, callId: string, text: string) => string | null
    saveBytes: (sessionId: string, callId: string, bytes: Buffer, ending: string) => string | null
  }
  redact: (text: string) => string
  /** What the model reads and writes of secrets; see `lib/redact/redact.ts`. */
  secrets: Secrets
  redactKnown: (text: string) => string
  redactMessage: (message: Message) => Message
  /** `/skill and words` → what the skill says and the words; any other text as it is. */
  expandSkill: (home: Home, text: string) => string
}

/** Nobody is there to send it again: with the waits between them about three minutes. */
const UNATTENDED_MAX_ATTEMPTS = 8

/** How often a model call that fails is made (agent-home §2.2); undefined leaves it to the engine. */
const maxAttemptsOf = ({ config, unattended }: TurnScope): number | undefined => {
  const configured = config.agent.api_max_retries
  if (configured !== undefined) return Math.max(1, Math.floor(configured))
  return unattended ? UNATTENDED_MAX_ATTEMPTS : undefined
}

/** Where no tool may go: the service's own state and the secrets of the home. */
const forbiddenOf = (home: Home, stateDir: string): string[] => [
  ...protectedPaths(stateDir),
  ...['.env', 'auth.json', 'auth.lock', 'checkpoints'].map(name => join(home.dir, name)),
]

/**
 * What the model says in its own words. Of its calls nothing is hidden: it has to read later what it really called, and
 * a secret in them is one that a person gave it.
 */
const withoutKnown = (message: NewMessage, redactKnown: (text: string) => string): NewMessage => {
  if (message.role !== 'assistant') return message
  const { content, reasoning } = message
  return {
    ...message,
    ...(typeof content === 'string' && { content: redactKnown(content) }),
    ...(typeof reasoning === 'string' && { reasoning: redactKnown(reasoning) }),
  }
}

export const createTurnContextFactory =
  (deps: TurnContextOptions) =>
  (turn: Turn, questions: Questions, said: string): TurnContext => {
    const { sessions } = deps
    const id = turn.sessionId
    const { meta, created_at: createdAt } = sessions.head(id)
    const home = deps.homeOf(meta.profile)
    const workspace = meta.workspace ?? home.dir
    const { unattended, endpoint } = turn
    // A turn that cannot be called begins all the same, with a configuration that cannot be read, too.
    const config = endpoint instanceof UserError ? home.lenient.settings() : home.settings()
    const place: TurnScope = { turn, sessionId: id, home, workspace, meta, config, unattended }
    const recovery = deps.recoverFor(place)
    const expand = (text: string) => deps.expandSkill(home, text)
    const telling = { workspace, at: turn.startedAt, createdAt, zone: config.timezone, expand }
    /** Of what is said into the turn, by its key in the queue. */
    const steered = new Map<string, Omit<Sent, 'id'>>()
    sessions.append(id, [{ t: 'sent', id: turn.userMessageId, ...annotateMessage(said, telling) }])
    return {
      agent: withCheckpoints(deps.checkpoints, place, deps.agentFor(endpoint)),
      async request() {
        const tools = await deps.toolsFor(place)
        const forbidden = [...forbiddenOf(home, deps.stateDir), ...deps.placesOfOthers(home)]
        return {
          providers: deps.providers,
          tools,
          system: deps.redact(deps.promptFor(place, tools, forbidden)),
          secrets: deps.secrets,
          prefill: deps.prefillFor(place),
          workspace,
          sessionKey: id,
          env: home.childEnv({
            AGENT_SESSION_KEY: id,
            TERMINAL_CWD: workspace,
            AGENT_EXEC_ASK: '1',
          }),
          forbidden,
          controlPaths: deps.controlOf(home),
          ownAddresses: deps.ownPorts(),
          guards: deps.guardsFor(home),
          maxSteps: config.agent.max_turns,
          nextMessageId: () => sessions.nextMessageId(id),
          approve: createApprover(place, {
            grants: deps.grants,
            sessions,
            redactKnown: deps.redactKnown,
            ask: questions.approve,
          }),
          // Programs ask too, not only the tool: where nobody watches, nobody is asked.
          clarify: async (question, choices) =>
            unattended
              ? null
              : questions.clarify(
                  {
                    session_id: id,
                    question: visibleWords(deps.redact(question)),
                    choices_offered: choices.map(choice => visibleWords(deps.redact(choice))),
                  },
                  config.clarify.timeout * 1_000,
                ),
          external: externalFor(place, sessions),
          attachments:
            sessions.load(id).messages.findLast(({ role }) => role === 'user')?.attachments ?? [],
          // Nobody would end what a turn without a watcher leaves behind.
          ...(deps.processesOf && !unattended && { processes: deps.processesOf(id) }),
          readable: [deps.toolOutput.dirOf(id)],
          offload: (callId, text) => deps.toolOutput.save(id, callId, deps.redact(text)),
          saveImage: (callId, bytes, ending) =>
            deps.toolOutput.saveBytes(id, callId, bytes, ending),
          ...recovery,
          maxAttempts: maxAttemptsOf(place),
          compression: deps.compressions.forTurn(id, home, endpoint),
          delegation: deps.delegationFor(place),
          checkBudget: deps.budgetFor(place, questions.approve),
          takeSteeringMessages: () =>
            queuedOf(sessions.head(id).meta)
              .filter(({ steer }) => steer)
              .map(({ id: key, text, attachments }) => {
                const how = annotateMessage(text, telling)
                steered.set(key, how)
                return { key, text, modelText: modelText(text, how), attachments }
              }),
        }
      },
      history() {
        const folded = sessions.load(id)
        const history = toConversation(folded)
        // Another program's agent knows where it works, and is told words alone.
        return endpoint instanceof UserError || endpoint.apiMode === 'acp'
          ? expandSkills(history, expand)
          : replaySent(history, folded.sent, expand)
      },
      recordSummary: event => deps.compressions.record(id, event),
      record(given, key) {
        const message = withoutKnown(given, deps.redactKnown)
        // In one write: a kill leaves it in the queue or in the transcript, never in both or in neither.
        const taken =
          key === undefined
            ? []
            : [{ t: 'meta' as const, patch: withoutQueued(sessions.head(id).meta, key) }]
        const how = key === undefined ? undefined : steered.get(key)
        const sent = how && message.id ? [{ t: 'sent' as const, id: message.id, ...how }] : []
        const safe = withoutHalfSecrets(message, deps.redact)
        const [entry] = sessions.append(id, [{ t: 'message', message: safe }, ...sent, ...taken])
        if (taken.length > 0) deps.onQueue(id)
        if (entry?.t !== 'message') throw new Error('Expected the appended message back')
        return deps.redactMessage(entry.message)
      },
      redact: deps.redact,
    }
  }

/** Colours in the middle of a secret would keep it from being seen as one: such an output is kept without them. */
const withoutHalfSecrets = (message: NewMessage, redact: (text: string) => string): NewMessage => {
  const { _output: colored, ...rest } = message
  if (typeof colored !== 'string') return rest
  const isSame =
    redact(stripVTControlCharacters(colored)) === stripVTControlCharacters(redact(colored))
  return isSame ? message : rest
}
