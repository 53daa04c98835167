/** What can go wrong with a model call: what the user is told, and whether repeating the call helps. */
import { type Sentence, sentence } from '../base/sentences.ts'
import type { FailureType } from '../schema/failure-type.ts'

/**
 * How often a call is repeated: `few` for an error that may be gone at once, `busy` for a server with too much to do, `rate`
 * until a limit per minute has passed, `loading` while a server reads a large model from its disk, `once` when a repeat
 * costs the whole prompt again.
 */
export type Repeats = 'none' | 'once' | 'few' | 'busy' | 'rate' | 'loading'

type Kind = {
  type: FailureType
  repeats: Repeats
  /** One sentence about what the user can do; absent when the message says it all. */
  advice?: Sentence
}

const CHECK_CONNECTION = sentence('advice.connection')
const PROVIDER_TROUBLE = sentence('advice.provider')

export const KINDS = {
  no_credit: {
    type: 'quota_exhausted',
    repeats: 'none',
    advice: sentence('advice.no_credit'),
  },
  spending_limit: {
    type: 'quota_exhausted',
    repeats: 'none',
    advice: sentence('advice.spending_limit'),
  },
  rate_limit: {
    type: 'rate_limit',
    repeats: 'rate',
    advice: sentence('advice.rate_limit'),
  },
  auth: {
    type: 'auth_mismatch',
    repeats: 'none',
    advice: sentence('advice.auth'),
  },
  unknown_model: {
    type: 'model_not_found',
    repeats: 'none',
    advice: sentence('advice.unknown_model'),
  },
  wrong_address: {
    type: 'wrong_address',
    repeats: 'none',
    advice: sentence('advice.wrong_address'),
  },
  overflow: {
    type: 'context_overflow',
    repeats: 'none',
    advice: sentence('advice.overflow'),
  },
  content_refused: {
    type: 'content_refused',
    repeats: 'none',
    advice: sentence('advice.content_refused'),
  },
  region: {
    type: 'blocked',
    repeats: 'none',
    advice: sentence('advice.region'),
  },
  blocked: {
    type: 'blocked',
    repeats: 'none',
    advice: sentence('advice.blocked'),
  },
  memory: {
    type: 'model_memory',
    repeats: 'none',
    advice: sentence('advice.memory'),
  },
  unloaded: {
    type: 'not_ready',
    repeats: 'few',
    advice: sentence('advice.unloaded'),
  },
  loading: {
    type: 'not_ready',
    repeats: 'loading',
    advice: sentence('advice.loading'),
  },
  connection: { type: 'network', repeats: 'busy', advice: CHECK_CONNECTION },
  unreachable: { type: 'network', repeats: 'few', advice: CHECK_CONNECTION },
  /** Ended while a local server still worked on the prompt: a repeat begins with the whole prompt again. */
  cut_while_working: {
    type: 'network',
    repeats: 'once',
    advice: sentence('advice.cut_while_working'),
  },
  server_error: { type: 'network', repeats: 'few', advice: PROVIDER_TROUBLE },
  overloaded: { type: 'network', repeats: 'busy', advice: PROVIDER_TROUBLE },
  no_response: {
    type: 'no_response',
    repeats: 'few',
    advice: sentence('advice.no_response'),
  },
  /** Reasoning, and nothing after it. */
  only_thought: {
    type: 'no_response',
    repeats: 'once',
    advice: sentence('advice.only_thought'),
  },
  budget: {
    type: 'budget_reached',
    repeats: 'none',
    advice: sentence('advice.budget'),
  },
  interrupted: { type: 'interrupted', repeats: 'none' },
  /** The model wrote a call that the server could not read: the next one may be right. */
  unparsed_call: { type: 'error', repeats: 'busy' },
  /** Unknown, and without a status that says the request is to blame. */
  odd: { type: 'error', repeats: 'busy' },
  refused_request: { type: 'error', repeats: 'none' },
} as const satisfies Record<string, Kind>

export type FailureKind = keyof typeof KINDS

export const adviceOf = (kind: FailureKind): Sentence | undefined => {
  const { advice }: Kind = KINDS[kind]
  return advice
}

/** The kind of a failure that is known by its type only. */
export const KIND_OF_TYPE: Readonly<Record<FailureType, FailureKind>> = {
  quota_exhausted: 'no_credit',
  rate_limit: 'rate_limit',
  auth_mismatch: 'auth',
  model_not_found: 'unknown_model',
  context_overflow: 'overflow',
  network: 'connection',
  no_response: 'no_response',
  interrupted: 'interrupted',
  budget_reached: 'budget',
  content_refused: 'content_refused',
  wrong_address: 'wrong_address',
  blocked: 'blocked',
  not_ready: 'loading',
  model_memory: 'memory',
  error: 'refused_request',
}
