/** Text as a block of code in Markdown, whose fence nothing in the text can end. */
export const codeBlock = (text: string, language = ''): string => {
  const runs = text.match(/`+/g) ?? []
  const fence = '`'.repeat(runs.reduce((longest, { length }) => Math.max(longest, length), 2) + 1)
  return `${fence}${language}\n${text}\n${fence}`
}
