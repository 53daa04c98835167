import { withMarks } from './t.ts'

/** Sentences in a row; after the full stop of Chinese and Japanese there is no space. */
export const joinSentences = (...sentences: readonly (string | false | undefined)[]): string =>
  withMarks(
    sentences
      .filter(Boolean)
      .join(' ')
      .replace(/(?<=[。！？]) /g, ''),
  )
