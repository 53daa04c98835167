/** Fits prompt and tools of a turn to the model's real context window: fewer of both where they would take too much of it. */
import { SMALL_WINDOW_TOOLS } from '../../agent/toolsets.ts'
import { describeTools } from '../../agent/tool-schema.ts'
import { estimateTextTokens, formatTokens } from '../../agent/tokens.ts'
import type { AgentRequest, ModelEndpoint, Tool } from '../../agent/types.ts'
import { raiseWindowAdvice } from '../../agent/window-services.ts'
import type { ServedWindows } from '../../models/served-windows.ts'
import type { Meta } from '../../sessions/entries.ts'
import type { Sessions } from '../../sessions/types.ts'
import type { SessionWarnings } from './session-warnings.ts'
import type { SystemPrompt } from './system-prompt.ts'
import type { TurnScope } from './turn-scope.ts'

export type WindowFitOptions = {
  windows: ServedWindows
  sessions: Pick<Sessions, 'append'>
  /** The tools of the turn. Async because MCP servers may have to be started first. */
  toolsFor: (scope: TurnScope) => Promise<readonly Tool[]>
  /** `contextLength`: the short form, for a window of that many tokens. */
  promptFor: (
    scope: TurnScope,
    tools: readonly Tool[],
    forbidden: readonly string[],
    contextLength?: number,
  ) => Promise<SystemPrompt>
  redact: (text: string) => string
  /** Show warnings once per chat: about the server's window, and about what was reduced. */
  warnServer: SessionWarnings
  warnReduced: SessionWarnings
}

type Given = Pick<AgentRequest, 'tools' | 'system'> & {
  /** Instruction files in the prompt. */
  promptFiles: readonly string[]
}

/** What the model is given: the endpoint with its real window, tools, and system prompt. */
export type Fitted = Given &
  Pick<AgentRequest, 'windows' | 'reduce'> & {
    endpoint: ModelEndpoint
  }

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
  const kept = meta.small_window
  const isSame =
    kept?.provider === provider &&
    kept.model === model &&
    contextLength <= kept.context_length &&
    contextLength > kept.context_length * SAME_SHARE
  return isSame ? kept : null
}

const fixedTokens = ({ system, tools }: Given): number =>
  estimateTextTokens(system) + estimateTextTokens(JSON.stringify(describeTools(tools)))

const reductionNote = (
  { model, context_length: tokens, extent }: Reduced,
  tools: readonly Tool[],
): string => {
  const names = tools.map(({ name }) => name).join(', ') || 'none'
  return extent === 'short'
    ? `${model} reads ${formatTokens(tokens)} tokens at once, so this chat uses a short prompt: long instructions, notes, and lists of skills are cut.`
    : `${model} reads ${formatTokens(tokens)} tokens at once, so this chat uses a short prompt and fewer tools: ${names}. Choose a model with a larger window to get the others.`
}

export const createWindowFit = (deps: WindowFitOptions) => {
  /** Asks the server for the window in use, and reports one that is smaller than configured. */
  const withRealWindow = async (
    scope: TurnScope,
    endpoint: ModelEndpoint,
  ): Promise<ModelEndpoint> => {
    const served = await deps.windows.settle(endpoint, scope.turn.controller.signal)
    const real = deps.windows.apply(endpoint)
    const isSmaller =
      served?.isCertain && served.tokens > 0 && served.tokens < endpoint.contextLength
    const isWrong = endpoint.hasConfiguredWindow && isSmaller && real.apiMode !== 'ollama_chat'
    deps.warnServer(
      scope,
      isWrong
        ? [
            `context_length in config.yaml is ${formatTokens(endpoint.contextLength)}, but the server runs ${endpoint.model} with ${formatTokens(served.tokens)} tokens. ${raiseWindowAdvice(served.kind)}`,
          ]
        : [],
    )
    return real
  }

  return async (
    scope: TurnScope,
    chosen: ModelEndpoint,
    forbidden: readonly string[],
  ): Promise<Fitted> => {
    const endpoint = await withRealWindow(scope, chosen)
    const whole = await deps.toolsFor(scope)

    const build = async (extent: Extent, contextLength: number): Promise<Given> => {
      const tools =
        extent === 'few tools'
          ? whole.filter(({ name, isClient }) => isClient || SMALL_WINDOW_TOOLS.includes(name))
          : whole
      const size = extent === 'whole' ? undefined : contextLength
      const { text, files } = await deps.promptFor(scope, tools, forbidden, size)
      return { tools, system: deps.redact(text), promptFiles: files }
    }

    /** The most that fits, of these. */
    const choose = async (contextLength: number, extents: readonly Extent[]) => {
      const most = contextLength * FIXED_SHARE || Number.POSITIVE_INFINITY
      for (const extent of extents) {
        const given = await build(extent, contextLength)
        if (fixedTokens(given) <= most || extent === extents.at(-1)) return { extent, given }
      }
      throw new Error('There is nothing to choose from.')
    }

    /** Records what was left out, except for a fallback, which serves one turn only; and warns the user. */
    const reduced = async (
      { provider, model, contextLength }: ModelEndpoint,
      extents: readonly Extent[],
    ): Promise<Fitted> => {
      const { extent, given } = await choose(contextLength, extents)
      if (extent === 'whole') return withServices(extent, given)
      const kept: Reduced = { provider, model, context_length: contextLength, extent }
      if (provider === endpoint.provider && model === endpoint.model)
        deps.sessions.append(scope.sessionId, [{ t: 'meta', patch: { small_window: kept } }])
      deps.warnReduced(scope, [reductionNote(kept, given.tools)])
      return withServices(extent, given)
    }

    const withServices = (extent: Extent, given: Given): Fitted => {
      const smaller = EXTENTS.slice(EXTENTS.indexOf(extent) + 1)
      return {
        ...given,
        endpoint,
        windows: deps.windows,
        ...(smaller.length > 0 && {
          reduce: used => reduced(used, smaller),
        }),
      }
    }

    if (endpoint.apiMode === 'acp' || endpoint.apiMode === 'demo')
      return withServices('whole', await build('whole', 0))
    const kept = keptFor(scope, endpoint)
    return kept
      ? withServices(kept.extent, await build(kept.extent, kept.context_length))
      : reduced(endpoint, EXTENTS)
  }
}

export type WindowFit = ReturnType<typeof createWindowFit>
