/** The smallest real call of a model: does this key, at this address, with this model, answer? */
import type { ModelEndpoint, Providers } from '../agent/types.ts'
import { messageOf, UserError } from '../errors.ts'
import { FailureType } from '../schema/event.ts'

export type TestCallResult = {
  ok: boolean
  provider: string
  model: string
  /** How long the first sign of life took. */
  duration_ms: number
  /** A sentence in both cases. */
  message: string
  error?: string
  /** The kind of failure, in the words of the error cards. */
  type?: string
  hint?: string
}

export type TestCallOptions = {
  providers: Providers
  hintFor: (type: FailureType) => string | undefined
  timeoutMs?: number
}

const TIMEOUT_MS = 30_000
/** Models that think first need room before they say a word. */
const MAX_TOKENS = 64

/** Which of a provider's models to try when nobody says: a small one answers fast and costs next to nothing. */
export const smallestModel = (ids: readonly string[]): string =>
  ids.find(id => /(?:mini|nano|haiku|flash|lite|small|free|turbo)\b/i.test(id)) ?? ids[0] ?? ''

const inWords = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`)

export const createTestCall =
  ({ providers, hintFor, timeoutMs = TIMEOUT_MS }: TestCallOptions) =>
  /** `endpoint` throws the sentence why it cannot be called at all. Never rejects for what the provider does. */
  async (
    asked: { provider: string; model: string },
    endpoint: () => ModelEndpoint,
    signal: AbortSignal,
  ): Promise<TestCallResult> => {
    const startedMs = performance.now()
    const took = () => Math.round(performance.now() - startedMs)
    const failed = (message: string, type: FailureType = 'error'): TestCallResult => {
      const hint = hintFor(type)
      const said = { message, error: message, type, ...(hint ? { hint } : {}) }
      return { ok: false, ...asked, duration_ms: took(), ...said }
    }
    const enough = new AbortController()
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      const target = endpoint()
      const provide = providers[target.apiMode]
      if (!provide)
        return failed('This one answers whole turns only and cannot be tried by itself.')
      const stream = provide({
        endpoint: { ...target, maxTokens: MAX_TOKENS, effort: 'none' },
        messages: [{ role: 'user', content: 'Reply with the single word OK.' }],
        tools: [],
        signal: AbortSignal.any([signal, timeout, enough.signal]),
        workspace: '/',
      })
      for await (const delta of stream) if (delta.type !== 'usage') break
      const { provider, model } = target
      const duration_ms = took()
      const message = `${model} answered in ${inWords(duration_ms)}.`
      return { ok: true, provider, model, duration_ms, message }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      if (error instanceof UserError) return failed(error.message)
      if (timeout.aborted)
        return failed(`No answer within ${Math.round(timeoutMs / 1_000)} seconds.`, 'network')
      const type = FailureType.safeParse(error instanceof Error && 'type' in error && error.type)
      // A provider throws failures of ours only: anything else is a mistake and goes up.
      if (!type.success) throw error
      return failed(messageOf(error), type.data)
    } finally {
      enough.abort()
    }
  }
