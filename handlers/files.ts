/** Files of a session's workspace. */
import { z } from 'zod'
import { endpoint } from '../lib/ctx.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { FileEntry } from '../lib/schema/workspace.ts'
import { listDirectory } from '../lib/workspaces/files.ts'

export const list = endpoint({
  summary: 'A directory of the workspace: directories first, at most 200 entries',
  input: z.object({ session_id: SessionId, path: z.string().default('.') }),
  output: z.object({ entries: z.array(FileEntry), path: z.string(), total: z.number() }),
  run(ctx, { session_id, path }) {
    const { workspace } = ctx.app.sessions.require(session_id)
    return listDirectory(workspace, path, [ctx.app.config.stateDir])
  },
})
