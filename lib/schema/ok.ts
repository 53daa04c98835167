/** The shared `{ ok: true }`; an inline literal would be widened to boolean. */
import { z } from 'zod'

export const Ok = z.object({ ok: z.literal(true) })
export const ok: z.infer<typeof Ok> = { ok: true }
