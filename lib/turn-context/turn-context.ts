/** Builds what a turn is given: history, prompt, tools, environment, approvals and limits of its session and home. */
import type { Words } from '../base/sentences.ts'
import { join } from 'node:path'
import { isServiceTarget } from '../own-processes/service-pids.ts'
import { protectedPaths } from '../store/state-files.ts'
import { stripVTControlCharacters } from 'node:util'
import { fromSeconds } from '../base/clock.ts'
import type {
  Agent,
  AgentRequest,
  Delegation,
  LoopMessage,
  ModelEndpoint,
  OutsidePolicy,
  Providers,
  WireMessage,
} from '../agent/types.ts'
import type { ImageStore } from '../agent/images.ts'
import type { Processes, ReadDocument, Secrets } from '../agent/tool-services.ts'
import { invalid, UserError } from '../errors.ts'
import type { ProfileConfig } from '../profiles/config.ts'
import type { Home } from '../profiles/home.ts'
import type { Message, NewMessage } from '../schema/message.ts'
import type { Meta, Sent } from '../sessions/entries.ts'
import { toConversation } from '../sessions/history.ts'
import type { Sessions } from '../sessions/types.ts'
import { NO_TERMINAL_ENV } from '../base/no-terminal-env.ts'
import { Unapproved } from '../base/unapproved.ts'
import { visibleWords } from '../base/visible.ts'
import { toStateEntry, withStates } from './provider-states.ts'
import { type ownedPaths, pathsFor, turnRole, withRole } from './role-guards.ts'
import { createApprover } from './approver.ts'
import type { createChatMemos } from './chat-memos.ts'
import { createUnaskedAllowance } from './network-allowance.ts'
import { instructionsFor } from './context-files.ts'
import { createSteeringMessages } from './steering-messages.ts'
import { annotateMessage, expandSkills, type MessageContext, replaySent } from './user-content.ts'
import { attachImages, hasImages, imageMode, noImages, sentWith } from './images.ts'
import type { Compressions } from './session-compression.ts'
import { externalFor } from './external-agent.ts'
import { approvalsTag } from './approvals-tag.ts'
import { createPlanMode, modeTag, type RunnerFor } from './plan-mode.ts'
import { type HooksFor, withHookAnswer } from './turn-hooks.ts'
import type { GuardsFor } from './guards.ts'
import { rulesFor } from './permissions/home-rules.ts'
import type { SessionWarnings } from './session-warnings.ts'
import { withCheckpoints, type CheckpointSource } from './with-checkpoints.ts'
import type { TurnScope } from './turn-scope.ts'
import type { WindowFit } from './window-fit.ts'
import { withoutQueued } from '../sessions/queued.ts'
import { reportedPatch, type UndoneChange, unreportedOf } from '../sessions/undone.ts'
import type { Grants } from './grants.ts'
import type { Questions } from '../turns/questions.ts'
import type { Turn, TurnContext } from '../turns/turn.ts'

