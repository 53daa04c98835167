/** A minimal model call that checks key, address and model. */
import { toSeconds } from '../base/clock.ts'
import { hintFor } from '../agent/failure.ts'
import { sentence, withCodes, type Words } from '../base/sentences.ts'
import type { ProviderTestResult } from '../schema/provider.ts'
import type { ModelEndpoint, Providers } from '../agent/types.ts'
import { asObject } from '../base/json.ts'
import { UserError, wordsOf } from '../errors.ts'
import { FailureType } from '../schema/failure-type.ts'

const TIMEOUT_MS = 30_000
/** Reasoning models spend tokens before the first word. */
const MAX_TOKENS = 64

/** The model to test by default: a small one is fast and cheap. */
export const smallestModel = (ids: readonly string[]): string =>
  ids.find(id => /(?:mini|nano|haiku|flash|lite|small|free|turbo)\b/i.test(id)) ?? ids[0] ?? ''

const inWords = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${toSeconds(ms).toFixed(1)} s`)

/** `endpoint` may throw a UserError. Provider failures are part of the result; it does not reject for them. */
export const testCall = async (
  providers: Providers,
  requested: { provider: string; model: string },
  endpoint: () => ModelEndpoint,
  signal: AbortSignal,
): Promise<ProviderTestResult> => {
  const startedMs = performance.now()
  const took = () => Math.round(performance.now() - startedMs)
  const failed = (
    message: Words,
    type: FailureType = 'error',
    hint: Words | undefined = hintFor(type),
  ): ProviderTestResult => {
    const details = withCodes({ message, error: `${message}`, type, ...(hint && { hint }) })
    return { ok: false, ...requested, duration_ms: took(), ...details }
  }
  const enough = new AbortController()
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const target = endpoint()
    const provide = providers[target.apiMode]
    if (!provide) return failed('External agents can’t be tested with a single call.')
    const stream = await provide({
      endpoint: { ...target, maxTokens: MAX_TOKENS, effort: 'none' },
      messages: [{ role: 'user', content: 'Reply with the single word OK.' }],
      tools: [],
      isConnectionTest: true,
      signal: AbortSignal.any([signal, timeout, enough.signal]),
      workspace: '/',
    })
    for await (const delta of stream) if (delta.type !== 'usage') break
    const { provider, model } = target
    const duration_ms = took()
    const message = sentence('test.responded', { model, duration: inWords(duration_ms) })
    return withCodes({ ok: true, provider, model, duration_ms, message })
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof UserError) return failed(wordsOf(error))
    if (timeout.aborted)
      return failed(
        sentence('test.timeout', { seconds: Math.round(toSeconds(TIMEOUT_MS)) }),
        'network',
      )
    const type = FailureType.safeParse(error instanceof Error && 'type' in error && error.type)
    // Providers throw `ProviderFailure` only; anything else is a bug.
    if (!type.success) throw error
    return failed(wordsOf(error), type.data, asObject(error).hint as Words | undefined)
  } finally {
    enough.abort()
  }
}
