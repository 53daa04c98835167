/** Builds what a turn is given: history, prompt, tools, environment, approvals and limits of its session and home. */
import { join, resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { z } from 'zod'
import type { ImageStore } from '../../agent/images.ts'
import type {
  Agent,
  AgentEvent,
  AgentRequest,
  LoopMessage,
  SteeringMessage,
  WireMessage,
} from '../../agent/types.ts'
import { fromSeconds } from '../../base/clock.ts'
import { NO_TERMINAL_ENV } from '../../base/no-terminal-env.ts'
import {
  redact,
  redactKnown,
  redactValue,
  reveal,
  unusableCommand,
} from '../../base/redact/redact.ts'
import { Unapproved } from '../../base/unapproved.ts'
import { visibleWords } from '../../base/visible.ts'
import { isServiceTarget } from '../../commands/own-processes/own-processes.ts'
import { invalid, messageOf, UserError } from '../../errors.ts'
import type { PromptAnswer, TurnHooks } from '../../profiles/hooks/turn-hooks.ts'
import { otherHomePaths } from '../../profiles/other-homes.ts'
import type { Message, NewMessage } from '../../schema/message.ts'
import type { SummaryRef } from '../../schema/summary.ts'
import type { Meta, Sent } from '../../sessions/entries.ts'
import { toConversation } from '../../sessions/history.ts'
import { queuedOf, withoutQueued } from '../../sessions/queued.ts'
import type { ForModel } from '../../sessions/reader.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { approvalsTag } from '../../sessions/told-approvals.ts'
import { reportedPatch, type UndoneChange, unreportedOf } from '../../sessions/undone.ts'
import { readText } from '../../store/read-text.ts'
import { protectedPaths } from '../../store/state-files.ts'
import type { Asker, Questions } from '../questions.ts'
import {
  type BoundRequest,
  isExternal,
  type RecordExtra,
  type Turn,
  type TurnContext,
} from '../turn.ts'
import { withCodes } from '../../base/sentences.ts'
import { missingWarning } from './missing-files.ts'
import { Approver } from './approver.ts'
import { instructionsFor } from './context-files.ts'
import { controlPathsOf, hiddenBySandbox, ownPorts } from './control-files.ts'
import { externalFor } from './external-agent.ts'
import {
  type AttachedImages,
  attachImages,
  hasImages,
  imageMode,
  NO_IMAGES,
  sentWith,
} from './images.ts'
import { rulesFor } from './permissions/home-rules.ts'
import { modeTag, SessionPlanMode } from './plan-mode.ts'
import { toStateEntry, withStates } from './provider-states.ts'
import { ownedPaths, pathsFor, turnRole, withRole } from './role-guards.ts'
import type { Services } from './services.ts'
import { SpendingLimit } from './spending-limit.ts'
import { delegationOf } from './subagent-settings.ts'
import { hooksFor, withHookAnswer } from './turn-hooks.ts'
import type { TurnScope } from './turn-scope.ts'
import {
  annotateMessage,
  expandSkills,
  type MessageContext,
  modelText,
  replaySent,
  type SentText,
} from './user-content.ts'
import { fitWindow } from './window-fit.ts'
import { withCheckpoints } from './with-checkpoints.ts'

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
const forbiddenPaths = ({ home }: TurnScope, { config, homes }: Services): string[] => [
  ...protectedPaths(config.stateDir),
  ...['.env', 'auth.json', 'auth.lock', 'mcp-tokens', 'checkpoints'].map(name =>
    join(home.dir, name),
  ),
  // Of other profiles, and what the sandbox hides.
  ...otherHomePaths(homes, home),
  ...hiddenBySandbox(home),
]

/**
 * Masks known secrets in the text of the model. Its tool calls are not masked: later steps must see the real arguments, and
 * a secret in them came from the user.
 */
const withoutKnown = (message: NewMessage): NewMessage => {
  if (message.role !== 'assistant') return message
  const { content, reasoning, refusal } = message
  return {
    ...message,
    ...(typeof refusal === 'string' && { refusal: redactKnown(refusal) }),
    ...(typeof content === 'string' && { content: redactKnown(content) }),
    ...(typeof reasoning === 'string' && { reasoning: redactKnown(reasoning) }),
  }
}

/** `sent`: how messages were sent to a model, in the order of lines. */
const historyOf = (
  { folded, states }: ForModel,
  sent: readonly Sent[],
  turn: Turn,
  expand: (text: string) => string,
): LoopMessage[] => {
  const { endpoint } = turn
  const history = toConversation(folded)
  if (endpoint instanceof UserError) return expandSkills(history, expand)
  // External agents know their workspace and get plain text.
  if (endpoint.apiMode === 'acp') {
    const withoutTag = sent.map(how => ({ ...how, before: '' }))
    return replaySent(history, withoutTag, expand)
  }
  return withStates(replaySent(withoutStubs(history, turn), sent, expand), states, turn.messageIds)
}

/** What programs of a turn find beside the variables of the home. */
const variablesOf = ({ sessionId, workspace }: TurnScope): Record<string, string> => ({
  AGENT_SESSION_KEY: sessionId,
  TERMINAL_CWD: workspace,
  AGENT_EXEC_ASK: '1',
  ...NO_TERMINAL_ENV,
})

const MAX_PREFILL_BYTES = 256 * 1024
const Prefill = z
  .array(z.object({ role: z.enum(['user', 'assistant']), content: z.string().min(1) }))
  .max(50)

/** Messages before the conversation, from `agent.prefill_messages_file`. Read on each turn, never stored. An unreadable or malformed file is logged and skipped. */
const prefillMessages = (
  { home, config }: TurnScope,
  log: (line: string, extra?: Record<string, unknown>) => void,
): WireMessage[] => {
  const { prefill_messages_file: file } = config.agent
  if (file === '') return []
  try {
    const { text, problem } = readText(resolve(home.dir, file), { maxBytes: MAX_PREFILL_BYTES })
    if (text === null) throw new Error(`${problem ?? 'it is not there'}`)
    return Prefill.parse(JSON.parse(text))
  } catch (error) {
    log('skipping agent.prefill_messages_file', { error: messageOf(error) })
    return []
  }
}

const modeLines = (scope: TurnScope, { sessions, runners }: Services): string => {
  const head = sessions.head(scope.sessionId)
  return modeTag(head.meta.mode, scope, runners) + approvalsTag(head)
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
  text: string,
  context: MessageContext,
): SentText => {
  const { meta } = sessions.head(id)
  const undone = meta.undone ? unreportedChanges(sessions, id, meta) : []
  const annotated = annotateMessage(text, { ...context, undone })
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
  ({ sessionId, config, unattended }: TurnScope, questions: Asker): AgentRequest['clarify'] =>
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
const withoutHalfSecrets = (message: NewMessage): NewMessage => {
  const { _output: colored, ...rest } = message
  if (typeof colored !== 'string') return rest
  const isSame =
    redact(stripVTControlCharacters(colored)) === stripVTControlCharacters(redact(colored))
  return isSame ? message : rest
}

/** What a turn is built from, in its session. */
export class SessionTurnContext implements TurnContext {
  readonly agent: Agent
  readonly #services: Services
  readonly #scope: TurnScope
  readonly #questions: Asker
  /** The message of the user; null where the turn has none. */
  readonly #text: string | null
  readonly #messageContext: MessageContext
  /** How steering messages were sent, by their key in the queue. */
  readonly #steered = new Map<string, SentText>()
  /** How the message is sent; null where the turn has none. */
  #sent: SentText | null
  /** What was recorded about that since the session was read. */
  readonly #recorded: Sent[] = []

  constructor(services: Services, turn: Turn, questions: Questions, message: string | null) {
    const { sessions, homes, observer } = services
    const { sessionId, endpoint, unattended, client } = turn
    const { meta, created_at } = sessions.head(sessionId)
    const home = homes.of(meta.profile)
    const workspace = meta.workspace ?? home.dir
    // A turn without a usable model starts anyway and fails with the reason, even with an unreadable configuration.
    const config = endpoint instanceof UserError ? home.lenient.config() : home.config()
    const scope = { turn, sessionId, home, workspace, meta, config, unattended }
    this.#services = services
    this.#scope = scope
    this.#text = message
    const asker = observer ?? questions
    this.#questions = {
      approve: client?.approvals === 'deny' ? deny : (...args) => asker.approve(...args),
      clarify: (...args) => asker.clarify(...args),
      noteAllowed: (...args) => questions.noteAllowed(...args),
    }
    const files = services.missingFiles.tell('person', sessionId, workspace)
    if (files !== '')
      turn.log.append({
        type: 'warning',
        data: withCodes({ message: missingWarning(files), type: 'moved' }),
      })
    this.#messageContext = {
      workspace,
      // The message of a turn that continues was sent before.
      missing: turn.resumed ? '' : services.missingFiles.tell('model', sessionId, workspace),
      at: turn.startedAt,
      createdAt: fromSeconds(created_at),
      zone: config.timezone,
      mode: () => modeLines(scope, services),
      expand: text => services.skills.expand(home, text),
    }
    this.#sent =
      message === null
        ? null
        : ((turn.resumed && sentBefore(sessions, turn)) ??
          recordMessage(sessions, turn, message, this.#messageContext))
    const agent: Agent = isExternal(turn)
      ? (request, emit) => services.external.run(request, emit)
      : services.agent
    this.agent = withCheckpoints(services.checkpoints, scope, services.wrapAgent(agent))
  }

  async request(): Promise<BoundRequest> {
    const services = this.#services
    const { sessions, grants, toolOutput, warnings } = services
    const { turn, sessionId, home, workspace, config, unattended } = this.#scope
    const { endpoint, client } = turn
    if (endpoint instanceof UserError) throw endpoint
    const shellProblem = await home.sourceInitFiles()
    warnings.shell.show(turn, shellProblem === null ? [] : [shellProblem])
    const forbidden = forbiddenPaths(this.#scope, services)
    const { promptFiles, ...fitted } = await fitWindow(this.#scope, services, endpoint, forbidden)
    const env = home.childEnv(variablesOf(this.#scope))
    const rules = rulesFor(home, workspace, env)
    const hooks = hooksFor(this.#scope, services, fitted.endpoint.model, env)
    const session = await sessions.loadForModel(sessionId)
    const messages = session.folded.messages.filter(({ role }) => role === 'user')
    await this.#askHooks(hooks, messages.length === 1 ? 'first' : 'later')
    const readable = [toolOutput.dirOf(sessionId)]
    const images: ImageStore = {
      mode: imageMode(config),
      save: (bytes, ending) => toolOutput.saveImage(sessionId, bytes, ending),
      load: file => toolOutput.loadImage(sessionId, file),
    }
    const storeImages = async (paths: readonly string[]): Promise<AttachedImages> => {
      if (isExternal(turn)) return NO_IMAGES
      const attached = await attachImages(
        paths,
        { workspace, env, forbidden, readable },
        images,
        fitted.endpoint,
      )
      warnings.image.show(turn, attached.warnings)
      return attached
    }
    const attachments = this.#sent ? (messages.at(-1)?.attachments ?? []) : []
    const attached = await storeImages(attachments)
    // Later than the message itself: reading the files must not delay the reply to the client.
    if (this.#sent && hasImages(attached)) this.#recordSent(sentWith(this.#sent, attached))
    const approver = new Approver(this.#scope, sessions, grants, this.#questions)
    const spending = new SpendingLimit(
      this.#scope,
      sessions,
      services.spending,
      this.#questions.approve,
      services.clock,
    )
    const role = () => turnRole(sessions.head(sessionId).meta)
    const owned = ownedPaths(home.dir, services.config.baseHome)
    const runner = services.runners.runnerFor({ home, workspace, owner: sessionId, readable })
    const checking = { workspace, owner: sessionId, env, runner, settings: config.lsp }
    const { outside_sandbox: outside = services.config.outsideSandbox } = config.approvals
    return {
      providers: services.providers,
      ...fitted,
      history: historyOf(
        session,
        [...session.folded.sent, ...this.#recorded],
        turn,
        this.#messageContext.expand,
      ),
      instructions: {
        inPrompt: promptFiles,
        of: (file, knownFiles) =>
          instructionsFor(workspace, file, knownFiles, { env, forbidden, rules }),
      },
      secrets: { mask: redact, reveal, commandError: unusableCommand },
      readDocument: services.readDocument,
      unpackRipgrep: services.unpackRipgrep,
      prefill: prefillMessages(this.#scope, services.log.warn),
      workspace,
      sessionKey: sessionId,
      chatMemo: services.chatMemos.of(sessionId, turn.userMessageId, messages),
      env,
      forbidden,
      // A command of a member's turn that names an owned path is asked of an owner.
      controlPaths: [
        ...controlPathsOf(services.config, home, workspace),
        ...pathsFor(role(), owned),
      ],
      ownAddresses: ownPorts(services.config.stateDir, services.config.port),
      isOwnProcess: isServiceTarget,
      outside,
      guards: withRole(services.guards.of(home), { role, profile: home.name, owned }),
      planMode: new SessionPlanMode(this.#scope, sessions, this.#questions),
      rules,
      hooks,
      maxSteps: config.agent.max_turns,
      ...(client?.oneCall && { oneClientCall: true }),
      ...client?.demands,
      nextMessageId: () => sessions.nextMessageId(sessionId),
      approve: ask => approver.approve(ask),
      allowsNetwork: key => approver.allowsNetwork(key),
      clarify: clarifyFor(this.#scope, this.#questions),
      external: externalFor(this.#scope, sessions),
      attachments,
      // Unattended turns get no background processes, since they would never be stopped.
      ...(services.processesOf && !unattended && { processes: services.processesOf(sessionId) }),
      runner,
      ...(config.lsp.enabled && { checkEdits: services.languageServers.checkFor(checking) }),
      readable,
      offload: (callId, text) => toolOutput.save(sessionId, callId, redact(text)),
      saveImage: (callId, bytes, ending) => toolOutput.saveBytes(sessionId, callId, bytes, ending),
      images,
      recovery: services.models.recovery(home),
      maxAttempts: maxAttemptsOf(this.#scope),
      ...(unattended && UNATTENDED_RETRIES),
      compression: services.compressions.forTurn(sessionId, home, fitted.endpoint),
      delegation: delegationOf(this.#scope, services),
      checkBudget: () => spending.check(),
      takeSteeringMessages: () => this.#takeSteering(hooks, storeImages),
    }
  }

  recordSummary(event: Extract<AgentEvent, { type: 'compressed' }>): SummaryRef | null {
    return this.#services.compressions.record(this.#scope.sessionId, event)
  }

  record(original: NewMessage, { steered: key, providerState }: RecordExtra = {}): Message {
    const { sessions, onQueue, observer } = this.#services
    const { sessionId } = this.#scope
    const message = withoutKnown(original)
    // One append: after a kill the message is either in the queue or in the transcript.
    const fromQueue =
      key === undefined
        ? []
        : [{ t: 'meta' as const, patch: withoutQueued(sessions.head(sessionId).meta, key) }]
    const how = key === undefined ? undefined : this.#steered.get(key)
    const sent = how && message.id ? [{ t: 'sent' as const, id: message.id, ...how }] : []
    // The state counts characters of the text, so a masked text goes without it.
    const unmasked = message.content === original.content ? providerState : undefined
    const [entry] = sessions.append(sessionId, [
      { t: 'message', message: withoutHalfSecrets(message) },
      ...toStateEntry(message.id, unmasked, redactKnown),
      ...sent,
      ...fromQueue,
    ])
    if (fromQueue.length > 0) onQueue?.(sessionId)
    if (entry?.t !== 'message') throw new Error('Expected the appended message back')
    observer?.message(sessionId, original)
    return redactValue(entry.message)
  }

  recordSent(messageId: string, text: string): void {
    const entry = { t: 'sent' as const, id: messageId, before: '', text }
    this.#services.sessions.append(this.#scope.sessionId, [entry])
  }

  redact(text: string): string {
    return redact(text)
  }

  /** Adds what hooks say about the message of the user. Throws UserError when one blocks it. */
  async #askHooks(hooks: TurnHooks, moment: 'first' | 'later'): Promise<void> {
    if (this.#text === null || !this.#sent) return
    const answer = await hooks.submitted(this.#text, moment, this.#scope.turn.controller.signal)
    const sent = withHookAnswer(this.#text, this.#sent, answer)
    if (sent !== this.#sent) this.#recordSent(sent)
    if (answer.blocked !== null)
      throw invalid(`A hook blocked this message: ${answer.blocked}`, {
        code: 'hook_blocked',
        values: { reason: answer.blocked },
      })
    this.#sent = sent
  }

  /** Records how the message of the user is sent. */
  #recordSent(sent: SentText): void {
    const { sessionId, turn } = this.#scope
    const how = { id: turn.userMessageId, ...sent }
    this.#services.sessions.append(sessionId, [{ t: 'sent', ...how }])
    this.#recorded.push(how)
  }

  /** The steering messages in the session's queue. */
  async #takeSteering(
    hooks: TurnHooks,
    storeImages: (paths: readonly string[]) => Promise<AttachedImages>,
  ): Promise<SteeringMessage[]> {
    const { sessions } = this.#services
    const { sessionId, turn } = this.#scope
    const waiting = () => queuedOf(sessions.head(sessionId).meta).filter(({ steer }) => steer)
    const prepared = new Map<string, AttachedImages & { text: string; answer: PromptAnswer }>()
    for (const { id: key, text, attachments } of waiting()) {
      const answer = await hooks.submitted(text, 'steering', turn.controller.signal)
      const pictures = answer.blocked === null ? await storeImages(attachments) : NO_IMAGES
      prepared.set(key, { text, ...pictures, answer })
    }
    // As it is in the queue at this moment: it may have been edited or removed since.
    return waiting().flatMap(({ id: key, text, attachments }) => {
      const steering = prepared.get(key)
      // An edited text is taken before the next step, after hooks have seen it.
      if (!steering || steering.text !== text) return []
      const annotated = annotateMessage(text, this.#messageContext)
      const how = sentWith(withHookAnswer(text, annotated, steering.answer), steering)
      this.#steered.set(key, how)
      return [{ key, text, modelText: modelText(text, how), attachments, images: steering.images }]
    })
  }
}