export type TurnContextOptions = {
  sessions: Sessions
  /** Our engine or an external agent, depending on the endpoint. */
  agentFor: (endpoint: ModelEndpoint | UserError) => Agent
  providers: Providers
  /** The model's real window, and the tools and system prompt that fit it. */
  fitFor: WindowFit
  /** Messages before the conversation. */
  prefillFor: (scope: TurnScope) => WireMessage[]
  delegationFor: (scope: TurnScope) => Delegation
  /** Checked before each model call; resolves to the reason when the limit is reached. */
  budgetFor: (scope: TurnScope, ask: Questions['approve']) => () => Promise<Words | null>
  /** Called when the session's queue changed. */
  onQueue: (sessionId: string) => void
  /** Fallback keys and models when a model call fails. */
  recoverFor: (
    scope: TurnScope,
  ) => Pick<AgentRequest, 'recover' | 'attemptLimit' | 'onEndpointSuccess'>
  /** Compaction; see `session-compression.ts`. */
  compressions: Pick<Compressions, 'forTurn' | 'record'>
  homeOf: (profile: string | null | undefined) => Home
  guardsFor: GuardsFor
  hooksFor: HooksFor
  /** Paths of other profiles, and what the sandbox hides. */
  placesOfOthers: (home: Home) => string[]
  stateDir: string
  /** Control files of a home, and our own ports. */
  controlOf: (home: Home, workspace: string) => string[]
  /** Files of a home that only an owner changes. */
  ownedBy: (home: Home) => ReturnType<typeof ownedPaths>
  ownPorts: () => string[]
  /** Where `approvals.outside_sandbox` says nothing. */
  outsideSandbox: OutsidePolicy
  grants: Grants
  /** Records file changes; null when checkpoints are not available. */
  checkpoints: CheckpointSource | null
  /** Background processes; absent where they are not available. */
  processesOf?: (sessionId: string) => Processes
  /** Where commands run; undefined: directly on this computer. */
  runnerFor: RunnerFor
  /** The same, and what checks edits. */
  commandsFor: (
    scope: Parameters<RunnerFor>[0] & { env: Readonly<Record<string, string>> },
  ) => Pick<AgentRequest, 'runner' | 'checkEdits'>
  /** Storage for long tool results of a session. */
  toolOutput: {
    dirOf: (sessionId: string) => string
    save: (sessionId: string, callId: string, text: string) => string | null
    saveBytes: (sessionId: string, callId: string, bytes: Buffer, ending: string) => string | null
    saveImage: (sessionId: string, bytes: Buffer, ending: string) => string | null
    loadImage: (sessionId: string, file: string) => Buffer | null
  }
  /** What tools remember of a chat. */
  chatMemoOf: ReturnType<typeof createChatMemos>
  /** Says which attached images the model does not get. */
  warnImages: SessionWarnings
  /** Shows problems with the shell init files. */
  warnShell: SessionWarnings
  redact: (text: string) => string
  /** Masks and reveals secrets for the model; see `lib/redact/redact.ts`. */
  secrets: Secrets
  readDocument: ReadDocument
  unpackRipgrep: AgentRequest['unpackRipgrep']
  redactKnown: (text: string) => string
  redactMessage: (message: Message) => Message
  /** Expands `/skill and words` to the skill's text and the words; returns any other text unchanged. */
  expandSkill: (home: Home, text: string) => string
}

/**
 * More attempts when unattended: about three minutes with backoff. A provider may ask to wait, but no longer than this: no
 * one is there to end the wait, the scheduled tasks behind this one wait too, and most tasks run again.
 */
const UNATTENDED_RETRIES = { minAttempts: 8, maxRetryWaitMs: 15 * 60_000 }

/** Attempts per model call; undefined uses the engine's default. */
const maxAttemptsOf = ({ config }: TurnScope): number | undefined => {
  const configured = config.agent.api_max_retries
  return configured === undefined ? undefined : Math.max(1, Math.floor(configured))
}

/** Paths that no tool may access: the service's own state and the secrets of the home. */
const forbiddenOf = (home: Home, stateDir: string): string[] => [
  ...protectedPaths(stateDir),
  ...['.env', 'auth.json', 'auth.lock', 'mcp-tokens', 'checkpoints'].map(name =>
    join(home.dir, name),
  ),
]

/**
 * Masks known secrets in the text of the model. Its tool calls are not masked: later steps must see the real arguments, and
 * a secret in them came from the user.
 */
const withoutKnown = (message: NewMessage, redactKnown: (text: string) => string): NewMessage => {
  if (message.role !== 'assistant') return message
  const { content, reasoning, refusal } = message
  return {
    ...message,
    ...(typeof refusal === 'string' && { refusal: redactKnown(refusal) }),
    ...(typeof content === 'string' && { content: redactKnown(content) }),
    ...(typeof reasoning === 'string' && { reasoning: redactKnown(reasoning) }),
  }
}

/** What commands must not reach, and what is asked about outside a sandbox. */
const serviceFacts = (
  { ownPorts, outsideSandbox }: TurnContextOptions,
  { approvals }: ProfileConfig,
): Pick<AgentRequest, 'ownAddresses' | 'isOwnProcess' | 'outside'> => ({
  ownAddresses: ownPorts(),
  isOwnProcess: isServiceTarget,
  outside: approvals.outside_sandbox ?? outsideSandbox,
})

