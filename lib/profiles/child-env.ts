/** The environment of programs the agent starts: the home's, without anything that opens a door elsewhere. */

/** Names whose values are secrets by convention: OPENAI_API_KEY, HF_TOKEN, SUDO_PASSWORD, AWS_SECRET_ACCESS_KEY, FAL_KEY. */
const SECRET =
  /API_?KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|(?:^|_)(?:KEY|KEY_ID|TOKEN|CREDENTIALS?|PAT)$/i

export const isSecretName = (name: string): boolean => SECRET.test(name)

/** The service's own settings, its password among them: no child ever needs them. */
const OURS = /^AGENT_WEBUI_/i

const passthroughOf = (config: Readonly<Record<string, unknown>>): Set<string> => {
  const { terminal } = config
  const names =
    typeof terminal === 'object' && terminal !== null && 'env_passthrough' in terminal
      ? terminal.env_passthrough
      : []
  return new Set(Array.isArray(names) ? names.filter(name => typeof name === 'string') : [])
}

export const childEnvironment = (given: {
  env: Readonly<Record<string, string>>
  config: Readonly<Record<string, unknown>>
  /** Set on top, after the scrubbing. */
  extra: Readonly<Record<string, string>>
}): Record<string, string> => {
  const allowed = passthroughOf(given.config)
  const kept = Object.entries(given.env).filter(
    ([name]) => !OURS.test(name) && (allowed.has(name) || !isSecretName(name)),
  )
  return { ...Object.fromEntries(kept), ...given.extra }
}
