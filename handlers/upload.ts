/** File uploads. The size limit is `MAX_BODY_BYTES` in `lib/http/body.ts`. */
import { join } from 'node:path'
import { z } from 'zod'
import { endpoint, mayChangeIn, requireNamed } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { parseInput } from '../lib/http/parse-input.ts'
import { readForm } from '../lib/http/multipart.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { keepPicture } from '../lib/sessions/tool-output.ts'
import { placeUpload, uploadName } from '../lib/workspaces/upload.ts'

const Fields = z.object({
  session_id: SessionId,
  /** A folder of the workspace; created when missing. */
  path: z.string().optional(),
  /** `chat`: a picture that is kept with the chat, not in its workspace. */
  keep: z.enum(['chat']).optional(),
})

export const upload = endpoint({
  access: 'work',
  summary:
    'Upload a file into the workspace, where a number is added when the name exists; or a picture into the chat',
  input: Fields.extend({ file: z.string() }),
  output: z.object({ filename: z.string(), path: z.string(), size: z.number() }),
  multipart: true,
  async run(ctx) {
    const { app, req } = ctx
    app.disk.requireRoom()
    using form = await readForm(req, app.files.incomingDir)
    ctx.admitAgain()
    const fields = parseInput(Fields, form.fields)
    const { session_id, path, keep } = fields
    // A folder with control files may get new ones: what counts is the file.
    requireNamed(ctx, upload, { session_id })
    const area = app.files.areas.of(ctx.home, session_id)
    if (!form.file) throw invalid('No file field in request')
    const { path: arrived, name, size } = form.file
    if (keep === 'chat')
      return {
        ...keepPicture(app.toolOutput, app.sessions.require(session_id).session_id, arrived),
        size,
      }
    mayChangeIn(ctx, session_id)?.([join(path || '.', uploadName(name))])
    return { ...(await placeUpload(area, arrived, name, path)), size }
  },
})
