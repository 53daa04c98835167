/** A home as a literal, for rules that only look at values. */
import type { ModelHome } from '../../../lib/models/setup.ts'

type Given = {
  config?: Record<string, unknown>
  /** The process environment. */
  env?: Record<string, string>
  dotenv?: Record<string, string>
  auth?: unknown
}

export const homeOf = ({ config = {}, env = {}, dotenv = {}, auth = {} }: Given): ModelHome => ({
  values: () => config,
  env: () => ({ ...env, ...dotenv }),
  dotenv: () => dotenv,
  authJson: () => auth,
})

/** No default model from the environment. */
export const bare = { defaultModel: '', modelOverride: '' }
