/** Speech-to-text. */
import { join } from 'node:path'
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { invalid, unavailable } from '../lib/errors.ts'
import { readForm } from '../lib/http/multipart.ts'
import { speechEndpoint, transcribe as hear } from '../lib/models/transcription.ts'

export const capability = endpoint({
  access: 'read',
  summary: 'Whether speech-to-text is available',
  output: z.object({ available: z.boolean() }),
  run: ctx => ({
    available: ctx.home.problems().length === 0 && speechEndpoint(ctx.home) !== null,
  }),
})

export const transcribe = endpoint({
  access: 'work',
  summary: 'Transcribe a recording with the configured speech service',
  output: z.object({ ok: z.literal(true), transcript: z.string() }),
  multipart: true,
  run: async ctx => {
    const form = await readForm(ctx.req, join(ctx.app.config.stateDir, 'cache'))
    try {
      ctx.admitAgain()
      const { file } = form
      if (!file) throw invalid('No file field in request')
      if (!file.name) throw invalid('No filename in upload')
      const service = speechEndpoint(ctx.home)
      if (!service)
        throw unavailable('Speech-to-text is unavailable on this server', {
          code: 'speech_unavailable',
        })
      const name = file.name.replace(/^.*[\\/]/s, '').replace(/[^\w.-]/g, '_') || 'recording.webm'
      const transcript = await hear(service, { ...file, name }, ctx.signal)
      return { ok: true as const, transcript }
    } finally {
      form.discard()
    }
  },
})
