/** Import of chats from other programs: the file is stored first, then imported while the page may be closed. */
import { z } from 'zod'
import { type Ctx, endpoint, requireWorkspace } from '../lib/context.ts'
import { invalid, UserError } from '../lib/errors.ts'
import { readForm } from '../lib/http/multipart.ts'
import { redactValue } from '../lib/base/redact/redact.ts'
import { ImportState } from '../lib/schema/import.ts'

const MAX_BYTES = 4 * 1024 ** 3

/** The default workspace of the profile; for a member who was not given it, the one that was used last. */
const workspaceFor = (ctx: Ctx): string => {
  const { workspaces } = ctx.app
  const standard = workspaces.defaultOf(ctx.home)
  try {
    requireWorkspace(ctx, ctx.home, standard)
    return standard
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return workspaces.last(ctx.home)
  }
}

export const start = endpoint({
  access: 'work',
  summary:
    'Import chats from an export of ChatGPT, Claude, LibreChat, or Open WebUI; the reply does not wait for it',
  input: z.object({ file: z.string() }),
  output: ImportState,
  multipart: true,
  maxBytes: MAX_BYTES,
  async run(ctx) {
    const { app, req, home, person } = ctx
    app.imports.requireIdle(person.id)
    app.disk.requireRoom()
    const form = await readForm(req, app.files.incomingDir, { maxBytes: MAX_BYTES })
    try {
      ctx.admitAgain()
      if (!form.file) throw invalid('No file field in request')
      const { path, name } = form.file
      const target = app.importInto(home, workspaceFor(ctx), ctx.may('own', null))
      const options = { path, name, target, discard: form.discard }
      return redactValue(app.imports.start(person.id, options))
    } catch (error) {
      form.discard()
      throw error
    }
  },
})

export const get = endpoint({
  access: 'work',
  summary: 'The last import of the person: its progress and its report',
  output: ImportState,
  cache: 'no-store',
  // Titles are masked in the list of chats as well.
  run: ({ app, person }) => redactValue(app.imports.state(person.id)),
})
