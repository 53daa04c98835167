/** A token of a program that uses the client API, without its secret. */
import { z } from 'zod'

/** `read`: nothing that changes something, and no turns. */
export const TokenScope = z.enum(['read', 'work'])
export type TokenScope = z.infer<typeof TokenScope>

/** `v1`: the formats of OpenAI and Anthropic. `api`: the endpoints of the page. */
export const TokenPath = z.enum(['v1', 'api'])
export type TokenPath = z.infer<typeof TokenPath>

export const ApiToken = z
  .object({
    id: z.string(),
    name: z.string(),
    /** Seconds since 1970. */
    created_at: z.number(),
    /** To the minute; null: never. */
    last_used_at: z.number().nullable(),
    profile: z.string(),
    /** Absolute path; empty: the profile's last workspace. */
    workspace: z.string(),
    /** What needs approval is asked on the page, or denied. */
    approvals: z.enum(['ask', 'deny']),
    /** Whether a turn ends when the program closes its connection. */
    disconnect: z.enum(['stop', 'continue']),
    /** Seconds since 1970, from which on it is refused; null: never. */
    expires_at: z.number().nullable(),
    scope: TokenScope,
    paths: z.array(TokenPath).min(1),
  })
  .meta({ id: 'ApiToken' })
export type ApiToken = z.infer<typeof ApiToken>
