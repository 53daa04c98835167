/** Runs one turn of an external agent with the engine's interface: sends the prompt, streams updates, returns the outcome. */
import { changeWords, type Sentence, sentence, type Words } from '../../base/sentences.ts'
import { redact } from '../../base/redact/redact.ts'
import { messageOf } from '../../errors.ts'
import { type Usage, cacheTokens } from '../../schema/usage.ts'
import type { ExternalAgentContext } from '../external-agent.ts'
import type { AgentRequest, Emit, Failure, Outcome, LoopMessage } from '../types.ts'
import type { ExternalAgents } from './agents.ts'
import { continueTurn, ignoreDeleted } from './continue-turn.ts'
import { historyHash } from './history-hash.ts'
import { chooseModel } from './choices.ts'
import { syncPlanMode } from './plan.ts'
import { type AttachedSession, attachSession, toSavedSession } from './attach-session.ts'
import type { Session } from './session.ts'
import { TurnFailure } from './failures.ts'
import { isSlashCommand, stripWorkspacePrefix } from './prompt.ts'
import { promptOnce, type ExternalTurn, untilAborted } from './prompt-once.ts'
import { usesOwnFiles } from './services.ts'
import { demandAfter, formInstruction } from '../answer-form.ts'

const nothing: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  estimated_cost: 0,
  context_length: 0,
  threshold_tokens: 0,
  last_prompt_tokens: 0,
}

export const runExternalTurn = async (
  agents: ExternalAgents,
  request: AgentRequest,
  emit: Emit,
): Promise<Outcome> => {
  const { endpoint, external } = request
  const base = {
    text: '',
    steps: 0,
    usage: nothing,
    provider: endpoint.provider,
    model: endpoint.model,
  }
  const fail = (failure: Failure): Outcome => ({
    ...base,
    status: request.signal.aborted ? 'stopped' : 'failed',
    failure: { ...failure, message: changeWords(failure.message, redact) },
  })
  if (!external || !endpoint.command?.length)
    return fail({ type: 'error', message: "This agent can't run here." })
  // It runs commands without asking us about all of them.
  const denial = request.guards?.commands() ?? null
  if (denial !== null) return fail({ type: 'error', message: denial })
  try {
    return await agents.use(
      endpoint,
      external,
      running => runTurn({ request: atAgent(request), external, emit, running, base }),
      message => emit({ type: 'warning', kind: 'external_agent', message }),
    )
  } catch (error) {
    if (error instanceof TurnFailure) return fail(error.failure)
    return fail({ type: 'error', message: messageOf(error) })
  }
}

/** The request as the agent is concerned: its own directory, and messages without the note on ours. */
const atAgent = (request: AgentRequest): AgentRequest => ({
  ...request,
  history: stripWorkspacePrefix(request.history, request.workspace),
  workspace: request.endpoint.agent?.settings?.cwd ?? request.workspace,
})

