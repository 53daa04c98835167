/** Unified diffs of edits: for the result of a call, and for the approval before it. */
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff'

const MAX_DIFF_CHARS = 50_000
const DIFF_MS = 500

/** `name` is the shown path. Null: the file does not exist. */
export const diffOfFile = (
  name: string,
  before: string | null,
  after: string | null,
  timeout = DIFF_MS,
): string => {
  const diff = createTwoFilesPatch(
    before === null ? '/dev/null' : `a/${name}`,
    after === null ? '/dev/null' : `b/${name}`,
    before ?? '',
    after ?? '',
    undefined,
    undefined,
    { context: 3, timeout, headerOptions: FILE_HEADERS_ONLY },
  )
  return diff === undefined ? `--- a/${name}\n+++ b/${name}\n(too many changes to show)\n` : diff
}

export const clipDiff = (diff: string): string =>
  diff.length > MAX_DIFF_CHARS ? `${diff.slice(0, MAX_DIFF_CHARS)}\n[… cut …]\n` : diff

/** For a card, which shows lines that begin with a backslash as notes. */
export const diffToApprove = (diff: string): string => {
  if (/^\(too many changes to show\)$/m.test(diff))
    return `${diff}\\ The change is too large to be shown.\n`
  if (diff.length <= MAX_DIFF_CHARS) return diff
  const start = diff.slice(0, diff.lastIndexOf('\n', MAX_DIFF_CHARS) + 1)
  const more = diff.slice(start.length).split('\n').length - 1
  return `${start}\\ ${more} more lines of this change are not shown.\n`
}
