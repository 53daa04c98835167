/** Compaction of a session: the settings of its home, manual compaction, and recording and undoing summaries. */
import { oneLine } from '../../base/shorten.ts'
import { type Compression, compress } from '../../agent/compress.ts'
import {
  type CompressionSettings,
  planCompression,
  thresholdOf,
} from '../../agent/compress-plan.ts'
import { estimateAllTokens } from '../../agent/tokens.ts'
import type { LoopMessage, ModelEndpoint } from '../../agent/types.ts'
import { redact } from '../../base/redact/redact.ts'
import { conflict, invalid, messageOf, UserError, unavailable } from '../../errors.ts'
import type { Hub } from '../../http/hub.ts'
import type { ProfileConfig } from '../../profiles/config.ts'
import type { ModelServices } from '../../models/models.ts'
import type { Home } from '../../profiles/home.ts'
import type { Homes } from '../../profiles/homes.ts'
import { type SummaryRef, summaryContent } from '../../schema/summary.ts'
import type { Usage } from '../../schema/usage.ts'
import type { Folded } from '../../sessions/fold.ts'
import { activeSpans } from '../../sessions/fold.ts'
import { toConversation } from '../../sessions/history.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { addToTotals, type Totals } from '../../sessions/usage.ts'
import { compressingEvent } from '../to-stream-event.ts'
import type { Turns } from '../turns.ts'
import type { Auxiliary, AuxiliaryModels } from './auxiliary-model.ts'
import type { TurnSources } from './services.ts'

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

export type CompressionResult = {
  session_id: string
  messages: [before: number, after: number]
  tokens: [before: number, after: number]
  text: string
  topic: string
}

const STREAMING = 'Session is still streaming; wait for the current turn to finish.'
const NO_PROVIDER = 'No provider configured -- cannot compress.'
const MIN_MESSAGES = 4
const TOO_LITTLE = `Not enough conversation to compress (need at least ${MIN_MESSAGES} messages).`

type SummarySpan = { first: string | null; last: string | null; text: string }

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
      text: redact(oneLine(text)).slice(0, 160),
      attachments: message.attachments?.length ?? 0,
    },
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

/** Compaction of all sessions. */
export class Compressions {
  readonly #sessions: Sessions
  readonly #homes: Homes
  readonly #models: ModelServices
  readonly #auxiliary: AuxiliaryModels
  readonly #hub: Hub
  readonly #turns: () => Turns
  /** Until when compaction of a session is not retried, in milliseconds. */
  readonly #cooldowns = new Map<string, number>()

  constructor(
    { sessions, homes, hub }: TurnSources,
    models: ModelServices,
    auxiliary: AuxiliaryModels,
    turns: () => Turns,
  ) {
    this.#sessions = sessions
    this.#homes = homes
    this.#models = models
    this.#auxiliary = auxiliary
    this.#hub = hub
    this.#turns = turns
  }

