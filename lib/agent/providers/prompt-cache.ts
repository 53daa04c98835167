/** Where a conversation is worth keeping in the provider's prompt cache: behind the system prompt and its newest messages. */
import type { ModelEndpoint } from '../types.ts'

/** A provider takes four marks; one is for the system prompt. */
export const CACHED_MESSAGES = 3

export type CacheControl = { type: 'ephemeral'; ttl?: '1h' }

/** Five minutes is what a mark means when it says nothing. */
export const cacheControl = ({ cacheTtl }: ModelEndpoint): CacheControl =>
  cacheTtl === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' }
