/** Models on offer, as the model list shows them. */
import { z } from 'zod'

export const ModelOption = z
  .object({
    /** Bare, `provider/model`, or `@provider:model`: what a session stores and a turn resolves. */
    id: z.string(),
    label: z.string(),
    /** Tokens the model reads; absent when unknown. */
    context_length: z.number().optional(),
  })
  .meta({ id: 'ModelOption' })
export type ModelOption = z.infer<typeof ModelOption>

export const ModelGroup = z
  .object({
    /** Name for people. */
    provider: z.string(),
    /** Exact id; clients match groups by it and by nothing else. */
    provider_id: z.string(),
    models: z.array(ModelOption),
  })
  .meta({ id: 'ModelGroup' })
export type ModelGroup = z.infer<typeof ModelGroup>

export const ModelList = z
  .object({
    active_provider: z.string().nullable(),
    /** Empty when none is configured. */
    default_model: z.string(),
    groups: z.array(ModelGroup),
  })
  .meta({ id: 'ModelList' })
export type ModelList = z.infer<typeof ModelList>
