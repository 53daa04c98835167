/** Images and other files that a chat shows by absolute path or URL. */
import { join } from 'node:path'
import { z } from 'zod'
import { endpoint, maySession } from '../lib/context.ts'
import { invalid, missing } from '../lib/errors.ts'
import { contentDisposition } from '../lib/http/content-disposition.ts'
import { bytes, file } from '../lib/http/reply.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { IMAGE_FILE } from '../lib/schema/image.ts'
import { fileType, SANDBOX } from '../lib/workspaces/file-type.ts'
import { mediaFile } from '../lib/workspaces/media.ts'

export const get = endpoint({
  access: 'read',
  summary: 'A file in the workspace, in the image folders of the agent, or in /tmp',
  input: z.object({
    /** Absolute, or the name of an image stored with the session. */
    path: z.string().default(''),
    /** The session whose workspace is meant. Default: the last used workspace. */
    session_id: SessionId.optional(),
  }),
  raw: 'application/octet-stream',
  run(ctx, { path: source, session_id: sessionId }) {
    const { app, home } = ctx
    if (!source) throw invalid('path parameter required', { code: 'missing_fields' })
    // Messages name stored images by their file name.
    const isStored = sessionId !== undefined && IMAGE_FILE.test(source)
    const path = isStored ? join(app.toolOutput.dirOf(sessionId), source) : source
    // The path of other stored results contains their session id.
    const session_id = sessionId ?? app.toolOutput.ownerOf(path)
    if (session_id !== undefined && !maySession(ctx, 'read', session_id))
      throw missing('Session not found', { code: 'session_not_found' })
    const owner = session_id === undefined ? home : app.files.areas.sessionOf(home, session_id).home
    const area =
      session_id === undefined
        ? app.files.areas.scopeFor(home, app.workspaces.last(home))
        : app.files.areas.of(home, session_id)
    const outputDir = session_id === undefined ? undefined : app.toolOutput.dirOf(session_id)
    const { name, open } = mediaFile(area, owner.dir, path, {
      outputDir,
      hasTmp: ctx.may('own', null),
    })
    const { type, isActive, isPicture } = fileType(name)
    return file(open, {
      type,
      headers: {
        'Content-Disposition': contentDisposition(isPicture ? 'inline' : 'attachment', name),
      },
      ...(isActive ? { policy: SANDBOX } : {}),
    })
  },
})

const MAX_IMAGE_BYTES = 10 << 20

export const remote = endpoint({
  access: 'work',
  summary: 'An image of another host, fetched because the person asked for it',
  input: z.object({ url: z.string().max(4_000) }),
  raw: 'image/*',
  // It makes a request, so other sites must not be able to trigger it.
  effects: true,
  async run({ app, home, signal }, { url }) {
    const { type, data } = await app.web.imageForPage(home, url, MAX_IMAGE_BYTES, signal)
    return bytes(data, { type, policy: SANDBOX, cache: 'private, max-age=3600' })
  },
})
