/** Recognizes frequent mistakes in quotations: what the quotation has that the file lacks. */
import type { Source } from './patch-match.ts'

type Mistake = { sentence: string; correct: (text: string) => string }

const HTML: Readonly<Record<string, string>> = {
  '&quot;': '"',
  '&#39;': "'",
  '&apos;': "'",
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
}

const MISTAKES: readonly Mistake[] = [
  {
    sentence: 'The quotation has the line numbers of read_file. Quote only what follows the "|".',
    correct: text => text.replace(/^ *\d+\|/gm, ''),
  },
  {
    sentence: 'The quotation has a backslash before quotation marks where the file has none.',
    correct: text => text.replace(/\\(["'`])/g, '$1'),
  },
  {
    sentence:
      'The quotation has backslashes (\\n, \\t, \\") where the file has the characters themselves.',
    correct: text =>
      text.replace(/\\([nt"'`\\])/g, (_, char: string) => ({ n: '\n', t: '\t' })[char] ?? char),
  },
  {
    sentence: 'The quotation has HTML entities (&lt;, &quot;) where the file has the characters.',
    correct: text => text.replace(/&(?:quot|#39|apos|lt|gt|amp);/g, entity => HTML[entity] ?? ''),
  },
  {
    sentence: 'The quotation has a Markdown fence (```) around the text.',
    correct: text => text.replace(/^\s*```[^\n]*\n/, '').replace(/\n\s*```\s*$/, ''),
  },
  {
    sentence: 'The quotation has diff marks (+, -) at the start of its lines.',
    correct: text => text.replace(/^[-+ ]/gm, ''),
  },
]

/** Lines that replace others in examples. */
const ELLIPSIS = /^\s*(?:#|\/\/|\/\*|<!--)?\s*(?:\.{3}|…)[^"'()]*$/m

/** What to correct, and the corrected quotation; null if no such mistake explains the miss. */
export const findMistake = (
  { plain }: Source,
  quoted: string,
): { sentence: string; corrected: string } | null => {
  for (const { sentence, correct } of MISTAKES) {
    const corrected = correct(quoted)
    if (corrected === quoted || corrected.trim() === '') continue
    if (plain.includes(corrected.trim())) return { sentence, corrected }
  }
  return ELLIPSIS.test(quoted) && quoted.trim().includes('\n')
    ? {
        sentence: 'The quotation leaves lines out ("..."). Quote every line.',
        corrected: quoted,
      }
    : null
}
