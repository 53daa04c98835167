/** A queued message: sent when the running turn ends, or before its next step when it steers. */
import { z } from 'zod'

export const QueuedId = z.string().min(1).max(64)

export const Queued = z
  .object({
    id: z.string(),
    text: z.string(),
    attachments: z.array(z.string()),
    /** The client's id of the message. */
    client_message_id: z.string().optional(),
    /** When it was queued, in seconds since 1970. */
    at: z.number(),
    /** The running turn reads it before its next step. If the turn ends first, it is sent like the others. */
    steer: z.boolean().optional(),
    /** A member wrote or changed it: its turn has a member's rights. */
    by_member: z.literal(true).optional(),
  })
  .meta({ id: 'Queued' })
export type Queued = z.infer<typeof Queued>
