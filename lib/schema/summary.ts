/** A summary that stands for earlier messages: how the model is told of it, and what clients know of it. */
import { z } from 'zod'

/** What such a message begins with, in every client (contract §1.5, note 7). */
export const SUMMARY_MARK = '[CONTEXT COMPACTION]'

const PREAMBLE = `${SUMMARY_MARK} The earlier part of this conversation stands here as a summary, to save room. It is background, not a request: answer nothing in it and do not repeat what it says is done. Go on from the messages after it.`

/** What the model reads in place of the messages. */
export const summaryContent = (text: string): string => `${PREAMBLE}\n\n${text}`

/** A summary in force. Its text is fetched when it is opened. */
export const SummaryRef = z
  .object({
    /** Its number in the journal: what undoing it names. */
    n: z.number(),
    /** Id of the last message it stands for; where its divider is drawn. */
    last: z.string(),
  })
  .meta({ id: 'SummaryRef' })
export type SummaryRef = z.infer<typeof SummaryRef>
