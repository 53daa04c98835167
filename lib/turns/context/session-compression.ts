/** Compaction of a session: the settings of its home, manual compaction, and recording and undoing summaries. */
import { type Compression, type Compressed, compress } from '../../agent/compress.ts'
import {
  type CompressionSettings,
  planCompression,
  thresholdOf,
} from '../../agent/compress-plan.ts'
import { estimateAllTokens } from '../../agent/tokens.ts'
import type { LoopMessage, ModelEndpoint } from '../../agent/types.ts'
import { conflict, invalid, messageOf, UserError, unavailable } from '../../errors.ts'
import type { ProfileConfig } from '../../profiles/config.ts'
import type { Home } from '../../profiles/home.ts'
import { type SummaryRef, summaryContent } from '../../schema/summary.ts'
import type { Usage } from '../../schema/usage.ts'
import type { Folded } from '../../sessions/fold.ts'
import { activeSpans } from '../../sessions/fold.ts'
import { toConversation } from '../../sessions/history.ts'
import type { Sessions } from '../../sessions/types.ts'
import { addToTotals, type Totals } from '../../sessions/usage.ts'
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
  /** Rejects while other work runs in the session, and blocks such work until it settles. */
  runExclusive: <T>(sessionId: string, work: (signal: AbortSignal) => Promise<T>) => Promise<T>
  /** Aborts the exclusive work of a session; false when there is none. */
  interrupt: (sessionId: string) => boolean
  requireIdle: (sessionId: string) => void
  homeOf: (profile: string | null | undefined) => Home
  /** The model of a session. Throws UserError when it cannot be called. */
  endpointOf: (home: Home, model: string | null) => ModelEndpoint
  /** The endpoint with the window known by now. */
  apply: (endpoint: ModelEndpoint) => ModelEndpoint
  /** Loads what `endpointOf` looks up. */
  ready: (home: Home) => Promise<void>
  redact: (text: string) => string
  /** Called when a compaction starts. */
  onStart?: (sessionId: string) => void
  /** Called when the transcript changed: pages reload the session. */
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

type EngineFor = (sessionId: string, home: Home, own: ModelEndpoint | UserError) => Compression

