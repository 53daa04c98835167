/** The entries of `a, b`, trimmed and not empty. */
export const commaList = (text: string): string[] =>
  text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
