/** File changes of turns (checkpoints): list, diff and restore. */
import { z } from 'zod'
import { redact } from '../lib/base/redact/redact.ts'
import { toCheckpoint } from '../lib/workspaces/checkpoints/to-checkpoint.ts'
import { endpoint, mayChangeIn } from '../lib/context.ts'
import {
  Checkpoint,
  CheckpointDiff,
  PastFile,
  PastFiles,
  Restored,
} from '../lib/schema/checkpoint.ts'
import { SessionId } from '../lib/schema/ids.ts'
import type { Meta, MetaPatch } from '../lib/sessions/entries.ts'
import type { Sessions } from '../lib/sessions/sessions.ts'
import { correctedPatch, type UndoneChange, undonePatch } from '../lib/sessions/undone.ts'

const OneSession = z.object({ session_id: SessionId })
const CheckpointId = z.string().regex(/^[0-9a-f]{16,64}$/, 'Invalid checkpoint')

export const list = endpoint({
  access: 'read',
  summary: 'Turns of a session that changed files, newest first, with the files',
  input: OneSession,
  output: z.object({ session_id: z.string(), checkpoints: z.array(Checkpoint) }),
  run: async ({ app, home }, { session_id }) => {
    const owner = app.files.areas.sessionOf(home, session_id).home
    const records = await app.checkpoints.list(owner, session_id)
    const checkpoints = records
      .map(toCheckpoint)
      .map(each => ({ ...each, title: redact(each.title) }))
    return { session_id, checkpoints }
  },
})

export const diff = endpoint({
  access: 'read',
  summary: 'The diff of one file in a turn',
  input: OneSession.extend({ checkpoint: CheckpointId, path: z.string().min(1) }),
  output: CheckpointDiff,
  run: async ({ app, home }, { session_id, checkpoint, path }) => {
    const owner = app.files.areas.sessionOf(home, session_id).home
    const comparison = await app.checkpoints.diff(owner, session_id, checkpoint, path)
    return { ...comparison, diff: redact(comparison.diff) }
  },
})

const OnePoint = OneSession.extend({
  checkpoint: CheckpointId,
  /** Before or after the whole turn. */
  point: z.enum(['before', 'after']).default('after'),
  /** Instead of `point`: after this tool call, which one of the turn's `steps` names. */
  call: z.string().min(1).max(500).optional(),
})

const toPoint = ({ point, call }: z.infer<typeof OnePoint>) =>
  call === undefined ? point : { call }

export const files = endpoint({
  access: 'read',
  summary: 'The files of the workspace before or after a turn, or after one of its steps',
  input: OnePoint,
  output: PastFiles,
  run: async ({ app, home }, input) => {
    const { session_id, checkpoint } = input
    const owner = app.files.areas.sessionOf(home, session_id).home
    return app.checkpoints.filesAt(owner, session_id, checkpoint, toPoint(input))
  },
})

export const file = endpoint({
  access: 'read',
  summary: 'One of these files, with its difference to now',
  input: OnePoint.extend({ path: z.string().min(1).max(4_096) }),
  output: PastFile,
  run: async ({ app, home }, { path, ...input }) => {
    const { session_id, checkpoint } = input
    const owner = app.files.areas.sessionOf(home, session_id).home
    const file = await app.checkpoints.fileAt(owner, session_id, checkpoint, toPoint(input), path)
    const text = file.text === null ? null : redact(file.text)
    return { ...file, text, diff: redact(file.diff) }
  },
})

/**
 * The model reads about it with the next message of the chat that had made the changes. Recorded before the first file is
 * changed, because a kill after it must not lose that; `correct` takes out what failed.
 */
const recordUndone = (sessions: Sessions, id: string) => {
  const { session_id } = sessions.require(id)
  const meta = () => sessions.head(session_id).meta
  let recorded: { before: Meta; patch: MetaPatch; change: UndoneChange } | undefined
  return {
    before(change: UndoneChange): void {
      const before = meta()
      recorded = { before, patch: undonePatch(before, change), change }
      sessions.append(session_id, [{ t: 'meta', patch: recorded.patch }])
    },
    correct(restored: readonly string[]): void {
      if (!recorded || restored.length === recorded.change.paths.length) return
      const patch = correctedPatch(meta(), recorded, restored)
      if (patch) sessions.append(session_id, [{ t: 'meta', patch }])
    },
  }
}

export const restore = endpoint({
  once: 'disk',
  access: 'work',
  summary: 'Restore files to their state before a turn; this creates a checkpoint as well',
  input: OneSession.extend({
    checkpoint: CheckpointId,
    /** Default: all files of the turn. */
    paths: z.array(z.string().min(1)).min(1).max(10_000).optional(),
    /** Parts of the one file in `paths`: header lines of its diff (`@@ -1,4 +1,5 @@`). Default: the whole file. */
    hunks: z.array(z.string().min(1).max(100)).min(1).max(10_000).optional(),
    /** Overwrite files that have changed since. */
    force: z.boolean().default(false),
  }),
  output: Restored,
  run: async (ctx, { session_id, ...what }) => {
    const { app, home } = ctx
    const mayChange = mayChangeIn(ctx, session_id)
    const owner = app.files.areas.sessionOf(home, session_id).home
    const note = recordUndone(app.sessions, session_id)
    const result = await app.checkpoints.restore(owner, session_id, {
      ...what,
      beforeFiles: change => {
        mayChange?.(change.paths)
        note.before(change)
      },
    })
    note.correct(result.restored)
    const [first] = result.failed
    return {
      ok: !first,
      ...result,
      ...(first && { error: `${first.path} could not be restored: ${first.error}` }),
    }
  },
})
