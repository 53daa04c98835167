/** Model providers: which have a key and from where, never the key itself. */
import { z } from 'zod'
import { Sentences } from './sentence.ts'
import { ModelOption } from './model.ts'

export const ProviderRow = z
  .object({
    id: z.string(),
    display_name: z.string(),
    has_key: z.boolean(),
    /** A key can be set on the page. */
    configurable: z.boolean(),
    key_source: z.enum(['env_file', 'env_var', 'config_yaml', 'oauth', 'pool', 'none']),
    /** Where the key is stored: a variable or a key of config.yaml. */
    key_name: z.string().nullable(),
    /** The variable that a new key is written to. */
    env_var: z.string().nullable(),
    /** The provider's page where a key is created. */
    key_page: z.string().nullable(),
    /** The provider's sign-in has expired, and there is no other key. */
    needs_sign_in: z.boolean(),
    /** The address of a server of one's own; null for a provider with a known one. */
    base_url: z.string().nullable(),
    /** The provider that this one is an alias of. */
    alias_of: z.string().nullable(),
    models: z.array(ModelOption),
  })
  .meta({ id: 'ProviderRow' })
export type ProviderRow = z.infer<typeof ProviderRow>

/** A provider that onboarding offers. */
export const QuickProvider = z.object({
  id: z.string(),
  label: z.string(),
  env_var: z.string(),
  default_model: z.string(),
  default_base_url: z.string(),
  requires_base_url: z.boolean(),
  models: z.array(ModelOption),
  quick: z.boolean(),
})
export type QuickProvider = z.infer<typeof QuickProvider>

/** What was found at an address that is not stored. */
export const ProbeResult = z.object({
  ok: z.boolean(),
  provider: z.string(),
  base_url: z.string(),
  models: z.array(ModelOption),
  message: z.string(),
  error: z.string().optional(),
})
export type ProbeResult = z.infer<typeof ProbeResult>

export const LocalServer = z
  .object({
    id: z.string(),
    name: z.string(),
    base_url: z.string(),
    models: z.array(ModelOption),
    /** The profile already uses this URL. */
    configured: z.boolean(),
  })
  .meta({ id: 'LocalServer' })
export type LocalServer = z.infer<typeof LocalServer>

export const ProviderTestResult = z
  .object({
    ok: z.boolean(),
    provider: z.string(),
    model: z.string(),
    duration_ms: z.number(),
    /** The result as a sentence. */
    message: z.string(),
    error: z.string().optional(),
    type: z.string().optional(),
    hint: z.string().optional(),
    sentences: Sentences.optional(),
  })
  .meta({ id: 'Trial' })
export type ProviderTestResult = z.infer<typeof ProviderTestResult>
