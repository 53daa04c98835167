/** Text-to-speech. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { unavailable } from '../lib/errors.ts'
import { byteStream } from '../lib/http/reply.ts'
import { MAX_SPOKEN_CHARS, speak as read, voiceEndpoint } from '../lib/models/voices.ts'

export const capability = endpoint({
  access: 'read',
  summary: 'Whether text-to-speech is available',
  output: z.object({ available: z.boolean() }),
  run: ctx => ({
    available: ctx.home.problems().length === 0 && voiceEndpoint(ctx.home) !== null,
  }),
})

export const speak = endpoint({
  access: 'work',
  summary: 'Read a text aloud with the configured speech service; the audio is streamed',
  input: z.object({
    text: z.string().trim().min(1).max(MAX_SPOKEN_CHARS),
    /** Instead of the configured voice. */
    voice: z.string().min(1).max(100).optional(),
  }),
  raw: 'audio/mpeg',
  cache: 'no-store',
  run: async ({ home, signal }, input) => {
    const service = voiceEndpoint(home)
    if (!service)
      throw unavailable('Text-to-speech is unavailable on this server', {
        code: 'speech_unavailable',
      })
    return byteStream(await read(service, input, signal), { type: 'audio/mpeg' })
  },
})
