/** Fits prompt and tools of a turn to the model's real context window: fewer of both where they would take too much of it. */
import { type Sentence, sentence } from '../../base/sentences.ts'
import { toolInfo } from '../../base/tools.ts'
import { describeTools } from '../../agent/tool-schema.ts'
import { estimateTextTokens, formatTokens } from '../../agent/tokens.ts'
import type { ModelEndpoint, Tool } from '../../agent/types.ts'
import { raiseWindowAdvice, type WindowServices } from '../../agent/window-services.ts'
import { redact } from '../../base/redact/redact.ts'
import type { Meta } from '../../sessions/entries.ts'
import type { Services } from './services.ts'
import { promptOf } from './system-prompt.ts'
import type { TurnScope } from './turn-scope.ts'
import { turnTools } from './turn-tools.ts'

type PromptParts = {
  tools: readonly Tool[]
  system: string
  /** Instruction files in the prompt. */
  promptFiles: readonly string[]
}

/** What the model is given: the endpoint with its real window, tools, and system prompt. */
type Fitted = PromptParts & WindowServices & { endpoint: ModelEndpoint }

/** Share of the window that prompt and tools may take; the work needs the rest. */
const FIXED_SHARE = 0.25
/** A window that shrank below this share of the kept one needs another decision, as does one that grew. */
const SAME_SHARE = 0.75

/** What the model is given, from the most to the least: `short` cuts long parts of the prompt, `few tools` does too. */
const EXTENTS = ['whole', 'short', 'few tools'] as const
type Extent = (typeof EXTENTS)[number]

/** The decision in the session's record: prompt and tools must not change between turns. */
type Reduced = NonNullable<Meta['small_window']>

/** Null when this chat was not reduced, or for another model or window. */
const keptFor = (
  { meta }: TurnScope,
  { provider, model, contextLength }: ModelEndpoint,
): Reduced | null => {
  const last = meta.small_window
  const isSame =
    last?.provider === provider &&
    last.model === model &&
    contextLength <= last.context_length &&
    contextLength > last.context_length * SAME_SHARE
  return isSame ? last : null
}

const fixedTokens = ({ system, tools }: PromptParts): number =>
  estimateTextTokens(system) + estimateTextTokens(JSON.stringify(describeTools(tools)))

const reductionNote = (
  { model, context_length: tokens, extent }: Reduced,
  tools: readonly Tool[],
  advice: Sentence,
): Sentence => {
  const count = formatTokens(tokens)
  return extent === 'short'
    ? sentence('window.short', { model, count, advice })
    : sentence('window.few_tools', {
        model,
        count,
        tools: tools.map(({ name }) => name).join(', ') || '—',
        advice,
      })
}

/** Asks the server for the window in use, and reports one that is smaller than configured. */
const withRealWindow = async (
  { turn }: TurnScope,
  { models: { windows }, warnings }: Services,
  endpoint: ModelEndpoint,
): Promise<ModelEndpoint> => {
  const served = await windows.settle(endpoint, turn.controller.signal)
  const real = windows.apply(endpoint)
  const isSmaller = served?.isCertain && served.tokens > 0 && served.tokens < endpoint.contextLength
  const isWrong = endpoint.hasConfiguredWindow && isSmaller && real.apiMode !== 'ollama_chat'
  warnings.window.show(
    turn,
    isWrong
      ? [
          sentence('window.configured', {
            expected: formatTokens(endpoint.contextLength),
            model: endpoint.model,
            count: formatTokens(served.tokens),
            advice: raiseWindowAdvice(served.kind),
          }),
        ]
      : [],
  )
  return real
}

/** The tools and the system prompt of a turn, as far as they fit. Async because MCP servers may have to be started first. */
export const fitWindow = async (
  scope: TurnScope,
  services: Services,
  chosen: ModelEndpoint,
  forbidden: readonly string[],
): Promise<Fitted> => {
  const endpoint = await withRealWindow(scope, services, chosen)
  const whole = await turnTools(scope, services)

  const build = async (extent: Extent, contextLength: number): Promise<PromptParts> => {
    const tools =
      extent === 'few tools'
        ? whole.filter(({ name, isClient }) => isClient || toolInfo(name)?.inSmallWindow)
        : whole
    const size = extent === 'whole' ? undefined : contextLength
    const { text, files } = await promptOf(scope, services, tools, forbidden, size)
    return { tools, system: redact(text), promptFiles: files }
  }

  /** The largest of `extents` that fits; the last one where none does. */
  const choose = async (contextLength: number, extents: readonly Extent[]) => {
    const most = contextLength * FIXED_SHARE || Number.POSITIVE_INFINITY
    for (const extent of extents) {
      const parts = await build(extent, contextLength)
      if (fixedTokens(parts) <= most || extent === extents.at(-1)) return { extent, parts }
    }
    throw new Error('There is nothing to choose from.')
  }

  /** Records what was left out, except for a fallback, which serves one turn only; and warns the user. */
  const reduced = async (
    { provider, model, contextLength }: ModelEndpoint,
    extents: readonly Extent[],
    advice = sentence('window.choose_larger'),
  ): Promise<Fitted> => {
    const { extent, parts } = await choose(contextLength, extents)
    if (extent === 'whole') return withServices(extent, parts)
    const reduction: Reduced = { provider, model, context_length: contextLength, extent }
    if (provider === endpoint.provider && model === endpoint.model)
      services.sessions.append(scope.sessionId, [{ t: 'meta', patch: { small_window: reduction } }])
    services.warnings.reduced.show(scope.turn, [reductionNote(reduction, parts.tools, advice)])
    return withServices(extent, parts)
  }

  const withServices = (extent: Extent, parts: PromptParts): Fitted => {
    const smaller = EXTENTS.slice(EXTENTS.indexOf(extent) + 1)
    return {
      ...parts,
      endpoint,
      windows: services.models.windows,
      ...(smaller.length > 0 && {
        reduce: (used: ModelEndpoint, advice?: Sentence) => reduced(used, smaller, advice),
      }),
    }
  }

  if (endpoint.apiMode === 'acp' || endpoint.apiMode === 'demo')
    return withServices('whole', await build('whole', 0))
  const last = keptFor(scope, endpoint)
  return last
    ? withServices(last.extent, await build(last.extent, last.context_length))
    : reduced(endpoint, EXTENTS)
}
