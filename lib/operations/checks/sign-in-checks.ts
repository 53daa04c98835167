/** Checks of who may sign in: the OpenID Connect provider, and the header of a trusted proxy. */
import { createProxyDispatcher } from '../../agent/providers/registry.ts'
import { systemClock } from '../../base/clock.ts'
import { Oidc, readClientSecret } from '../../people/oidc.ts'
import { hasPassword } from '../../people/password-record.ts'
import { type Check, type CheckContext, found, ok } from './check.ts'

const oidcCheck = async ({ config: { oidc: config, env } }: CheckContext): Promise<Check[]> => {
  if (!config) return []
  const about = 'single sign-on'
  const warnings: string[] = []
  let oidc: Oidc | null = null
  try {
    // A question of the start says why it cannot be read.
    const clientSecret = readClientSecret(config)
    const dispatcher = await createProxyDispatcher(env)
    const log = { warn: (text: string) => void warnings.push(text) }
    oidc = new Oidc({ config, clientSecret, clock: systemClock, dispatcher, log })
    await oidc.check()
    return [ok(about, `${config.name} answers at ${config.issuer}`)]
  } catch {
    // The reason is in the warning.
    const said = `${config.issuer}: ${warnings.join('; ') || 'no answer'}`
    return oidc ? [found('oidc_unreachable', about, said)] : []
  } finally {
    oidc?.close()
  }
}

/** Anyone who reaches the service can then only enter the setup token, which is in its log. */
const passwordCheck = ({ config }: CheckContext): Check[] => {
  const { isExposed, isVouched, oidc, authHeader, password, stateDir } = config
  const isOpen = !isExposed && oidc === null && authHeader === null
  if (isOpen || isVouched || password !== null || hasPassword(stateDir)) return []
  const said = 'others can reach the sign-in page, and no password is set'
  return [found('password_missing', 'password', said)]
}

const headerCheck = ({ config: { authHeader, trustedProxies } }: CheckContext): Check[] =>
  authHeader === null
    ? []
    : [ok('proxy sign-in', `${authHeader}, from ${trustedProxies.join(', ')}`)]

export const signInChecks = async (context: CheckContext): Promise<Check[]> => [
  ...passwordCheck(context),
  ...(await oidcCheck(context)),
  ...headerCheck(context),
]