export const createTurnContextFactory =
  (deps: TurnContextOptions) =>
  (turn: Turn, given: Questions, said: string | null): TurnContext => {
    const { sessions } = deps
    const id = turn.sessionId
    const { meta, created_at } = sessions.head(id)
    const home = deps.homeOf(meta.profile)
    const workspace = meta.workspace ?? home.dir
    const role = () => turnRole(sessions.head(id).meta)
    const owned = deps.ownedBy(home)
    const { unattended, client, endpoint } = turn
    const questions = client?.approvals === 'deny' ? { ...given, approve: deny } : given
    // A turn without a usable model starts anyway and fails with the reason, even with an unreadable configuration.
    const config = endpoint instanceof UserError ? home.lenient.settings() : home.settings()
    const scope: TurnScope = { turn, sessionId: id, home, workspace, meta, config, unattended }
    const recovery = deps.recoverFor(scope)
    const isExternal = !(endpoint instanceof UserError) && endpoint.apiMode === 'acp'
    const expand = (text: string) => deps.expandSkill(home, text)
    const messageContext = {
      workspace,
      at: turn.startedAt,
      createdAt: fromSeconds(created_at),
      zone: config.timezone,
      mode: () => modeLines(scope, deps),
      expand,
    }
    /** How steering messages were sent, by their key in the queue. */
    const steered = new Map<string, Omit<Sent, 'id'>>()
    const known = turn.resumed && sentBefore(sessions, turn)
    let annotated =
      said === null ? null : (known ?? recordMessage(sessions, turn, said, messageContext))
    const images: ImageStore = {
      mode: imageMode(config),
      save: (bytes, ending) => deps.toolOutput.saveImage(id, bytes, ending),
      load: file => deps.toolOutput.loadImage(id, file),
    }
    return {
      agent: withCheckpoints(deps.checkpoints, scope, deps.agentFor(endpoint)),
      async request() {
        if (endpoint instanceof UserError) throw endpoint
        const shellProblem = await home.sourceInitFiles()
        deps.warnShell(scope, shellProblem === null ? [] : [shellProblem])
        const forbidden = [...forbiddenOf(home, deps.stateDir), ...deps.placesOfOthers(home)]
        const { promptFiles, ...fitted } = await deps.fitFor(scope, endpoint, forbidden)
        const env = home.childEnv(variablesOf(scope))
        const rules = rulesFor(home, workspace, env)
        const hooks = deps.hooksFor(scope, { model: fitted.endpoint.model, env })
        const { signal } = turn.controller
        const messages = sessions.load(id).messages.filter(({ role }) => role === 'user')
        if (said !== null && annotated) {
          const moment = messages.length === 1 ? 'first' : 'later'
          const answer = await hooks.submitted(said, moment, signal)
          const answered = withHookAnswer(said, annotated, answer)
          if (answered !== annotated)
            sessions.append(id, [{ t: 'sent', id: turn.userMessageId, ...answered }])
          if (answer.blocked !== null)
            throw invalid(`A hook blocked this message: ${answer.blocked}`, {
              code: 'hook_blocked',
              values: { reason: answer.blocked },
            })
          annotated = answered
        }
        const readable = [deps.toolOutput.dirOf(id)]
        const place = { workspace, env, forbidden, readable }
        const warn = (sentences: string[]) => deps.warnImages(scope, sentences)
        const attaching = { place, store: images, endpoint: fitted.endpoint, warn }
        const storeImages = isExternal ? noImages : attachImages(attaching)
        const attachments = annotated ? (messages.at(-1)?.attachments ?? []) : []
        const attached = await storeImages(attachments)
        // Later than the message itself: reading the files must not delay the reply to the client.
        if (annotated && hasImages(attached))
          sessions.append(id, [
            { t: 'sent', id: turn.userMessageId, ...sentWith(annotated, attached) },
          ])
        return {
          providers: deps.providers,
          ...fitted,
          instructions: {
            inPrompt: promptFiles,
            of: (file, known) => instructionsFor(workspace, file, known, { env, forbidden, rules }),
          },
          secrets: deps.secrets,
          readDocument: deps.readDocument,
          unpackRipgrep: deps.unpackRipgrep,
          prefill: deps.prefillFor(scope),
          workspace,
          sessionKey: id,
          chatMemo: deps.chatMemoOf(turn, messages),
          env,
          forbidden,
          // A command of a member's turn that names an owned path is asked of an owner.
          controlPaths: [...deps.controlOf(home, workspace), ...pathsFor(role(), owned)],
          ...serviceFacts(deps, config),
          guards: withRole(deps.guardsFor(home), { role, profile: home.name, owned }),
          planMode: createPlanMode(scope, { ...deps, clarify: questions.clarify }),
          rules,
          hooks,
          maxSteps: config.agent.max_turns,
          ...(client?.oneCall && { oneClientCall: true }),
          ...client?.demands,
          nextMessageId: () => sessions.nextMessageId(id),
          approve: createApprover(scope, {
            grants: deps.grants,
            sessions,
            redactKnown: deps.redactKnown,
            ask: questions.approve,
            noteAllowed: questions.noteAllowed,
          }),
          allowsNetwork: createUnaskedAllowance(scope, { grants: deps.grants, sessions }),
          clarify: clarifyFor(scope, questions, deps.redact),
          external: externalFor(scope, sessions),
          attachments,
          // Unattended turns get no background processes, since they would never be stopped.
          ...(deps.processesOf && !unattended && { processes: deps.processesOf(id) }),
          ...deps.commandsFor({ home, workspace, owner: id, readable, env }),
          readable,
          offload: (callId, text) => deps.toolOutput.save(id, callId, deps.redact(text)),
          saveImage: (callId, bytes, ending) =>
            deps.toolOutput.saveBytes(id, callId, bytes, ending),
          images,
          ...recovery,
          maxAttempts: maxAttemptsOf(scope),
          ...(unattended && UNATTENDED_RETRIES),
          compression: deps.compressions.forTurn(id, home, fitted.endpoint),
          delegation: deps.delegationFor(scope),
          checkBudget: deps.budgetFor(scope, questions.approve),
          takeSteeringMessages: createSteeringMessages({
            queue: () => sessions.head(id).meta,
            submitted: text => hooks.submitted(text, 'steering', signal),
            storeImages,
            annotate: text => annotateMessage(text, messageContext),
            steered,
          }),
        }
      },
      history: () => historyOf(sessions, turn, expand),
      recordSummary: event => deps.compressions.record(id, event),
      record(given, { steered: key, providerState } = {}) {
        const message = withoutKnown(given, deps.redactKnown)
        // One append: after a kill the message is either in the queue or in the transcript.
        const taken =
          key === undefined
            ? []
            : [{ t: 'meta' as const, patch: withoutQueued(sessions.head(id).meta, key) }]
        const how = key === undefined ? undefined : steered.get(key)
        const sent = how && message.id ? [{ t: 'sent' as const, id: message.id, ...how }] : []
        const safe = withoutHalfSecrets(message, deps.redact)
        // The state counts characters of the text, so a masked text goes without it.
        const unmasked = message.content === given.content ? providerState : undefined
        const state = toStateEntry(message.id, unmasked, deps.redactKnown)
        const [entry] = sessions.append(id, [
          { t: 'message', message: safe },
          ...state,
          ...sent,
          ...taken,
        ])
        if (taken.length > 0) deps.onQueue(id)
        if (entry?.t !== 'message') throw new Error('Expected the appended message back')
        return deps.redactMessage(entry.message)
      },
      recordSent: (messageId, text) =>
        void sessions.append(id, [{ t: 'sent', id: messageId, before: '', text }]),
      redact: deps.redact,
    }
  }

