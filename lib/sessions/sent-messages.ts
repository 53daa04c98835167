/** The ids that clients gave to their last messages: a message that is sent again because its reply was lost is not stored twice. Pure. */
import { z } from 'zod'
import type { Meta, MetaPatch } from './entries.ts'

const SentMessage = z.object({ id: z.string(), stream_id: z.string() })

/** A client repeats its messages in order, so only the last ones can come again. */
const MAX_SENT = 100

const sentOf = ({ sent_messages: sent }: Meta): z.infer<typeof SentMessage>[] =>
  Array.isArray(sent) ? sent.flatMap(item => SentMessage.safeParse(item).data ?? []) : []

/** The stream that the message started, an empty text when it was queued; undefined for a message that is not known. */
export const streamOfSent = (meta: Meta, id: string): string | undefined =>
  sentOf(meta).find(sent => sent.id === id)?.stream_id

export const sentPatch = (meta: Meta, id: string, streamId: string): MetaPatch => ({
  sent_messages: [
    ...sentOf(meta).filter(sent => sent.id !== id),
    { id, stream_id: streamId },
  ].slice(-MAX_SENT),
})
