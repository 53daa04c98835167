/** Codes and values of sentences, sent beside them so that a page can show them in its own language. */
import { z } from 'zod'

/** A value may be another one of these. The codes are in `lib/base/sentences.ts` and `error-code.ts`. */
export const CodedSentence = z
  .object({ code: z.string(), values: z.record(z.string(), z.unknown()).optional() })
  .meta({ id: 'CodedSentence' })

/** By the name of the field, or of the value, that is the sentence. */
export const Sentences = z.record(z.string(), CodedSentence)
export type Sentences = z.infer<typeof Sentences>
