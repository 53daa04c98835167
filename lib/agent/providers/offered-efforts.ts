/** Which efforts make a difference for a model: what nobody reads is not offered, nor two words for the same request. */
import type { HttpApiMode, ModelEndpoint } from '../types.ts'
import { type Effort, EFFORTS } from '../../base/efforts.ts'
import { thinkingFields } from './anthropic-thinking.ts'
import { chatEffort } from './effort.ts'
import { ollamaThinking } from './ollama-chat.ts'
import { responsesEffort } from './codex-responses.ts'

/** The order in which one name is chosen for several efforts that send the same. */
const NAMING: readonly Effort[] = ['none', 'high', 'low', 'medium', 'minimal', 'xhigh']

const FIELDS: Readonly<Record<HttpApiMode, (endpoint: ModelEndpoint) => unknown>> = {
  chat_completions: chatEffort,
  codex_responses: responsesEffort,
  ollama_chat: endpoint => ollamaThinking(endpoint, new Set()),
  anthropic_messages: endpoint => {
    const { max_tokens: _, ...fields } = thinkingFields(endpoint, new Set())
    return fields
  },
}

/** In ascending order; empty when the model cannot be told. The scripted demo shows them all. */
export const offeredEfforts = (endpoint: ModelEndpoint): Effort[] => {
  const { apiMode } = endpoint
  if (apiMode === 'demo') return [...EFFORTS]
  if (apiMode === 'acp') return []
  const alike = Map.groupBy(EFFORTS, effort =>
    JSON.stringify(FIELDS[apiMode]({ ...endpoint, effort })),
  )
  if (alike.size < 2) return []
  return [...alike].flatMap(([fields, efforts]) => {
    const sameWord = efforts.find(effort => fields.includes(`"${effort}"`))
    return sameWord ?? NAMING.find(effort => efforts.includes(effort)) ?? []
  })
}
