/** Summaries of a session's earlier messages: what the home configures, and how one is written down and taken back. */
import { type Compression, type Compressed, compress } from '../agent/compress.ts'
import { type CompressionSettings, planCompression, thresholdOf } from '../agent/compress-plan.ts'
import { estimateAllTokens } from '../agent/tokens.ts'
import type { LoopMessage, ModelEndpoint } from '../agent/types.ts'
import { conflict, invalid, messageOf, UserError, unavailable } from '../errors.ts'
import type { ProfileConfig } from '../profiles/config.ts'
import type { Home } from '../profiles/home.ts'
import { type SummaryRef, summaryContent } from '../schema/summary.ts'
import type { Usage } from '../schema/usage.ts'
import type { Folded } from '../sessions/fold.ts'
import { activeSpans } from '../sessions/fold.ts'
import { toConversation } from '../sessions/history.ts'
import type { Sessions } from '../sessions/types.ts'
import type { AuxiliaryFor } from './auxiliary-model.ts'

const compressionSettings = ({ compression }: ProfileConfig): CompressionSettings => ({
  enabled: compression.enabled,
  threshold: compression.threshold,
  thresholdTokens: compression.threshold_tokens,
  modelThresholds: compression.model_thresholds,
  targetRatio: compression.target_ratio,
  protectFirst: compression.protect_first_n,
  protectLast: compression.protect_last_n,
  maxAttempts: compression.max_attempts,
})

export type CompressionsOptions = {
  sessions: Sessions
  auxiliaryFor: AuxiliaryFor
  /** Refuses while anything else works on the session, and keeps it from beginning. */
  runExclusive: <T>(sessionId: string, work: (signal: AbortSignal) => Promise<T>) => Promise<T>
  /** Ends what `alone` is doing there; false when it does nothing. */
  interrupt: (sessionId: string) => boolean
  requireIdle: (sessionId: string) => void
  homeOf: (profile: string | null | undefined) => Home
  /** The model of a session; throws the sentence why it cannot be called. */
  endpointOf: (home: Home, model: string | null) => ModelEndpoint
  /** What `endpointOf` looks up is at hand afterwards. */
  ready: (home: Home) => Promise<void>
  redact: (text: string) => string
  /** Pages that show the session say that it is being summarised. */
  onStart?: (sessionId: string) => void
  /** Pages that show the session read it again. */
  onChange: (sessionId: string) => void
}

export type CompressionResult = {
  session_id: string
  messages: [before: number, after: number]
  tokens: [before: number, after: number]
  text: string
  topic: string
}

const STREAMING = 'Session is still streaming; wait for the current turn to finish.'
const MIN_MESSAGES = 4
const TOO_LITTLE = `Not enough conversation to compress (need at least ${MIN_MESSAGES} messages).`

export type Compressions = ReturnType<typeof createCompressions>