const historyOf = (
  sessions: Sessions,
  turn: Turn,
  expand: (text: string) => string,
): LoopMessage[] => {
  const { sessionId: id, endpoint } = turn
  const folded = sessions.load(id)
  const history = toConversation(folded)
  if (endpoint instanceof UserError) return expandSkills(history, expand)
  // External agents know their workspace and get plain text.
  if (endpoint.apiMode === 'acp') {
    const withoutTag = folded.sent.map(how => ({ ...how, before: '' }))
    return replaySent(history, withoutTag, expand)
  }
  const sent = replaySent(withoutStubs(history, turn), folded.sent, expand)
  return withStates(sent, sessions.providerStates(id), turn.messageIds)
}

/** What programs of a turn find beside the variables of the home. */
const variablesOf = ({ sessionId, workspace }: TurnScope): Record<string, string> => ({
  AGENT_SESSION_KEY: sessionId,
  TERMINAL_CWD: workspace,
  AGENT_EXEC_ASK: '1',
  ...NO_TERMINAL_ENV,
})

const modeLines = (scope: TurnScope, { sessions, runnerFor }: TurnContextOptions): string => {
  const { sessionId } = scope
  const { meta } = sessions.head(sessionId)
  const sent = () => sentNow(sessions, sessionId)
  return modeTag(meta.mode, scope, runnerFor) + approvalsTag(meta, sent)
}

