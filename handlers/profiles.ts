/** Which profile a request belongs to. */
import { z } from 'zod'
import { endpoint } from '../lib/ctx.ts'

export const active = endpoint({
  summary: 'The profile of this request and its home',
  output: z.object({ name: z.string(), path: z.string() }),
  run: ctx => ({ name: ctx.home.name, path: ctx.home.dir }),
})
