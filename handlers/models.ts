/** Available models: configured, fetched from providers, and on local servers. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { readSetup } from '../lib/models/provider-config.ts'
import { ModelList, ModelOption } from '../lib/schema/model.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { LocalServer } from '../lib/schema/provider.ts'

const ProviderId = z.string().max(200)

export const list = endpoint({
  access: 'read',
  summary: 'Models by provider, with the active provider and the default model',
  output: ModelList,
  run: ctx => ctx.app.models.list(ctx.home),
})

export const live = endpoint({
  access: 'work',
  summary: 'Models of one provider, fetched from it where possible',
  input: z.object({ provider: ProviderId.optional() }),
  output: z.object({
    provider: z.string().optional(),
    models: z.array(ModelOption),
    ids: z.array(z.string()),
    count: z.number(),
    error: z.string().optional(),
  }),
  run(ctx, { provider }) {
    const name = provider?.trim() || readSetup(ctx.home).active
    return name
      ? ctx.app.models.of(ctx.home, name)
      : { error: 'no_provider', models: [], ids: [], count: 0 }
  },
})

export const refresh = endpoint({
  access: 'work',
  summary: 'Clear the cached model lists and fetch them again',
  input: z.object({ provider: ProviderId.optional() }),
  output: Ok.extend({ models: ModelList }),
  async run(ctx, { provider }) {
    ctx.app.models.forget(ctx.home, provider?.trim() || undefined)
    return { ...ok, models: await ctx.app.models.list(ctx.home) }
  },
})

export const local = endpoint({
  access: 'own',
  summary: 'Model servers running on this machine',
  cache: 'no-store',
  output: z.object({ servers: z.array(LocalServer) }),
  run: async ctx => ({ servers: await ctx.app.models.local(ctx.home) }),
})
