/** Personalities of the profile, and setting the one of a session. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { listPersonalities, requirePersonality } from '../lib/profiles/personalities.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'

export const list = endpoint({
  access: 'read',
  summary: 'Personalities of the profile',
  output: z.object({
    personalities: z.array(z.object({ name: z.string(), description: z.string() })),
  }),
  run: ctx => ({ personalities: listPersonalities(ctx.home.lenient.config()) }),
})

export const set = endpoint({
  access: 'work',
  summary: 'Set the personality of a session; a blank name clears it',
  input: z.object({ session_id: SessionId, name: z.string().nullable() }),
  output: Ok.extend({ personality: z.string().nullable(), prompt: z.string() }),
  run(ctx, { session_id, name }) {
    const { sessions, homes } = ctx.app
    const row = sessions.require(session_id)
    const personality = name?.trim() || null
    // Turns read the prompt from the session's own profile.
    const config = homes.of(row.profile).config()
    const prompt = personality === null ? '' : requirePersonality(config, personality)
    sessions.append(row.session_id, [{ t: 'meta', patch: { personality } }])
    return { ...ok, personality, prompt }
  },
})
