/** First-run setup: status, configuring a provider, probing an endpoint, completion. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { redactValue } from '../lib/base/redact/redact.ts'
import { ModelList } from '../lib/schema/model.ts'
import { ProbeResult, QuickProvider } from '../lib/schema/provider.ts'
import { Workspace } from '../lib/schema/workspace.ts'
import { toBoolean } from '../lib/profiles/settings.ts'

const Status = z.object({
  completed: z.boolean(),
  settings: z.object({
    default_model: z.string(),
    default_workspace: z.string(),
    password_enabled: z.boolean(),
    bot_name: z.string(),
  }),
  system: z.object({
    agent_found: z.boolean(),
    hermes_found: z.boolean(),
    imports_ok: z.boolean(),
    missing_modules: z.array(z.string()),
    import_errors: z.record(z.string(), z.string()),
    config_path: z.string(),
    config_exists: z.boolean(),
    provider_configured: z.boolean(),
    provider_ready: z.boolean(),
    chat_ready: z.boolean(),
    setup_state: z.enum(['agent_unavailable', 'ready', 'provider_incomplete', 'needs_provider']),
    provider_note: z.string(),
    current_provider: z.string().nullable(),
    current_model: z.string().nullable(),
    current_base_url: z.string().nullable(),
    env_path: z.string(),
  }),
  setup: z.object({
    providers: z.array(QuickProvider),
    unsupported_note: z.string(),
    current_is_oauth: z.boolean(),
    current: z.object({ provider: z.string(), model: z.string(), base_url: z.string() }),
  }),
  workspaces: z.object({ items: z.array(Workspace), last: z.string() }),
  models: ModelList,
})

const Confirm = z.object({
  error: z.literal('config_exists'),
  message: z.string(),
  requires_confirm: z.literal(true),
})

const CONFIRM = {
  error: 'config_exists',
  message: 'config.yaml is there already. Setting up changes its model; everything else stays.',
  requires_confirm: true,
} as const

export const status = endpoint({
  access: 'own',
  summary: 'Whether the profile is ready to chat, and what can be set up',
  cache: 'no-store',
  output: Status,
  run: ctx => ctx.app.onboarding.status(ctx.home),
})

const text = (most: number) => z.string().max(most).optional()

export const setup = endpoint({
  access: 'own',
  summary: 'Configure a provider with key, model and base URL',
  cache: 'no-store',
  input: z.object({
    provider: text(200),
    model: text(500),
    api_key: text(20_000),
    base_url: text(2_000),
    confirm_overwrite: z.unknown().optional(),
  }),
  output: z.union([Confirm, Status]),
  async run(ctx, input) {
    const { onboarding } = ctx.app
    onboarding.requireLocalClient(ctx.client.address)
    const refused = await onboarding.setup(ctx.home, {
      provider: input.provider ?? '',
      model: input.model ?? '',
      apiKey: input.api_key ?? '',
      baseUrl: input.base_url ?? '',
      confirmOverwrite: toBoolean(input.confirm_overwrite),
    })
    return refused ? CONFIRM : onboarding.status(ctx.home)
  },
})

export const complete = endpoint({
  access: 'own',
  summary: 'Mark onboarding as completed',
  output: Status,
  run(ctx) {
    ctx.app.onboarding.complete()
    return ctx.app.onboarding.status(ctx.home)
  },
})

export const probe = endpoint({
  access: 'own',
  summary: 'Fetch the models of an endpoint, without saving anything',
  cache: 'no-store',
  input: z.object({ provider: z.string().max(200), base_url: text(2_000), api_key: text(20_000) }),
  output: ProbeResult,
  async run(ctx, { provider, base_url, api_key }) {
    ctx.app.onboarding.requireLocalClient(ctx.client.address)
    const result = await ctx.app.models.testing.probe(ctx.home, {
      provider,
      ...(base_url ? { baseUrl: base_url } : {}),
      ...(api_key ? { apiKey: api_key } : {}),
    })
    // A URL may contain a key.
    return redactValue(result)
  },
})
