/** The shared `{ ok: true }`: a literal written inline would widen to boolean. */
import { z } from 'zod'

export const Ok = z.object({ ok: z.literal(true) })
export const ok: z.infer<typeof Ok> = { ok: true }
