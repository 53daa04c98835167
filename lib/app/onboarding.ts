/** Composition: first-run setup, over the models, the workspaces and the settings. */
import { existsSync } from 'node:fs'
import { parseModelId } from '../models/default-model.ts'
import { isPrivateAddress } from '../base/local-network.ts'
import { parseApiKey } from '../models/provider-keys.ts'
import { hasKeyFor, quickProviders, readinessOf } from '../models/readiness.ts'
import { configureProvider, parseBaseUrl, withProvider } from '../models/set-provider.ts'
import { createOnboarding, type Onboarding } from '../operations/onboarding.ts'
import { writeEnv } from '../profiles/write-env.ts'
import type { Composition } from './data.ts'
import type { Engine } from './engine.ts'

export const composeOnboarding = (
  { config, data: { auth, settings, workspaces } }: Composition,
  { models }: Engine,
): Onboarding =>
  createOnboarding({
    config,
    settings,
    authEnabled: auth.enabled,
    exists: existsSync,
    isPrivateAddress,
    workspaces,
    models: {
      list: models.list,
      default: models.default,
      readiness: home => readinessOf(home, models.defaults(home)),
      quick: quickProviders,
      holdsKey: (home, chosen) => hasKeyFor(withProvider(home, chosen, {}), chosen.provider),
      isAnotherKey: (home, name, key) => ![undefined, '', key].includes(home.env()[name]?.trim()),
      checkedKey: parseApiKey,
      checkedModel: parseModelId,
      checkedBaseUrl: parseBaseUrl,
      configure: configureProvider,
    },
    writeEnv,
  })
