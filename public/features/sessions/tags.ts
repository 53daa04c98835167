/** Adds and removes tags: the `#words` of titles. */

/** A `#word` of a title, without its `#`, in lower case. */
export const tagsOf = (title: string): string[] => [
  ...new Set(
    [...title.matchAll(/(?<=^|\s)#([\p{L}\p{N}][\p{L}\p{N}_-]*)/gu)].map(match =>
      match[1]!.toLowerCase(),
    ),
  ),
]

/** The server cuts longer titles. */
const MAX_TITLE_CHARS = 80
const TAG = /^[\p{L}\p{N}][\p{L}\p{N}_-]*$/u

/** What was typed as tags: `#Release notes` is `release` and `notes`. Null when a word can't be a tag. */
export const parseTags = (text: string): string[] | null => {
  const words = text
    .split(/[\s,]+/)
    .map(word => word.replace(/^#/, '').toLowerCase())
    .filter(Boolean)
  return words.every(word => TAG.test(word)) ? [...new Set(words)] : null
}

/** With the space before it. Letters, digits, `-`, and `_` have no meaning in a pattern. */
const without = (title: string, tag: string): string => {
  const rest = title
    .replace(new RegExp(`\\s*(?<=^|\\s)#${tag}(?![\\p{L}\\p{N}_-])`, 'giu'), '')
    .trim()
  // A title that is only the tag keeps its word.
  return rest === '' ? tag : rest
}

export type TagChange = { add: readonly string[]; remove: readonly string[] }

/** The title with the tags changed; null when it would be too long. */
export const withTags = (title: string, { add, remove }: TagChange): string | null => {
  const had = tagsOf(title)
  const old = remove.filter(tag => had.includes(tag))
  const fresh = add.filter(tag => !had.includes(tag))
  if (old.length + fresh.length === 0) return title
  const base = old.reduce(without, title)
  const next = [base, ...fresh.map(tag => `#${tag}`)].join(' ')
  return [...next].length > MAX_TITLE_CHARS ? null : next
}