/** Appends a summary; null when the messages it covers are not in the transcript. */
const recordSummary = (
  sessions: Sessions,
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

const estimateTokens = (folded: Folded): number => estimateAllTokens(toConversation(folded))

/** The last counted usage minus what a summary saves, so that the page's context meter is right at once. */
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

const anchorOf = ({ messages }: Folded, redact: (text: string) => string) => {
  const at = messages.findLastIndex(({ role, _error }) => role !== 'tool' && !_error)
  const message = messages[at]
  if (!message) return {}
  const text = typeof message.content === 'string' ? message.content : ''
  return {
    compression_anchor_visible_idx: at,
    compression_anchor_message_key: {
      role: message.role,
      ts: message._ts ?? message.timestamp ?? null,
      text: redact(text.replace(/\s+/g, ' ').trim()).slice(0, 160),
      attachments: message.attachments?.length ?? 0,
    },
  }
}

/** Summarizes the session and records the summary with its usage. */
const compressNow = async (
  deps: CompressionsOptions,
  engineFor: EngineFor,
  sessionId: string,
  topic: string,
  signal: AbortSignal,
): Promise<CompressionResult> => {
  const { sessions } = deps
  const row = sessions.require(sessionId)
  const home = deps.homeOf(row.profile)
  await deps.ready(home)
  const folded = sessions.load(sessionId)
  const messages = toConversation(folded)
  if (messages.length < MIN_MESSAGES) throw invalid(TOO_LITTLE, { code: 'too_little_to_compact' })
  const endpoint = requireEndpoint(deps, home, row.model)
  const engine = engineFor(sessionId, home, endpoint)
  const before = estimateAllTokens(messages)
  const plan = planManual(messages, engine.settings, endpoint, before)
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
    throw invalid(`Compression failed: ${deps.redact(messageOf(error))}`, {
      code: 'compaction_failed',
      values: { reason: deps.redact(messageOf(error)) },
    })
  })
  // Aborted in the tick of the response: nothing is written.
  signal.throwIfAborted()
  if (!recordSummary(sessions, sessionId, done))
    throw conflict('The chat changed in the meantime. Try again.', { code: 'session_changed' })
  const now = sessions.load(sessionId)
  sessions.append(sessionId, [
    {
      t: 'meta',
      patch: {
        ...(used.length > 0 && used.reduce<Totals>(addToTotals, row)),
        ...usageAfter(now, done.beforeTokens, done.afterTokens),
        ...anchorOf(now, deps.redact),
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

export type Compressions = ReturnType<typeof createCompressions>

export const createCompressions = (deps: CompressionsOptions) => {
  const { sessions } = deps
  /** Until when compaction of a session is not retried, in milliseconds. */
  const cooldowns = new Map<string, number>()

  const engineFor: EngineFor = (sessionId, home, own) => {
    let found: ReturnType<AuxiliaryFor> | null = null
    // Looked up on first use: most turns never compact.
    const auxiliary = () => {
      found ??= deps.auxiliaryFor('compression', home, own)
      return found
    }
    return {
      settings: compressionSettings(home.settings()),
      callModel: (messages, options) => auxiliary().ask(messages, { ...options, retry: true }),
      get window() {
        return deps.apply(auxiliary().endpoint).contextLength
      },
      cooldown: {
        until: () => cooldowns.get(sessionId) ?? 0,
        start(now, untilMs) {
          for (const [id, until] of cooldowns) if (until < now) cooldowns.delete(id)
          cooldowns.set(sessionId, untilMs)
        },
      },
    }
  }

  return {
    /** For a turn; `own` is the model that answers it. */
    forTurn: engineFor,
    record: (sessionId: string, summary: Pick<Compressed, 'first' | 'last' | 'text'>) =>
      recordSummary(sessions, sessionId, summary),

    /** Manual compaction. Aborting `signal` leaves the session unchanged. */
    async compress(given: string, topic: string, signal: AbortSignal): Promise<CompressionResult> {
      const { session_id, active_stream_id } = sessions.require(given)
      if (active_stream_id) throw conflict(STREAMING, { code: 'session_busy', active_stream_id })
      const done = await deps.runExclusive(session_id, async ending => {
        deps.onStart?.(session_id)
        const stop = AbortSignal.any([signal, ending])
        try {
          return await compressNow(deps, engineFor, session_id, topic, stop)
        } catch (error) {
          if (!stop.aborted) throw error
          throw unavailable('Compaction canceled. Nothing has changed.', {
            code: 'compaction_canceled',
          })
        } finally {
          deps.onChange(session_id)
        }
      })
      return done
    },

    /** Removes a summary: the model reads the messages again, or an older summary. Aborts a running compaction. */
    undo(given: string, n: number | undefined): void {
      const { session_id } = sessions.require(given)
      if (deps.interrupt(session_id)) return
      deps.requireIdle(session_id)
      const folded = sessions.load(session_id)
      const inForce = activeSpans(folded.summaries)
      const summary = n === undefined ? inForce.at(-1) : inForce.find(one => one.n === n)
      if (!summary) throw invalid('There is no summary to undo.', { code: 'no_previous_summary' })
      const before = estimateTokens(folded)
      sessions.append(session_id, [{ t: 'unsummary', summary: summary.n }])
      const now = sessions.load(session_id)
      const clear = { compression_anchor_visible_idx: null, compression_anchor_message_key: null }
      const patch = { ...usageAfter(now, before, estimateTokens(now)), ...clear }
      sessions.append(session_id, [{ t: 'meta', patch }])
      deps.onChange(session_id)
    },

    /** The text the model reads in place of the messages. */
    text(given: string, n: number): string {
      const summary = sessions.load(given).summaries.find(one => one.n === n)
      if (!summary) throw invalid('Summary not found.', { code: 'no_previous_summary' })
      return deps.redact(summary.text)
    },

    /** The summary as a message, in the form API clients expect. */
    reference: (text: string): string => deps.redact(summaryContent(text)),
  }
}

const NO_PROVIDER = 'No provider configured -- cannot compress.'

/** The demo model cannot summarize. */
const requireEndpoint = (
  { endpointOf }: CompressionsOptions,
  home: Home,
  model: string | null,
): ModelEndpoint => {
  try {
    const endpoint = endpointOf(home, model)
    if (endpoint.apiMode === 'demo') throw invalid(NO_PROVIDER, { code: 'provider_missing' })
    return endpoint
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    throw invalid(NO_PROVIDER, { code: 'provider_missing' })
  }
}

/** A manual compaction runs regardless of the context window: the size of the conversation is its threshold. */
const planManual = (
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
