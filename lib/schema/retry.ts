/** A failed model call that is about to be repeated. */
import { z } from 'zod'
import { Sentences } from './sentence.ts'

/** Why the call failed; clients show their own sentence for it. */
export const RetryReason = z.enum([
  'rate_limit',
  'overloaded',
  'server_error',
  'connection',
  'unreachable',
  'loading',
  'empty',
  'cut',
  'error',
])
export type RetryReason = z.infer<typeof RetryReason>

/** `attempt` calls have failed, of at most `attempts`. The optional fields are absent in events of older versions. */
export const PendingRetry = z
  .object({
    attempt: z.number(),
    attempts: z.number(),
    /** When the call is repeated, by the server's clock, in seconds since 1970. */
    until: z.number(),
    /** The whole delay, in milliseconds. */
    delay_ms: z.number().optional(),
    reason: RetryReason.optional(),
    /** Display name of the provider. */
    provider: z.string().optional(),
    /** The provider's own words. */
    message: z.string(),
    sentences: Sentences.optional(),
  })
  .meta({ id: 'PendingRetry' })
export type PendingRetry = z.infer<typeof PendingRetry>
