/** Generates the title of a new session with a model, or from its first message when that fails. */
import type { ModelEndpoint, Provider, Providers } from '../agent/types.ts'
import { providerFor } from '../agent/providers/registry.ts'
import type { Message } from '../schema/message.ts'
import { UserError } from '../errors.ts'
import { redact } from '../base/redact/redact.ts'
import { cleanTitle, fallbackTitle, isProvisional } from '../sessions/title.ts'
import type { Turn } from './turn.ts'
import type { TurnsOptions } from './turns.ts'

const SNIPPET_CHARS = 500
/** Leaves space for models that always reason; others stop after a line. */
const MAX_TITLE_TOKENS = 1_024
const TITLE_TIMEOUT_MS = 15_000

const messageText = (message: Message | undefined): string =>
  typeof message?.content === 'string' ? message.content.trim() : ''

/** The first user message and the first response with text; a message that only calls tools does not count. */
export const firstExchange = (messages: Message[]): { question: string; answer: string } => ({
  question: messageText(messages.find(message => message.role === 'user')),
  answer: messageText(
    messages.find(
      message => message.role === 'assistant' && !message._error && messageText(message) !== '',
    ),
  ),
})

const INSTRUCTION =
  'Give this conversation a title of three to seven words in its own language. Answer with the title alone: no quotes, no label, no full stop.'

const ask = async (
  endpoint: ModelEndpoint,
  provider: Provider,
  { question, answer }: { question: string; answer: string },
  signal: AbortSignal,
): Promise<string> => {
  let text = ''
  const deltas = await provider({
    endpoint: { ...endpoint, maxTokens: MAX_TITLE_TOKENS, effort: 'none' },
    messages: [
      { role: 'system', content: INSTRUCTION },
      {
        role: 'user',
        content: `User: ${question.slice(0, SNIPPET_CHARS)}\n\nAssistant: ${answer.slice(0, SNIPPET_CHARS)}`,
      },
    ],
    tools: [],
    signal: AbortSignal.any([signal, AbortSignal.timeout(TITLE_TIMEOUT_MS)]),
    workspace: '',
  })
  for await (const delta of deltas) if (delta.type === 'text') text += delta.text
  // Before it is cut to the length of a title.
  return redact(text)
}

/** Without an endpoint, the title is made locally. Null when there is no exchange yet. Never rejects: a missing title is not an error. */
export const makeTitle = async (
  endpoint: ModelEndpoint | null,
  providers: Providers,
  messages: Message[],
  signal: AbortSignal,
): Promise<{ title: string; status: string } | null> => {
  const exchange = firstExchange(messages)
  if (!exchange.question || !exchange.answer) return null
  if (endpoint && endpoint.apiMode !== 'demo') {
    try {
      const title = cleanTitle(
        await ask(endpoint, providerFor(providers, endpoint.apiMode), exchange, signal),
      )
      if (title) return { title, status: 'llm' }
    } catch {
      // The provider is slow or failed: use the local fallback.
    }
  }
  return { title: fallbackTitle(redact(exchange.question)), status: 'fallback' }
}

/** Longer sessions are not titled. */
const MAX_MESSAGES = 40

/** Titles a new session, unless the user titled it before or in the meantime. */
export const titleSession = async (
  { sessions, providers, titleEndpoint = (_, own) => own }: TurnsOptions,
  turn: Turn,
  signal: AbortSignal,
): Promise<void> => {
  const { sessionId, endpoint, log } = turn
  const before = sessions.row(sessionId)
  if (!before || before.llm_title_generated || before.message_count > MAX_MESSAGES) return
  if (endpoint instanceof UserError) return
  const { messages } = sessions.load(sessionId)
  if (!isProvisional(before.title, firstExchange(messages).question)) return
  // Messages to an external agent are not sent to another provider: the title is made locally.
  const local = endpoint.apiMode === 'acp' ? endpoint : null
  // A program may begin a chat with each request: no further model call for each of them.
  const titleModel = turn.client ? null : (local ?? titleEndpoint(sessionId, endpoint))
  const result = await makeTitle(titleModel, providers, messages, signal)
  // Renamed or deleted in the meantime: keep the user's title.
  if (!result || sessions.row(sessionId)?.title !== before.title) return
  const fields = { session_id: sessionId, title: result.title }
  sessions.append(sessionId, [
    { t: 'meta', patch: { title: result.title, llm_title_generated: true } },
  ])
  log.append({ type: 'title_status', data: { ...fields, status: result.status } })
  log.append({ type: 'title', data: fields })
}
