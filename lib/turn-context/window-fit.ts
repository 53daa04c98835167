/** Fits prompt and tools of a turn to the model's real context window: fewer of both where they would take more than half of it. */
import { SMALL_WINDOW_TOOLS } from '../agent/toolsets.ts'
import { describeTools } from '../agent/tool-schema.ts'
import { estimateTextTokens, formatTokens } from '../agent/tokens.ts'
import type { AgentRequest, ModelEndpoint, Tool } from '../agent/types.ts'
import { raiseWindowAdvice } from '../agent/window-services.ts'
import { asObject } from '../base/json.ts'
import type { ServedWindows } from '../models/served-windows.ts'
import type { Sessions } from '../sessions/types.ts'
import type { SessionWarnings } from './session-warnings.ts'
import type { SystemPrompt } from './system-prompt.ts'
import type { TurnScope } from './turn-scope.ts'

export type WindowFitOptions = {
  windows: Pick<ServedWindows, 'settle' | 'apply' | 'ask' | 'learn'>
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

/** Share of the window that prompt and tools may take; the rest is for the work. */
const FIXED_SHARE = 0.5

/** The key of the session's record that keeps the decision: the prompt must not change between turns. */
const REDUCED_KEY = 'small_window'

/** A window that shrank below this share of the kept one needs another decision, as does one that grew. */
const SAME_SHARE = 0.75

/** The window this chat was reduced for; 0 when it was not, or for another model or window. */
const reducedFor = (
  { meta }: TurnScope,
  { provider, model, contextLength }: ModelEndpoint,
): number => {
  const kept = asObject(meta[REDUCED_KEY])
  const window = Number(kept.context_length)
  const isSame =
    kept.provider === provider &&
    kept.model === model &&
    contextLength <= window &&
    contextLength > window * SAME_SHARE
  return isSame ? window : 0
}

const fixedTokens = (system: string, tools: readonly Tool[]): number =>
  estimateTextTokens(system) + estimateTextTokens(JSON.stringify(describeTools(tools)))

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

    const build = async (tools: readonly Tool[], contextLength?: number): Promise<Given> => {
      const { text, files } = await deps.promptFor(scope, tools, forbidden, contextLength)
      return { tools, system: deps.redact(text), promptFiles: files }
    }
    const buildSmall = (contextLength: number): Promise<Given> =>
      build(
        whole.filter(({ name }) => SMALL_WINDOW_TOOLS.includes(name)),
        contextLength,
      )

    /** Records the decision and warns the user. */
    const reduce = async (contextLength: number): Promise<Given> => {
      const { provider, model } = endpoint
      const kept = { provider, model, context_length: contextLength }
      deps.sessions.append(scope.sessionId, [{ t: 'meta', patch: { [REDUCED_KEY]: kept } }])
      const small = await buildSmall(contextLength)
      const names = small.tools.map(({ name }) => name).join(', ')
      deps.warnReduced(scope, [
        `${model} reads ${formatTokens(contextLength)} tokens at once, so this chat uses a short prompt and fewer tools: ${names || 'none'}. Choose a model with a larger window to get the others.`,
      ])
      return small
    }

    const services = { endpoint, windows: deps.windows }
    const kept = reducedFor(scope, endpoint)
    if (kept > 0) return { ...services, ...(await buildSmall(kept)) }
    const given = await build(whole)
    const isOurs = endpoint.apiMode !== 'acp' && endpoint.apiMode !== 'demo'
    const most = endpoint.contextLength * FIXED_SHARE
    if (isOurs && most > 0 && fixedTokens(given.system, whole) > most)
      return { ...services, ...(await reduce(endpoint.contextLength)) }
    return { ...services, ...given, reduce }
  }
}

export type WindowFit = ReturnType<typeof createWindowFit>
