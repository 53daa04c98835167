/**
 * Comments on lines of a diff, as text in a message: for the model, and for the page, which shows them as comments again.
 *
 *     [Comment on src/a.ts, lines 12-13]
 *     > -const a = 1
 *     > +const a = 2
 *
 *     Why?
 *     [End of comment]
 */

/** `removed`: the numbers are those of before the change, because all lines are removed ones. */
export type DiffComment = {
  path: string
  removed: boolean
  from: number
  to: number
  /** The lines as in a diff: each begins with a space, `+`, or `-`. */
  quote: string
  text: string
}

const END = '[End of comment]'
const START = '[Comment on '
/** The text of a comment contains neither the first nor the last line of one, so that each line is read once. */
const BLOCK =
  /^\[Comment on ([^\n]+), (removed )?lines? (\d+)(?:-(\d+))?\]\n((?:> [^\n]*\n)+)\n((?:(?!\[Comment on |\[End of comment\]$)[^\n]*\n)*)\[End of comment\]$/gm

/** A space before lines that look like the first or the last one. */
const toText = (text: string): string =>
  text
    .trim()
    .split('\n')
    .map(line => (line.startsWith(START) || line === END ? ` ${line}` : line))
    .join('\n')

const format = ({ path, removed, from, to, quote, text }: DiffComment): string => {
  const lines = `${removed ? 'removed ' : ''}${from === to ? `line ${from}` : `lines ${from}-${to}`}`
  const quoted = quote.split('\n').map(line => `> ${line}`)
  // A line break in a name would end the first line.
  const name = path.replace(/[\r\n]/g, ' ')
  return [`${START}${name}, ${lines}]`, ...quoted, '', toText(text), END].join('\n')
}

/** The message with the comments below its text. */
export const withComments = (text: string, comments: readonly DiffComment[]): string =>
  [text.trim(), ...comments.map(format)].filter(Boolean).join('\n\n')

/** Separates the comments from the rest of a message. */
export const splitComments = (message: string): { text: string; comments: DiffComment[] } => {
  if (!message.includes(END)) return { text: message, comments: [] }
  const comments: DiffComment[] = []
  const text = message.replace(
    BLOCK,
    (
      _,
      path: string,
      removed: string | undefined,
      from: string,
      to: string | undefined,
      quote: string,
      comment: string,
    ) => {
      comments.push({
        path,
        removed: removed !== undefined,
        from: Number(from),
        to: Number(to ?? from),
        quote: quote.replace(/^> /gm, '').replace(/\n$/, ''),
        text: comment.trim(),
      })
      return ''
    },
  )
  return { text: comments.length > 0 ? text.trim() : message, comments }
}
