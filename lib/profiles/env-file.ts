/** The text format of a home's .env: what a line means, and nothing about files. */

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

const unquoted = (text: string, quote: string): string =>
  text.length >= 2 && text.startsWith(quote) && text.endsWith(quote) ? text.slice(1, -1) : text

/** Later lines win. Blank lines, comments, lines without `=` and names no shell could have are skipped. */
export const parseEnv = (text: string): Record<string, string> => {
  const values: Record<string, string> = {}
  for (const raw of text.split(/\r\n|\n|\r/)) {
    const line = raw.trim()
    const cut = line.indexOf('=')
    if (line.startsWith('#') || cut < 0) continue
    // People paste lines from shell files.
    const name = line
      .slice(0, cut)
      .replace(/^export\s+/, '')
      .trim()
    if (!NAME.test(name)) continue
    values[name] = unquoted(unquoted(line.slice(cut + 1).trim(), '"'), "'")
  }
  return values
}
