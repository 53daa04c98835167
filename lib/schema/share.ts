/** A link to a shared chat, without its secret. */
import { z } from 'zod'

/** What a link shows beside messages, answers and times. */
export const ShareOptions = z.object({
  /** What commands printed and web tools returned. */
  tool_output: z.boolean().default(false),
  /** Pictures that the person sent in the chat. */
  pictures: z.boolean().default(false),
  /** Later messages are shown as well; false: only those that existed when the link was made. */
  live: z.boolean().default(false),
})
export type ShareOptions = z.infer<typeof ShareOptions>

export const Share = ShareOptions.extend({
  id: z.string(),
  session_id: z.string(),
  profile: z.string(),
  /** Of the chat when the link was made. */
  title: z.string(),
  /** Seconds since 1970. */
  created_at: z.number(),
  expires_at: z.number(),
  /** To the minute; null: never. */
  opened_at: z.number().nullable(),
}).meta({ id: 'Share' })
export type Share = z.infer<typeof Share>