  /** For a turn; `own` is the model that answers it. */
  forTurn(sessionId: string, home: Home, own: ModelEndpoint | UserError): Compression {
    let model: Auxiliary | null = null
    // Looked up on first use: most turns never compact.
    const auxiliary = () => {
      model ??= this.#auxiliary.for('compression', home, own)
      return model
    }
    const models = this.#models
    const cooldowns = this.#cooldowns
    return {
      settings: compressionSettings(home.config()),
      callModel: (messages, options) => auxiliary().ask(messages, { ...options, retry: true }),
      get window() {
        return models.windows.apply(auxiliary().endpoint).contextLength
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

  /** Appends a summary; null when the messages it covers are not in the transcript. */
  record(sessionId: string, { first, last, text }: SummarySpan): SummaryRef | null {
    const { messages, numbers } = this.#sessions.load(sessionId)
    const numberOf = (id: string | null) => numbers[messages.findIndex(one => one.id === id)]
    const [from, to] = [numberOf(first), numberOf(last)]
    if (from === undefined || to === undefined || last === null || to < from) return null
    const [entry] = this.#sessions.append(sessionId, [{ t: 'summary', from, to, last, text }])
    return entry ? { n: entry.n, last } : null
  }

  /** Manual compaction. Aborting `signal` leaves the session unchanged. */
  async compress(session: string, topic: string, signal: AbortSignal): Promise<CompressionResult> {
    const { session_id, active_stream_id } = this.#sessions.require(session)
    if (active_stream_id) throw conflict(STREAMING, { code: 'session_busy', active_stream_id })
    return this.#turns().runExclusive(session_id, async ending => {
      this.#hub.publish(`session:${session_id}`, compressingEvent)
      const stop = AbortSignal.any([signal, ending])
      try {
        return await this.#compressNow(session_id, topic, stop)
      } catch (error) {
        if (!stop.aborted) throw error
        throw unavailable('Compaction canceled. Nothing has changed.', {
          code: 'compaction_canceled',
        })
      } finally {
        this.#reload(session_id)
      }
    })
  }

  /** Removes a summary: the model reads the messages again, or an older summary. Aborts a running compaction. */
  undo(session: string, n: number | undefined): void {
    const { session_id } = this.#sessions.require(session)
    if (this.#turns().interrupt(session_id)) return
    this.#turns().requireIdle(session_id)
    const folded = this.#sessions.load(session_id)
    const inForce = activeSpans(folded.summaries)
    const summary = n === undefined ? inForce.at(-1) : inForce.find(one => one.n === n)
    if (!summary) throw invalid('There is no summary to undo.', { code: 'no_previous_summary' })
    const before = estimateTokens(folded)
    this.#sessions.append(session_id, [{ t: 'unsummary', summary: summary.n }])
    const now = this.#sessions.load(session_id)
    const clear = { compression_anchor_visible_idx: null, compression_anchor_message_key: null }
    const patch = { ...usageAfter(now, before, estimateTokens(now)), ...clear }
    this.#sessions.append(session_id, [{ t: 'meta', patch }])
    this.#reload(session_id)
  }

  /** The text the model reads in place of the messages. */
  text(sessionId: string, n: number): string {
    const summary = this.#sessions.load(sessionId).summaries.find(one => one.n === n)
    if (!summary) throw invalid('Summary not found.', { code: 'no_previous_summary' })
    return redact(summary.text)
  }

  /** The summary as a message, in the form API clients expect. */
  reference(text: string): string {
    return redact(summaryContent(text))
  }

  /** The transcript changed: pages reload the session. */
  #reload(sessionId: string): void {
    this.#hub.publish(`session:${sessionId}`, { type: 'reset', data: {} })
  }

  /** Summarizes the session and records the summary with its usage. */
  async #compressNow(
    sessionId: string,
    topic: string,
    signal: AbortSignal,
  ): Promise<CompressionResult> {
    const row = this.#sessions.require(sessionId)
    const home = this.#homes.of(row.profile)
    await this.#models.ready(home)
    const messages = toConversation(this.#sessions.load(sessionId))
    if (messages.length < MIN_MESSAGES) throw invalid(TOO_LITTLE, { code: 'too_little_to_compact' })
    const endpoint = this.#requireEndpoint(home, row.model)
    const engine = this.forTurn(sessionId, home, endpoint)
    const before = estimateAllTokens(messages)
    const plan = planManual(messages, engine.settings, endpoint, before)
    if (!plan) throw invalid(TOO_LITTLE, { code: 'too_little_to_compact' })
    const usages: Usage[] = []
    const result = await compress(messages, plan, {
      ...engine,
      window: engine.window,
      signal,
      focus: topic,
      onUsage: usage => usages.push(usage),
    }).catch((error: unknown) => {
      signal.throwIfAborted()
      const reason = redact(messageOf(error))
      throw invalid(`Compression failed: ${reason}`, {
        code: 'compaction_failed',
        values: { reason },
      })
    })
    // Aborted in the tick of the response: nothing is written.
    signal.throwIfAborted()
    if (!this.record(sessionId, result))
      throw conflict('The chat changed in the meantime. Try again.', { code: 'session_changed' })
    const now = this.#sessions.load(sessionId)
    const patch = {
      ...(usages.length > 0 && usages.reduce<Totals>(addToTotals, row)),
      ...usageAfter(now, result.beforeTokens, result.afterTokens),
      ...anchorOf(now),
    }
    this.#sessions.append(sessionId, [{ t: 'meta', patch }])
    return {
      session_id: sessionId,
      messages: [messages.length, result.messages.length],
      tokens: [before, result.afterTokens],
      text: result.text,
      topic,
    }
  }

  /** The demo model cannot summarize. */
  #requireEndpoint(home: Home, model: string | null): ModelEndpoint {
    try {
      const endpoint = this.#models.endpoint(home, this.#models.compatible(home, model).model)
      if (endpoint.apiMode === 'demo') throw invalid(NO_PROVIDER, { code: 'provider_missing' })
      return endpoint
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      throw invalid(NO_PROVIDER, { code: 'provider_missing' })
    }
  }
}
