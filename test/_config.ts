/** config.yaml as a literal in the typed form the product reads. */
import { type ProfileConfig, parseProfileConfig } from '../lib/profiles/config.ts'

export const configOf = (values: Record<string, unknown> = {}): ProfileConfig =>
  parseProfileConfig(values).value
