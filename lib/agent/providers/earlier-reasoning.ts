/** Whether reasoning of finished turns goes back, by endpoint, and what endpoints taught us about it. */
import type { HttpApiMode, ModelEndpoint, ProviderRequest } from '../types.ts'
import type { Objection, Quirks } from './quirks.ts'
import { MISSING_REASONING, ownWords } from './rejection.ts'
import { hostname } from './stream-request.ts'

/**
 * The first row that matches decides. `isReturned: true` keeps what was sent before unchanged in the next turn, so the
 * prompt cache covers it. `false`: the cache ends at the first reasoning of the last turn, as the model's template or server
 * drops that reasoning anyway.
 */
type ReasoningRow = {
  name: string
  format?: HttpApiMode
  /** Matches "provider host", such as "openrouter openrouter.ai". */
  hosts?: RegExp
  models?: RegExp
  isReturned: boolean
  /** Request fields with which the family's own servers read it; elsewhere they are not sent. */
  fields?: { hosts: RegExp; models: RegExp; body: Readonly<Record<string, unknown>> }
  source: string
}

const ROWS: readonly ReasoningRow[] = [
  {
    name: 'Groq, Cerebras and Mistral reject unknown message fields',
    hosts: /[ .](?:groq\.com|cerebras\.ai|mistral\.ai)$/,
    isReturned: false,
    source: 'https://inference-docs.cerebras.ai/capabilities/reasoning; their 400 and 422 replies',
  },
  {
    name: 'Responses API: reasoning items and phases of all turns',
    format: 'codex_responses',
    isReturned: true,
    source:
      'https://platform.openai.com/docs/guides/reasoning, https://docs.x.ai/developers/model-capabilities/text/best-practices',
  },
  {
    name: 'OpenRouter passes them to providers that use them',
    hosts: /^openrouter |[ .]openrouter\.ai$/,
    isReturned: true,
    source: 'https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks',
  },
  {
    name: 'Claude: Opus 4.5, Sonnet 4.6 and later use all blocks, the API drops those of earlier models',
    format: 'anthropic_messages',
    models: /claude/i,
    isReturned: true,
    source:
      'https://platform.claude.com/docs/en/build-with-claude/extended-thinking, https://platform.claude.com/docs/en/build-with-claude/preserved-thinking',
  },
  {
    name: 'DeepSeek R1 rejects reasoning in the input',
    models: /deepseek[-_/ ]?r1/i,
    isReturned: false,
    source: 'https://api-docs.deepseek.com/guides/reasoning_model (2025)',
  },
  {
    name: 'DeepSeek requires it after turns with tool calls and ignores it otherwise',
    models: /deepseek/i,
    isReturned: true,
    source: 'https://api-docs.deepseek.com/guides/thinking_mode',
  },
  {
    name: 'Kimi: the whole context has it',
    models: /kimi-(?:k2-thinking|k2\.[5-9]|k[3-9])/i,
    isReturned: true,
    fields: {
      hosts: /[ .](?:moonshot|kimi)\.(?:ai|cn|com)$/,
      models: /kimi-k2\.[6-9]/i,
      body: { thinking: { type: 'enabled', keep: 'all' } },
    },
    source: 'https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model',
  },
  {
    name: 'GLM 4.7 and later: preserved thinking',
    models: /glm-(?:4\.[7-9]|[5-9])/i,
    isReturned: true,
    fields: {
      hosts: /[ .](?:z\.ai|bigmodel\.cn)$/,
      models: /glm/i,
      body: { thinking: { type: 'enabled', clear_thinking: false } },
    },
    source: 'https://docs.z.ai/guides/capabilities/thinking-mode',
  },
  {
    name: 'MiniMax M2 and later: the history contains all reasoning',
    models: /minimax[-_/ ]?m(?:[2-9]|\d\d)/i,
    isReturned: true,
    source: 'https://huggingface.co/MiniMaxAI/MiniMax-M2',
  },
  {
    name: 'Qwen 3.6 and later: the template keeps it when the server says `preserve_thinking`',
    models: /qwen[-_/ ]?(?:3\.[6-9]|[4-9])/i,
    isReturned: true,
    source: 'https://huggingface.co/Qwen/Qwen3.6-35B-A3B',
  },
  {
    name: 'Gemini: signatures come back as received',
    models: /gemini/i,
    isReturned: true,
    source: 'https://ai.google.dev/gemini-api/docs/thought-signatures',
  },
  {
    name: 'All others, such as gpt-oss, whose template drops reasoning before the last answer',
    isReturned: false,
    source: 'https://developers.openai.com/cookbook/articles/gpt-oss/handle-raw-cot',
  },
]

const hostOf = ({ provider, baseUrl }: ModelEndpoint) => `${provider} ${hostname(baseUrl)}`

const rowOf = (endpoint: ModelEndpoint): ReasoningRow | undefined =>
  ROWS.find(
    ({ format = endpoint.apiMode, hosts, models }) =>
      format === endpoint.apiMode &&
      (hosts?.test(hostOf(endpoint)) ?? true) &&
      (models?.test(endpoint.model) ?? true),
  )

const isReturned = (endpoint: ModelEndpoint, quirks: Quirks): boolean =>
  !quirks.has('no earlier reasoning') &&
  (quirks.has('earlier reasoning') || rowOf(endpoint)?.isReturned === true)

/** The request without the reasoning of finished turns where its endpoint must not get it. */
export const withEarlierReasoning = (request: ProviderRequest, quirks: Quirks): ProviderRequest =>
  isReturned(request.endpoint, quirks)
    ? request
    : {
        ...request,
        messages: request.messages.map(message => {
          if (!message.providerState?.isEarlier) return message
          const { providerState: _, ...rest } = message
          return rest
        }),
      }

/** Fields of `chat_completions` with which the endpoint reads reasoning of finished turns. */
export const preservedThinkingFields = (
  endpoint: ModelEndpoint,
  quirks: Quirks,
): Readonly<Record<string, unknown>> => {
  const fields = rowOf(endpoint)?.fields
  if (!fields || endpoint.effort === 'none' || quirks.has('no thinking fields')) return {}
  const isOwn = fields.hosts.test(hostOf(endpoint)) && fields.models.test(endpoint.model)
  return isOwn ? fields.body : {}
}

/** Errors about signatures and encrypted items that are not valid here or no longer. */
const INVALID_STATE =
  /(?:(?<!missing.{0,20})signature)|encrypted.?content|thinking.{0,80}cannot be modified|item with id|without its required/i

/**
 * What a rejection teaches about the reasoning of finished turns, before the format looks at it: that it is required, or
 * that it is not valid in this session, for example after a change of the account.
 */
export const earlierReasoningObjection = (
  failure: { message: string },
  quirks: Quirks,
  { endpoint, messages }: ProviderRequest,
): Objection | null => {
  const message = ownWords(failure)
  if (!messages.some(({ providerState }) => providerState?.isEarlier)) return null
  if (isReturned(endpoint, quirks))
    return INVALID_STATE.test(message) ? { quirk: 'no earlier reasoning', scope: 'session' } : null
  return MISSING_REASONING.test(message) && !quirks.has('earlier reasoning')
    ? { quirk: 'earlier reasoning', scope: 'endpoint' }
    : null
}
