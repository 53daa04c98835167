/** The call of a file edit that a model writes: a fold of its events, in the service and in the page. */

type Call = { message_id: string; index: number }
type Added = Call & { name: string; path?: string | undefined; text: string }

/** `text` is the end of what was written, `lines` counts all of it. */
export type LiveWriting = Added & { lines: number }

const TAIL_CHARS = 4_000

/** The next event belongs to another call, or continues `before`. */
export const addWriting = (before: LiveWriting | undefined, added: Added): LiveWriting => {
  const isSame = before?.message_id === added.message_id && before.index === added.index
  const last = isSame ? before : undefined
  return {
    ...added,
    path: added.path ?? last?.path,
    text: ((last?.text ?? '') + added.text).slice(-TAIL_CHARS),
    lines: (last?.lines ?? 1) + added.text.split('\n').length - 1,
  }
}
