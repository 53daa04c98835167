/** The model list. */
import { z } from 'zod'

export const ModelOption = z
  .object({
    /** `model`, `provider/model` or `@provider:model`, as stored in sessions. */
    id: z.string(),
    label: z.string(),
    /** Context window in tokens; absent when unknown. */
    context_length: z.number().optional(),
  })
  .meta({ id: 'ModelOption' })
export type ModelOption = z.infer<typeof ModelOption>

export const ModelGroup = z
  .object({
    /** Display name. */
    provider: z.string(),
    /** Clients match groups by this id only. */
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
