/** How views reach the models and the setup of a provider. */
import { featureContext } from '../../parts/feature-context.ts'
import type { Models } from './models.ts'
import type { Onboarding } from './onboarding.ts'

export type ModelsFeature = { models: Models; onboarding: Onboarding }

export const { Provider: ModelsProvider, use: useModels } = featureContext<ModelsFeature>('Models')