/** How the messages were sent that the model still reads: not those before a compaction. */
const sentNow = (sessions: Sessions, id: string): readonly Sent[] => {
  const folded = sessions.load(id)
  const read = new Set(toConversation(folded).map(message => message.id))
  return folded.sent.filter(how => read.has(how.id))
}

/** How the message of a turn that continues after a restart was sent. */
const sentBefore = (sessions: Sessions, { sessionId, userMessageId }: Turn) => {
  const sent = sessions.load(sessionId).sent.findLast(({ id }) => id === userMessageId)
  if (!sent) return null
  const { id: _, images: __, ...how } = sent
  return how
}

/** Without the results that stand for calls which are about to be made. */
const withoutStubs = (history: LoopMessage[], { resumed }: Turn): LoopMessage[] => {
  if (!resumed || resumed.calls.length === 0) return history
  const pending = new Set(resumed.calls.map(({ id }) => id))
  const at = history.findLastIndex(({ tool_calls: calls }) => calls?.length)
  return history.filter(
    ({ role, tool_call_id: id }, index) => index < at || role !== 'tool' || !pending.has(id ?? ''),
  )
}

/** Records how the user's message is sent to the model, with the file changes undone since the last one. */
const recordMessage = (
  sessions: Sessions,
  { sessionId: id, userMessageId }: Turn,
  said: string,
  context: MessageContext,
): Omit<Sent, 'id'> => {
  const { meta } = sessions.head(id)
  const undone = meta.undone ? unreportedChanges(sessions, id, meta) : []
  const annotated = annotateMessage(said, { ...context, undone })
  const patch = reportedPatch(meta, undone, userMessageId)
  sessions.append(id, [
    { t: 'sent', id: userMessageId, ...annotated },
    ...(undone.length > 0 ? [{ t: 'meta' as const, patch }] : []),
  ])
  return annotated
}

const unreportedChanges = (sessions: Sessions, id: string, meta: Meta): UndoneChange[] => {
  const ids = new Set(sessions.load(id).messages.map(message => message.id))
  return unreportedOf(meta, message => ids.has(message))
}

/** Asks the user. MCP servers ask too (elicitation), not only the tool: unattended, the answer is none. */
const clarifyFor =
  (
    { sessionId, config, unattended }: TurnScope,
    questions: Questions,
    redact: (text: string) => string,
  ): AgentRequest['clarify'] =>
  async (question, choices, callId, signal, isWaiting) =>
    unattended
      ? null
      : questions.clarify(
          {
            session_id: sessionId,
            question: visibleWords(redact(question)),
            choices_offered: choices.map(choice => visibleWords(redact(choice))),
            ...(isWaiting && { call_id: callId }),
          },
          (config.agent.clarify_timeout ?? config.clarify.timeout) * 1_000,
          { signal },
        )

const deny: Questions['approve'] = async () => {
  throw new Unapproved('token')
}

/** Drops the colored output when escape sequences split a secret, because the redactor would not recognize it. */
const withoutHalfSecrets = (message: NewMessage, redact: (text: string) => string): NewMessage => {
  const { _output: colored, ...rest } = message
  if (typeof colored !== 'string') return rest
  const isSame =
    redact(stripVTControlCharacters(colored)) === stripVTControlCharacters(redact(colored))
  return isSame ? message : rest
}