const runTurn = async (turn: ExternalTurn): Promise<Outcome> => {
  const { request, external, running, emit } = turn
  const { signal, endpoint } = request
  const { history } = request
  const owner = request.sessionKey ?? ''
  const agentId = endpoint.agent?.id ?? endpoint.provider
  const warn = (message: Words) =>
    emit({ type: 'warning', kind: 'external_agent', message: changeWords(message, redact) })

  const prior = running.sessions.get(owner)
  // A cancelled prompt may still be running.
  await prior?.busy
  const servers = external.mcpServers.map(({ name }) => name).join('\n')
  // A server that a rule has named since then is taken away with the session: it is opened again without it.
  if (prior && prior.servers !== '' && prior.servers !== servers) running.sessions.delete(owner)
  // It changes files without asking us about all of them, so the checkpoint comes first.
  if (!usesOwnFiles(request)) await request.beforeChange?.('workspace')
  signal.throwIfAborted()

  const side = { external, agent: endpoint.agent }
  const attach = async (
    link: ReturnType<ExternalAgentContext['load']>,
  ): Promise<AttachedSession> => {
    const attached = await untilAborted(
      () => attachSession(running, history, request, link, side),
      turn,
    )
    running.sessions.set(owner, attached.session)
    attached.session.isOpening = true
    attached.session.servers = servers
    const notices =
      endpoint.agent?.settings?.mcp === false ? [] : withheldNotices(running.name, external)
    const notice = notices.join(' ')
    if (attached.session.notice !== notice) for (const each of notices) warn(each)
    attached.session.notice = notice
    for (const remark of attached.session.remarks.splice(0)) warn(remark)
    attached.session.onTitle = external.onTitle ?? null
    return attached
  }

  const link = external.load(agentId)
  if (request.resumed) {
    const outcome = await continueTurn(turn, history, link, side, warn)
    if (outcome) return outcome
  }
  let attached = await attach(link)
  const message = history.at(-1)
  const newest = historyHash(history)
  const saveState = (at: { mark: string; sent?: string; cost?: number }) =>
    ignoreDeleted(() =>
      external.save(
        agentId,
        toSavedSession(attached.session, request, { cost: attached.cost, ...at }),
      ),
    )
  const prompt = async (): ReturnType<typeof promptOnce> => {
    const { session, context, mark } = attached
    const plan = await selectModel(turn, session, warn)
      .then(() => untilAborted(() => syncPlanMode(request, running, session, warn), turn))
      .catch((error: unknown) => {
        session.isOpening = false
        throw error
      })
    // A slash command must be the whole message; missed history is sent with the next one.
    const isCommand = isSlashCommand(message, session.commands)
    const isAlone = context !== '' && isCommand
    const before = isCommand ? '' : `${context}\n\n${plan}`.trim()
    // Until it answers, it is unknown whether it received this message.
    const sent = isAlone ? { mark } : { mark, sent: newest }
    saveState(sent)
    const messages = isCommand ? history : withForm(history, request)
    return promptOnce(turn, { ...attached, context: before }, messages, warn, ({ how, cost }) => {
      if (how === 'cut') saveState({ ...sent, cost })
      else saveState({ mark: how === 'answered' && !isAlone ? newest : mark, cost })
    })
  }
  if (attached.isHistoryLost) warn(historyLost(running.name))
  let outcome = await prompt()
  if (outcome === 'unknown') {
    attached = await attach(null)
    warn(historyLost(running.name))
    outcome = await prompt()
  }
  if (outcome === 'unknown')
    throw new TurnFailure({
      type: 'error',
      message: `${running.name} does not recognize its own session.`,
    })
  return inForm(outcome, request, further => {
    const { session } = attached
    const cost = session.usage?.cost ?? attached.cost
    const later = { ...turn, base: { ...turn.base }, request: { ...request, attachments: [] } }
    return promptOnce(later, { ...attached, context: '', cost }, [further], warn, end =>
      saveState({ mark: newest, cost: end.cost }),
    )
  })
}

const withheldNotices = (name: string, { withheld }: ExternalAgentContext): Sentence[] =>
  withheld.map(({ name: server, rule }) => sentence('turn.agent_mcp', { name, server, rule }))

const historyLost = (name: string): Sentence => sentence('turn.agent_history', { name })

const selectModel = async (
  turn: ExternalTurn,
  session: Session,
  warn: (message: Words) => void,
): Promise<void> => {
  const { agent } = turn.request.endpoint
  if (!agent?.model) return
  const isOffered = await untilAborted(
    () => chooseModel(turn.running.connection, session, agent.model ?? ''),
    turn,
  )
  if (!isOffered) warn(sentence('turn.agent_no_model', { name: agent.name, model: agent.model }))
}

/** The conversation with the instruction in its newest message. */
const withForm = (
  history: readonly LoopMessage[],
  { answerForm }: AgentRequest,
): readonly LoopMessage[] => {
  const newest = history.at(-1)
  if (!answerForm || newest?.role !== 'user') return history
  const instruction = formInstruction(answerForm)
  const content =
    typeof newest.content === 'string'
      ? `${newest.content}\n\n${instruction}`
      : [...newest.content, { type: 'text', text: instruction }]
  return [...history.slice(0, -1), { ...newest, content }]
}

const sum = (first: Usage, second: Usage): Usage => ({
  ...second,
  input_tokens: first.input_tokens + second.input_tokens,
  output_tokens: first.output_tokens + second.output_tokens,
  estimated_cost: first.estimated_cost + second.estimated_cost,
  ...cacheTokens(
    (first.cache_read_tokens ?? 0) + (second.cache_read_tokens ?? 0),
    (first.cache_write_tokens ?? 0) + (second.cache_write_tokens ?? 0),
  ),
})

/** `ask` sends one more message. */
const inForm = async (
  outcome: Outcome,
  { answerForm }: AgentRequest,
  ask: (message: LoopMessage) => Promise<Outcome | 'unknown'>,
): Promise<Outcome> => {
  const demand =
    answerForm && outcome.status === 'finished'
      ? demandAfter({ answerForm }, { text: outcome.text, refusal: '' })
      : null
  if (!demand) return outcome
  const again = await ask({ role: 'user', content: demand.sentence })
  if (again === 'unknown') return outcome
  return {
    ...again,
    steps: outcome.steps + again.steps,
    usage: sum(outcome.usage, again.usage),
  }
}
