/** The text of a message without what was attached to it. */

/** The text as the user wrote it. */
export const withoutFiles = (text: string): string =>
  text.replace(/(?:^|\s*\n)\[Attached files: [^\n]*\]$/, '')
