/** A home as a literal, for rules that only look at values. */
import { type Clock, systemClock } from '../../../lib/base/clock.ts'
import type { ModelHome } from '../../../lib/models/provider-config.ts'
import { configOf } from '../../_config.ts'

type Given = {
  config?: Record<string, unknown>
  /** The process environment. */
  env?: Record<string, string>
  dotenv?: Record<string, string>
  auth?: unknown
  clock?: Clock
}

/** As a real home does: unchanged files give the same objects. */
export const homeOf = ({
  config = {},
  env = {},
  dotenv = {},
  auth = {},
  clock = systemClock,
}: Given): ModelHome => {
  const overlaid = { ...env, ...dotenv }
  return {
    clock,
    values: () => config,
    config: () => configOf(config),
    env: () => overlaid,
    dotenv: () => dotenv,
    authJson: () => auth,
  }
}

/** No default model from the environment. */
export const bare = { defaultModel: '', modelOverride: '' }
