/** Keys of providers: which there are, adding and removing them, trying them, and servers of one's own. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { listProviders } from '../lib/models/provider-keys.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { ProviderRow, ProviderTestResult } from '../lib/schema/provider.ts'

const ProviderId = z.string().max(200)
const Secret = z.string().max(20_000)

export const list = endpoint({
  summary: 'Providers, whether they have a key, and where it comes from',
  cache: 'no-store',
  output: z.object({ providers: z.array(ProviderRow), active_provider: z.string().nullable() }),
  run: ctx => listProviders(ctx.home),
})

const Changed = Ok.extend({
  provider: z.string(),
  display_name: z.string(),
  action: z.enum(['updated', 'removed']),
})

const change = async (ctx: Ctx, provider: string, key: string | null) => {
  const { values: _, ...done } = await ctx.app.models.setKey(ctx.home, provider, key)
  return { ...ok, ...done }
}

export const save = endpoint({
  summary: 'Store the key of a provider in the .env of the profile; a blank one removes it',
  cache: 'no-store',
  input: z.object({ provider: ProviderId, api_key: Secret.nullish() }),
  output: Changed,
  run: (ctx, { provider, api_key }) => change(ctx, provider, api_key ?? null),
})

export const remove = endpoint({
  summary: 'Remove the key of a provider from the .env of the profile',
  cache: 'no-store',
  input: z.object({ provider: ProviderId }),
  output: Changed,
  run: (ctx, { provider }) => change(ctx, provider, null),
})

export const test = endpoint({
  summary: 'Make the smallest real call of a provider and say how it went',
  cache: 'no-store',
  input: z.object({
    provider: ProviderId,
    model: z.string().max(500).optional(),
    /** Tried, not stored. */
    api_key: Secret.optional(),
    base_url: z.string().max(2_000).optional(),
  }),
  output: ProviderTestResult,
  run(ctx, { provider, model, api_key, base_url }) {
    if (base_url?.trim()) ctx.app.onboarding.requireLocalClient(ctx.client.address)
    const asked = {
      provider,
      ...(model ? { model } : {}),
      ...(api_key ? { apiKey: api_key } : {}),
      ...(base_url ? { baseUrl: base_url } : {}),
    }
    return ctx.app.models.testing.call(ctx.home, asked, ctx.signal)
  },
})

export const selfHosted = endpoint({
  summary: 'Add a model server of one’s own, and use it from now on if wanted',
  cache: 'no-store',
  input: z.object({
    name: z.string().max(200),
    base_url: z.string().max(2_000),
    model: z.string().max(500),
    use: z.boolean().optional(),
  }),
  output: Ok.extend({ provider: z.string(), default_model: z.string() }),
  run(ctx, { name, base_url, model, use }) {
    const { id } = ctx.app.models.addEndpoint(ctx.home, {
      name,
      baseUrl: base_url,
      model,
      use: use ?? false,
    })
    return { ...ok, provider: id, default_model: ctx.app.models.default(ctx.home) }
  },
})
