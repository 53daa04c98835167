/** What can go wrong with a model call: what the user is told, and whether repeating the call helps. */
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
  advice?: string
}

const CHECK_CONNECTION = 'Check the provider’s address and your connection, then send again.'
const PROVIDER_TROUBLE = 'The provider has a problem. Send again later, or choose another model.'

export const KINDS = {
  no_credit: {
    type: 'quota_exhausted',
    repeats: 'none',
    advice:
      'Your account with this provider has no credit left. Top it up, or choose another model.',
  },
  spending_limit: {
    type: 'quota_exhausted',
    repeats: 'none',
    advice:
      'A limit of your account with this provider is used up. Raise it there, or choose another model.',
  },
  rate_limit: {
    type: 'rate_limit',
    repeats: 'rate',
    advice: 'Wait a moment and send again, or choose another model.',
  },
  auth: {
    type: 'auth_mismatch',
    repeats: 'none',
    advice:
      'Check that the key in the agent home’s .env belongs to this provider and can use this model.',
  },
  unknown_model: {
    type: 'model_not_found',
    repeats: 'none',
    advice: 'Check the model’s name, or choose one from the list.',
  },
  wrong_address: {
    type: 'wrong_address',
    repeats: 'none',
    advice: 'Check the provider’s address (base_url). For most servers it ends in /v1.',
  },
  overflow: {
    type: 'context_overflow',
    repeats: 'none',
    advice: 'Compact the chat, start a new one, or choose a model with a larger context window.',
  },
  content_refused: {
    type: 'content_refused',
    repeats: 'none',
    advice:
      'The content rules of this provider are the reason. Say it in another way, or choose another model.',
  },
  region: {
    type: 'blocked',
    repeats: 'none',
    advice: 'This provider does not serve the country this server is in. Choose another model.',
  },
  blocked: {
    type: 'blocked',
    repeats: 'none',
    advice:
      'The key is not the reason: a firewall, a proxy, or Cloudflare refused the request. Allow this server there, or choose another model.',
  },
  memory: {
    type: 'model_memory',
    repeats: 'none',
    advice:
      'Choose a smaller model or a smaller context window, or free memory on the model’s server.',
  },
  unloaded: {
    type: 'not_ready',
    repeats: 'few',
    advice: 'Load the model on its server, then send again. The server’s log says why it stopped.',
  },
  loading: {
    type: 'not_ready',
    repeats: 'loading',
    advice: 'The model’s server is still loading it. Send again when it is ready.',
  },
  connection: { type: 'network', repeats: 'busy', advice: CHECK_CONNECTION },
  unreachable: { type: 'network', repeats: 'few', advice: CHECK_CONNECTION },
  /** Ended while a local server still worked on the prompt: a repeat begins with the whole prompt again. */
  cut_while_working: {
    type: 'network',
    repeats: 'once',
    advice:
      'The model was still reading the conversation. If a proxy is in front of its server, raise the proxy’s time limit.',
  },
  server_error: { type: 'network', repeats: 'few', advice: PROVIDER_TROUBLE },
  overloaded: { type: 'network', repeats: 'busy', advice: PROVIDER_TROUBLE },
  no_response: {
    type: 'no_response',
    repeats: 'few',
    advice: 'Check that this key can use the model, or choose another one.',
  },
  /** Reasoning, and nothing after it. */
  only_thought: {
    type: 'no_response',
    repeats: 'once',
    advice:
      'Raise the model’s output limit (max_tokens) or lower its reasoning effort. On a server of your own, check its reasoning parser.',
  },
  budget: {
    type: 'budget_reached',
    repeats: 'none',
    advice: 'Raise or remove the budget in Settings → Budgets, then send again.',
  },
  interrupted: { type: 'interrupted', repeats: 'none' },
  /** The model wrote a call that the server could not read: the next one may be right. */
  unparsed_call: { type: 'error', repeats: 'busy' },
  /** Unknown, and without a status that says the request is to blame. */
  odd: { type: 'error', repeats: 'busy' },
  refused_request: { type: 'error', repeats: 'none' },
} as const satisfies Record<string, Kind>

export type FailureKind = keyof typeof KINDS

export const adviceOf = (kind: FailureKind): string | undefined => {
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
