/** The undone file changes in a session's record: the next message reports them to the model. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Meta, MetaPatch } from './entries.ts'

const UndoneChange = z.object({
  /** The checkpoint of the undo, and the one it restored. */
  checkpoint: z.string(),
  undo_of: z.string(),
  /** Relative to the workspace, or absolute for a file outside it. */
  paths: z.array(z.string()),
  /** Only parts of the file. */
  partial: z.boolean(),
  /** Changes that had been undone were brought back. */
  redone: z.boolean(),
  /** The user message that reported it to the model; absent: none has yet. */
  message_id: z.string().optional(),
})
export type UndoneChange = z.infer<typeof UndoneChange>

const MAX_UNDONE = 50

const undoneOf = ({ undone }: Meta): UndoneChange[] =>
  Array.isArray(undone) ? undone.flatMap(item => UndoneChange.safeParse(item).data ?? []) : []

const patch = (list: readonly UndoneChange[]): MetaPatch => ({
  undone: list.length > 0 ? list.slice(-MAX_UNDONE) : null,
})

/** Adds a change. Bringing back what the model does not know to be undone removes that instead. */
export const undonePatch = (meta: Meta, change: UndoneChange): MetaPatch => {
  const list = undoneOf(meta)
  const cancels = ({ checkpoint, paths, message_id }: UndoneChange): boolean =>
    checkpoint === change.undo_of &&
    message_id === undefined &&
    paths.every(path => change.paths.includes(path))
  const rest = list.filter(each => !cancels(each))
  return patch(rest.length < list.length ? rest : [...list, change])
}

/**
 * The change as it turned out: only these paths were restored. Undefined when the list is no longer the one that was
 * written before the files were changed: a message has reported it, and reading a file once more does no harm.
 */
export const correctedPatch = (
  meta: Meta,
  { before, patch: savedPatch, change }: { before: Meta; patch: MetaPatch; change: UndoneChange },
  restored: readonly string[],
): MetaPatch | undefined => {
  if (!isDeepStrictEqual(patch(undoneOf(meta)), savedPatch)) return undefined
  return restored.length === 0
    ? patch(undoneOf(before))
    : undonePatch(before, { ...change, paths: [...restored] })
}

/** What no message has reported to the model: not yet, or in a message that was deleted since. */
export const unreportedOf = (meta: Meta, hasMessage: (id: string) => boolean): UndoneChange[] =>
  undoneOf(meta).filter(({ message_id: id }) => id === undefined || !hasMessage(id))

/** This message reports these changes. */
export const reportedPatch = (
  meta: Meta,
  reported: readonly UndoneChange[],
  messageId: string,
): MetaPatch => {
  const ids = new Set(reported.map(({ checkpoint }) => checkpoint))
  return patch(
    undoneOf(meta).map(each =>
      ids.has(each.checkpoint) ? { ...each, message_id: messageId } : each,
    ),
  )
}
