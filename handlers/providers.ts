/** Providers: list them, set and remove API keys, test a call, add a self-hosted endpoint. */
import { addEndpoint } from '../lib/models/set-provider.ts'
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { listProviders } from '../lib/models/provider-keys.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { ProviderRow, ProviderTestResult } from '../lib/schema/provider.ts'
import { recorded } from '../lib/people/audit.ts'

const ProviderId = z.string().max(200)
const Secret = z.string().max(20_000)

export const list = endpoint({
  access: 'own',
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
  const { values: _, ...result } = await ctx.app.models.setKey(ctx.home, provider, key)
  return { ...ok, ...result }
}

export const save = endpoint({
  access: 'own',
  audit: recorded('keys', ({ provider }) => provider),
  summary: 'Save the API key of a provider in the .env of the profile; a blank key removes it',
  cache: 'no-store',
  input: z.object({ provider: ProviderId, api_key: Secret.nullish() }),
  output: Changed,
  run: (ctx, { provider, api_key }) => change(ctx, provider, api_key ?? null),
})

export const remove = endpoint({
  access: 'own',
  audit: recorded('keys', ({ provider }) => provider),
  summary: 'Remove the API key of a provider from the .env of the profile',
  cache: 'no-store',
  input: z.object({ provider: ProviderId }),
  output: Changed,
  run: (ctx, { provider }) => change(ctx, provider, null),
})

export const test = endpoint({
  access: 'own',
  summary: 'Make a minimal call to a provider and report the result',
  cache: 'no-store',
  input: z.object({
    provider: ProviderId,
    model: z.string().max(500).optional(),
    /** Used for this call, not saved. */
    api_key: Secret.optional(),
    base_url: z.string().max(2_000).optional(),
  }),
  output: ProviderTestResult,
  run(ctx, { provider, model, api_key, base_url }) {
    if (base_url?.trim()) ctx.app.onboarding.requireLocalClient(ctx.client.address)
    const input = {
      provider,
      ...(model ? { model } : {}),
      ...(api_key ? { apiKey: api_key } : {}),
      ...(base_url ? { baseUrl: base_url } : {}),
    }
    return ctx.app.models.testing.call(ctx.home, input, ctx.signal)
  },
})

export const selfHosted = endpoint({
  access: 'own',
  summary: 'Add a self-hosted model server, and optionally use it as the default',
  cache: 'no-store',
  input: z.object({
    name: z.string().max(200),
    base_url: z.string().max(2_000),
    model: z.string().max(500),
    use: z.boolean().optional(),
  }),
  output: Ok.extend({ provider: z.string(), default_model: z.string() }),
  run(ctx, { name, base_url, model, use }) {
    const { id } = addEndpoint(ctx.home, {
      name,
      baseUrl: base_url,
      model,
      use: use ?? false,
    })
    return { ...ok, provider: id, default_model: ctx.app.models.default(ctx.home) }
  },
})

export const address = endpoint({
  access: 'own',
  audit: recorded('keys', ({ provider }) => provider),
  summary: 'Change the address, the key, and the name of a self-hosted model server',
  cache: 'no-store',
  input: z.object({
    provider: ProviderId,
    base_url: z.string().max(2_000),
    /** At another host the key of the previous one is removed. */
    api_key: Secret.optional(),
    /** Of the server without an entry in `custom_providers`, whose id is made of its name. Blank: named after its host. */
    name: z.string().max(100).optional(),
  }),
  output: Ok,
  async run(ctx, { provider, base_url, api_key, name }) {
    ctx.app.onboarding.requireLocalClient(ctx.client.address)
    const moved = { provider, baseUrl: base_url, apiKey: api_key ?? '', name }
    await ctx.app.models.moveEndpoint(ctx.home, moved)
    return ok
  },
})
