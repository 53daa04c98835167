/** Checks of who may sign in: the OpenID Connect provider, and the header of a trusted proxy. */
import { systemClock } from '../base/clock.ts'
import { createProxyDispatcher } from '../agent/providers/registry.ts'
import { Oidc, readClientSecret } from '../people/oidc.ts'
import { hasPassword } from '../people/password-record.ts'
import { type Check, type CheckContext, fail, ok, warn } from './check.ts'

const WHAT = 'single sign-on'

const oidcCheck = async ({ config: { oidc: config, env } }: CheckContext): Promise<Check[]> => {
  if (!config) return []
  let clientSecret: string | null
  try {
    clientSecret = readClientSecret(config)
  } catch {
    // A check of the start says why.
    return []
  }
  const warnings: string[] = []
  const oidc = new Oidc({
    config,
    clientSecret,
    clock: systemClock,
    dispatcher: await createProxyDispatcher(env),
    log: { warn: text => void warnings.push(text) },
  })
  try {
    await oidc.check()
    return [ok(WHAT, `${config.name} answers at ${config.issuer}`)]
  } catch {
    // The reason is in the warning.
    return [
      fail(
        'oidc_unreachable',
        WHAT,
        `${config.issuer}: ${warnings.join('; ') || 'no answer'}`,
        'Check AGENT_WEBUI_OIDC_ISSUER: <issuer>/.well-known/openid-configuration must answer. The password keeps working.',
      ),
    ]
  } finally {
    oidc.close()
  }
}

/** Anyone who reaches the service can then only enter the setup token, which is in its log. */
const passwordCheck = ({ config }: CheckContext): Check[] => {
  const { isExposed, isVouched, oidc, authHeader, password, stateDir } = config
  const isOpen = !isExposed && oidc === null && authHeader === null
  if (isOpen || isVouched || password !== null || hasPassword(stateDir)) return []
  return [
    warn(
      'password_missing',
      'password',
      'others can reach the sign-in page, and no password is set',
      'Set one: agent-webui password. Until then the owner needs the setup token of the log.',
    ),
  ]
}

const headerCheck = ({ config: { authHeader, trustedProxies } }: CheckContext): Check[] =>
  authHeader === null
    ? []
    : [ok('proxy sign-in', `${authHeader}, from ${trustedProxies.join(', ')}`)]

export const signInChecks = async (looked: CheckContext): Promise<Check[]> => [
  ...passwordCheck(looked),
  ...(await oidcCheck(looked)),
  ...headerCheck(looked),
]
