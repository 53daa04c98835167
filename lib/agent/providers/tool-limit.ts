/** Endpoints that accept fewer tools than are available, or none: truncates the list and notifies the user. */
import { type Sentence, sentence } from '../../base/sentences.ts'
import type { ProviderRequest } from '../types.ts'
import { type Quirks, smallestLimit } from './quirks.ts'

export const offeredTools = (
  { tools }: ProviderRequest,
  quirks: Quirks,
): ProviderRequest['tools'] =>
  quirks.has('no tools') || quirks.has('tools refused')
    ? []
    : tools.slice(0, smallestLimit(quirks, 'tools '))

/** Null when all tools are included. */
export const toolLimitNotice = (request: ProviderRequest, quirks: Quirks): Sentence | null => {
  const more = request.tools.length - offeredTools(request, quirks).length
  if (more === 0) return null
  const { model, provider, providerName: name = provider } = request.endpoint
  if (quirks.has('no tools')) return sentence('model.no_tools', { model })
  return quirks.has('tools refused')
    ? sentence('model.tools_refused', { name, model })
    : sentence('model.tool_limit', { model, limit: smallestLimit(quirks, 'tools '), count: more })
}
