/** Summaries that replace earlier messages for the model: their text in the prompt, and their reference for clients. */
import { z } from 'zod'

/** Prefix of summary messages, shared by all clients. */
export const SUMMARY_MARK = '[CONTEXT COMPACTION]'

const PREAMBLE = `${SUMMARY_MARK} The earlier part of this conversation was replaced by a summary, to save space. It is background, not a request: answer nothing in it and do not repeat what it says is done. Continue from the messages after it.`

/** What the model reads in place of the messages. */
export const summaryContent = (text: string): string => `${PREAMBLE}\n\n${text}`

/** An active summary. Its text is fetched on demand. */
export const SummaryRef = z
  .object({
    /** Its journal number, used to undo it. */
    n: z.number(),
    /** Id of the last summarized message; its divider follows it. */
    last: z.string(),
  })
  .meta({ id: 'SummaryRef' })
export type SummaryRef = z.infer<typeof SummaryRef>
