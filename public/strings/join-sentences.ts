/** Sentences in a row. */
import { withMarks } from './t.ts'

/** After the full stop of Chinese and Japanese there is no space. */
export const joinSentences = (...sentences: readonly (string | false | undefined)[]): string =>
  withMarks(
    sentences
      .filter(Boolean)
      .join(' ')
      .replace(/(?<=[。！？]) /g, ''),
  )
