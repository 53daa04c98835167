/** The message that a draft becomes when it is sent. The page and the server must agree on it. */
import { type DiffComment, withComments } from './comment-text.ts'

type DraftParts = {
  text: string
  files: readonly string[]
  comments?: readonly DiffComment[] | undefined
}

/** The text sent to the agent: attached files are listed below it. */
export const withFiles = (text: string, files: readonly string[]): string =>
  files.length === 0 ? text : `${text}\n\n[Attached files: ${files.join(', ')}]`.trim()

/** The message to send: text, comments, and attached files. */
export const messageOf = ({ text, files, comments = [] }: DraftParts): string =>
  withFiles(withComments(text, comments), files)
