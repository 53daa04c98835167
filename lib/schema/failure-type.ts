/** Why a turn or a request to a provider failed. */
import { z } from 'zod'

/** Types of failure of a turn, also used for provider failures. One more only where the page offers another step. */
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
  /** The provider's content rules refused the request or its answer. */
  'content_refused',
  /** There is a server, but no API at this address. */
  'wrong_address',
  /** Not usable from here: the country, a firewall, a proxy. */
  'blocked',
  /** The server is there, the model is not loaded yet or any more. */
  'not_ready',
  /** The model does not fit into the memory of its server. */
  'model_memory',
  'error',
])
export type FailureType = z.infer<typeof FailureType>
