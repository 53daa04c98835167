/** A chat or skill that a message can name. */
import { z } from 'zod'

export const Mention = z
  .object({
    kind: z.enum(['chat', 'skill']),
    /** The session id, or the name of the skill. */
    id: z.string(),
    name: z.string(),
    /** Offsets of the matched characters in the name: start and end in turn. */
    ranges: z.array(z.number()),
    /** Of a chat. */
    updated_at: z.number().optional(),
    /** Of a skill. */
    description: z.string().optional(),
  })
  .meta({ id: 'Mention' })
export type Mention = z.infer<typeof Mention>
