/** Why a turn or a request to a provider failed. */
import { z } from 'zod'

/** Types of failure of a turn (contract, decision 30), also used for provider failures. */
export const FailureType = z.enum([
  'quota_exhausted',
  'rate_limit',
  'auth_mismatch',
  'model_not_found',
  'context_overflow',
  'network',
  'no_response',
  'interrupted',
  'budget_reached',
  'error',
])
export type FailureType = z.infer<typeof FailureType>