export const createCompressions = (deps: CompressionsOptions) => {
  const { sessions } = deps
  /** Until when a session's summaries rest, in milliseconds. */
  const resting = new Map<string, number>()

  const engineFor = (
    sessionId: string,
    home: Home,
    own: ModelEndpoint | UserError,
  ): Compression => {
    let found: ReturnType<AuxiliaryFor> | null = null
    // Looked up when it is needed: most turns never ask.
    const auxiliary = () => {
      found ??= deps.auxiliaryFor('compression', home, own)
      return found
    }
    return {
      settings: compressionSettings(home.settings()),
      callModel: (messages, options) => auxiliary().ask(messages, { ...options, retry: true }),
      get window() {
        return auxiliary().endpoint.contextLength
      },
      cooldown: {
        until: () => resting.get(sessionId) ?? 0,
        start(now, untilMs) {
          for (const [id, until] of resting) if (until < now) resting.delete(id)
          resting.set(sessionId, untilMs)
        },
      },
    }
  }

  /** Null when what it stands for is not in the transcript (any more). */
  const record = (
    sessionId: string,
    { first, last, text }: Pick<Compressed, 'first' | 'last' | 'text'>,
  ): SummaryRef | null => {
    const { messages, numbers } = sessions.load(sessionId)
    const numberOf = (id: string | null) => numbers[messages.findIndex(one => one.id === id)]
    const [from, to] = [numberOf(first), numberOf(last)]
    if (from === undefined || to === undefined || last === null || to < from) return null
    const [entry] = sessions.append(sessionId, [{ t: 'summary', from, to, last, text }])
    return entry ? { n: entry.n, last } : null
  }

  const estimated = (folded: Folded): number => estimateAllTokens(toConversation(folded))

  /** The ring is right at once: what was counted last, less what a summary saves. */
  const usageAfter = (folded: Folded, before: number, after: number) => {
    const last = folded.meta.last_usage as Usage | undefined
    if (!last?.last_prompt_tokens) return {}
    const share = last.last_prompt_tokens / Math.max(1, before)
    const tokens =
      share > 1
        ? last.last_prompt_tokens - before + after
        : Math.round(last.last_prompt_tokens - (before - after) * share)
    return { last_usage: { ...last, last_prompt_tokens: Math.max(0, tokens) } }
  }

  const anchorOf = ({ messages }: Folded) => {
    const at = messages.findLastIndex(({ role, _error }) => role !== 'tool' && !_error)
    const message = messages[at]
    if (!message) return {}
    const text = typeof message.content === 'string' ? message.content : ''
    return {
      compression_anchor_visible_idx: at,
      compression_anchor_message_key: {
        role: message.role,
        ts: message._ts ?? message.timestamp ?? null,
        text: deps.redact(text.replace(/\s+/g, ' ').trim()).slice(0, 160),
        attachments: message.attachments?.length ?? 0,
      },
    }
  }

  const summarise = async (
    sessionId: string,
    topic: string,
    signal: AbortSignal,
  ): Promise<CompressionResult> => {
    const row = sessions.require(sessionId)
    const home = deps.homeOf(row.profile)
    await deps.ready(home)
    const folded = sessions.load(sessionId)
    const messages = toConversation(folded)
    if (messages.length < MIN_MESSAGES) throw invalid(TOO_LITTLE, { code: 'too_little_to_compact' })
    const endpoint = callable(deps, home, row.model)
    const engine = engineFor(sessionId, home, endpoint)
    const before = estimateAllTokens(messages)
    const plan = planByHand(messages, engine.settings, endpoint, before)
    if (!plan) throw invalid(TOO_LITTLE, { code: 'too_little_to_compact' })
    const used: Usage[] = []
    const done = await compress(messages, plan, {
      ...engine,
      window: engine.window,
      signal,
      focus: topic,
      onUsage: usage => used.push(usage),
    }).catch((error: unknown) => {
      signal.throwIfAborted()
      throw invalid(`Compression failed: ${deps.redact(messageOf(error))}`)
    })
    // Stopped in the tick in which the answer came: nothing is written.
    signal.throwIfAborted()
    if (!record(sessionId, done)) throw conflict('The conversation changed meanwhile. Try again.')
    const now = sessions.load(sessionId)
    const sum = (key: 'input_tokens' | 'output_tokens' | 'estimated_cost') =>
      used.reduce((total, usage) => total + usage[key], row[key])
    sessions.append(sessionId, [
      {
        t: 'meta',
        patch: {
          input_tokens: sum('input_tokens'),
          output_tokens: sum('output_tokens'),
          estimated_cost: sum('estimated_cost'),
          ...usageAfter(now, done.beforeTokens, done.afterTokens),
          ...anchorOf(now),
        },
      },
    ])
    return {
      session_id: sessionId,
      messages: [messages.length, done.messages.length],
      tokens: [before, done.afterTokens],
      text: done.text,
      topic,
    }
  }

  return {
    /** For a turn; `own` is the model that answers it. */
    forTurn: engineFor,
    record,

    /** By hand. `signal` ends it with nothing written. */
    async compress(given: string, topic: string, signal: AbortSignal): Promise<CompressionResult> {
      const { session_id, active_stream_id } = sessions.require(given)
      if (active_stream_id) throw conflict(STREAMING, { code: 'session_busy', active_stream_id })
      const done = await deps.runExclusive(session_id, async ending => {
        deps.onStart?.(session_id)
        const stopped = AbortSignal.any([signal, ending])
        try {
          return await summarise(session_id, topic, stopped)
        } catch (error) {
          if (!stopped.aborted) throw error
          throw unavailable('Stopped before the summary was there; nothing has changed.')
        } finally {
          deps.onChange(session_id)
        }
      })
      return done
    },

    /** The summary is told no longer; the messages it stood for are, or an older one. One that is being made is given up. */
    undo(given: string, n: number | undefined): void {
      const { session_id } = sessions.require(given)
      if (deps.interrupt(session_id)) return
      deps.requireIdle(session_id)
      const folded = sessions.load(session_id)
      const inForce = activeSpans(folded.summaries)
      const summary = n === undefined ? inForce.at(-1) : inForce.find(one => one.n === n)
      if (!summary) throw invalid('There is no summary to undo.', { code: 'no_previous_summary' })
      const before = estimated(folded)
      sessions.append(session_id, [{ t: 'unsummary', summary: summary.n }])
      const now = sessions.load(session_id)
      const clear = { compression_anchor_visible_idx: null, compression_anchor_message_key: null }
      const patch = { ...usageAfter(now, before, estimated(now)), ...clear }
      sessions.append(session_id, [{ t: 'meta', patch }])
      deps.onChange(session_id)
    },

    /** What the model reads in place of the messages. */
    text(given: string, n: number): string {
      const summary = sessions.load(given).summaries.find(one => one.n === n)
      if (!summary) throw invalid('There is no such summary.', { code: 'no_previous_summary' })
      return deps.redact(summary.text)
    },

    /** As the contract's clients know it. */
    reference: (text: string): string => deps.redact(summaryContent(text)),
  }
}

const NO_PROVIDER = 'No provider configured -- cannot compress.'

/** The scripted model summarises nothing. */
const callable = (
  { endpointOf }: CompressionsOptions,
  home: Home,
  model: string | null,
): ModelEndpoint => {
  try {
    const endpoint = endpointOf(home, model)
    if (endpoint.apiMode === 'demo') throw invalid(NO_PROVIDER)
    return endpoint
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    throw invalid(NO_PROVIDER)
  }
}

/** A person who asks for it wants it now, however much room there is: the conversation itself is the measure. */
const planByHand = (
  messages: readonly LoopMessage[],
  settings: CompressionSettings,
  endpoint: ModelEndpoint,
  tokens: number,
) => {
  const usual = thresholdOf({ ...settings, enabled: true }, endpoint)
  const isShort = messages.length < 8
  return planCompression(messages, {
    settings: { ...settings, protectLast: 3, ...(isShort && { protectFirst: 1 }) },
    threshold: Math.min(usual || tokens, tokens),
    minTail: messages.length < 6 ? 2 : 3,
  })
}
