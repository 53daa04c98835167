/** The environment of programs the agent starts: the home's, without anything that opens a door elsewhere. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../base/json.ts'

/** Names whose values are secrets by convention: OPENAI_API_KEY, HF_TOKEN, SUDO_PASSWORD, AWS_SECRET_ACCESS_KEY, FAL_KEY. */
const SECRET =
  /API_?KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|(?:^|_)(?:KEY|KEY_ID|TOKEN|CREDENTIALS?|PAT)$/i

export const isSecretName = (name: string): boolean => SECRET.test(name)

/** The service's own settings, its password among them: no child ever needs them. */
const OURS = /^AGENT_WEBUI_/i

const passthroughOf = (config: Readonly<Record<string, unknown>>): Set<string> => {
  const { terminal } = config
  const names = isObject(terminal) && 'env_passthrough' in terminal ? terminal.env_passthrough : []
  return new Set(Array.isArray(names) ? names.filter(name => typeof name === 'string') : [])
}

/** `terminal.home_mode: profile`: programs see the profile's own HOME, where there is one, and no login of the person's. */
const profileHomeDir = (config: Readonly<Record<string, unknown>>, dir: string): string | null => {
  const { terminal } = config
  const mode = isObject(terminal) && 'home_mode' in terminal ? terminal.home_mode : null
  const place = join(dir, 'home')
  return mode === 'profile' && existsSync(place) ? place : null
}

export const childEnvironment = (given: {
  env: Readonly<Record<string, string>>
  config: Readonly<Record<string, unknown>>
  /** Set on top, after the scrubbing. */
  extra: Readonly<Record<string, string>>
  /** The home directory of the profile. */
  dir?: string
}): Record<string, string> => {
  const allowed = passthroughOf(given.config)
  const kept = Object.entries(given.env).filter(
    ([name]) => !OURS.test(name) && (allowed.has(name) || !isSecretName(name)),
  )
  const own = given.dir !== undefined && profileHomeDir(given.config, given.dir)
  return { ...Object.fromEntries(kept), ...(own && { HOME: own }), ...given.extra }
}
