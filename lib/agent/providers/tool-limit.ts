/** Endpoints that accept fewer tools than are available, or none: truncates the list and notifies the user. */
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
export const toolLimitNotice = (request: ProviderRequest, quirks: Quirks): string | null => {
  const left = request.tools.length - offeredTools(request, quirks).length
  if (left === 0) return null
  const { model, provider, providerName = provider } = request.endpoint
  if (quirks.has('no tools'))
    return `${model} doesn’t support tools, so it can only answer in text. Choose another model for work on files and commands.`
  return quirks.has('tools refused')
    ? `${providerName} did not accept tools for ${model} this time, so it answers in text. The next message offers them again.`
    : `${model} takes at most ${smallestLimit(quirks, 'tools ')} tools, so ${left} are left out. Turn off tools you don’t need in Settings, Tools.`
}
