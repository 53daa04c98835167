/** Cache breakpoints of Anthropic's prompt caching: after the system prompt and the newest messages. */
import type { ModelEndpoint } from '../types.ts'

/** The API allows four breakpoints; one is for the system prompt. */
export const CACHED_MESSAGES = 3

export type CacheControl = { type: 'ephemeral'; ttl?: '1h' }

/** Without `ttl` the lifetime is five minutes. */
export const cacheControl = ({ cacheTtl }: ModelEndpoint): CacheControl =>
  cacheTtl === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' }
