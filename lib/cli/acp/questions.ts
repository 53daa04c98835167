/** Approvals and questions of a turn, asked through the client: permission requests and forms. */
import { randomUUID } from 'node:crypto'
import type {
  AgentContext,
  ClientCapabilities,
  PermissionOption,
  ToolCallContent,
  ToolKind,
} from '@agentclientprotocol/sdk'
import { asObject, asString } from '../../base/json.ts'
import { isPlanApproval } from '../../base/plan-answers.ts'
import { Unapproved } from '../../base/unapproved.ts'
import { messageOf } from '../../errors.ts'
import { ApprovalChoice } from '../../schema/question.ts'
import type { Questions } from '../../turns/questions.ts'
import { answerIn, CHOICE_NAMES, formFields } from '../answer-form.ts'

/** The protocol has no kind for the session; its name says how long it holds. */
const KINDS: Readonly<Record<ApprovalChoice, PermissionOption['kind']>> = {
  once: 'allow_once',
  session: 'allow_always',
  always: 'allow_always',
  deny: 'reject_once',
}

export type QuestionsOptions = {
  client: AgentContext
  capabilities: ClientCapabilities
  sessionId: string
  /** Aborted when the turn is cancelled. */
  signal: AbortSignal
  /** The tool call that asks, and what it shows so far. */
  call: { id: string; content: ToolCallContent[] } | null
  /** Resolves when all updates are sent: the request refers to them. */
  whenSent: () => Promise<void>
  /** Called when an approval is answered. */
  onAnswer: () => void
  log: (line: string) => void
}

const text = (words: string): ToolCallContent => ({
  type: 'content',
  content: { type: 'text', text: words },
})

const cancellation = (signal: AbortSignal, timeout: AbortSignal | undefined) => ({
  cancellationSignal: timeout ? AbortSignal.any([signal, timeout]) : signal,
  stopWaitingOnCancel: true,
})

const timeoutOf = (timeoutMs: number): AbortSignal | undefined =>
  timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined

const select = async (
  { client, sessionId, signal, call, whenSent }: QuestionsOptions,
  toolCall: { title?: string; kind?: ToolKind; content: ToolCallContent[]; rawInput?: unknown },
  options: PermissionOption[],
  timeout: AbortSignal | undefined,
): Promise<string | null> => {
  await whenSent()
  const toolCallId = call?.id ?? `question-${randomUUID()}`
  const { outcome } = await client.request(
    'session/request_permission',
    {
      sessionId,
      toolCall: {
        toolCallId,
        status: 'pending',
        // A client that does not know the call needs a title.
        ...(!call && { title: 'Approval', kind: 'other' }),
        ...toolCall,
        content: [...(call?.content ?? []), ...toolCall.content],
      },
      options,
    },
    cancellation(signal, timeout),
  )
  return outcome.outcome === 'selected' ? asString(asObject(outcome).optionId) : null
}

/** Denied when the turn is cancelled. Throws `Unapproved` when the client cannot be asked, or does not answer in time. */
export const askApproval = async (
  options: QuestionsOptions,
  ask: Parameters<Questions['approve']>[0],
  timeoutMs: number,
): Promise<ApprovalChoice> => {
  const choices = ask.choices ?? ApprovalChoice.options
  const offered = choices.map(choice => ({
    ...{ optionId: choice, kind: KINDS[choice], name: CHOICE_NAMES[choice] },
  }))
  const { command, description, cwd, diff } = ask
  const what = options.call ? '' : `\n\n${command}`
  const details = `${description}${what}${diff && !options.call?.content.length ? `\n\n${diff}` : ''}`
  const timeout = timeoutOf(timeoutMs)
  try {
    const answer = await select(
      options,
      { content: [text(details)], rawInput: { command, cwd, description } },
      offered,
      timeout,
    )
    options.onAnswer()
    return choices.find(choice => choice === answer) ?? 'deny'
  } catch (error) {
    if (options.signal.aborted) return 'deny'
    options.log(`An approval got no answer: ${messageOf(error)}`)
    throw new Unapproved(timeout?.aborted ? 'timeout' : 'noOne')
  }
}

const askForm = async (
  { client, sessionId, signal, call }: QuestionsOptions,
  question: string,
  choices: readonly string[],
  timeoutMs: number,
): Promise<string | null> => {
  const answer = await client.request(
    'elicitation/create',
    {
      mode: 'form',
      sessionId,
      ...(call && { toolCallId: call.id }),
      message: question,
      requestedSchema: { type: 'object', properties: formFields(choices) },
    },
    cancellation(signal, timeoutOf(timeoutMs)),
  )
  return answer.action === 'accept' ? answerIn(asObject(answer).content) : null
}

/** Null when there is no answer, or no way to ask. */
export const askQuestion = async (
  options: QuestionsOptions,
  { question, choices_offered: choices, plan }: Parameters<Questions['clarify']>[0],
  timeoutMs: number,
): Promise<string | null> => {
  try {
    // A form shows a short question; a plan is long Markdown.
    if (options.capabilities.elicitation?.form && !plan)
      return await askForm(options, question, choices, timeoutMs)
    // A client without forms can still select one of several options.
    if (choices.length === 0) return null
    const offered = [
      ...choices.map(
        (name, at): PermissionOption => ({
          optionId: String(at),
          name,
          kind: plan && !isPlanApproval(name) ? 'reject_once' : 'allow_once',
        }),
      ),
      ...(plan ? [] : [{ optionId: 'none', name: 'No answer', kind: 'reject_once' as const }]),
    ]
    const answer = await select(
      options,
      {
        title: plan ? 'Approve the plan' : question,
        kind: plan ? 'switch_mode' : 'other',
        content: [text(question)],
      },
      offered,
      timeoutOf(timeoutMs),
    )
    return answer === null ? null : (choices[Number(answer)] ?? null)
  } catch (error) {
    if (!options.signal.aborted) options.log(`A question got no answer: ${messageOf(error)}`)
    return null
  }
}
