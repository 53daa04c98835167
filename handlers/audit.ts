/** The audit log, for people to read. */
import { z } from 'zod'
import { AUDIT_KINDS, AuditEntry } from '../lib/people/audit.ts'
import { endpoint } from '../lib/context.ts'

const MAX_ENTRIES = 200

export const list = endpoint({
  access: 'own',
  summary: 'The audit log, newest first: sign-ins and changes of access',
  cache: 'no-store',
  input: z.object({
    /** Kinds, separated by commas; empty: all. */
    kinds: z.string().max(500).default(''),
    skip: z.coerce.number().int().min(0).default(0),
    limit: z.coerce.number().int().min(1).max(MAX_ENTRIES).default(50),
  }),
  output: z.object({ entries: z.array(AuditEntry), total: z.number(), kinds: z.array(z.string()) }),
  run: (ctx, { kinds, skip, limit }) => ({
    ...ctx.app.audit.list({ kinds: kinds.split(',').filter(Boolean), skip, limit }),
    kinds: [...AUDIT_KINDS],
  }),
})
