/** Checks of providers and of the model: keys, sign-ins, whether its server runs, and whether this clock agrees with it. */
import type { Dispatcher } from 'undici'
import { createProxyDispatcher } from '../../agent/providers/registry.ts'
import { UserError } from '../../errors.ts'
import { unusableKeys } from '../../models/credentials.ts'
import { readSetup } from '../../models/provider-config.ts'
import { listProviders } from '../../models/provider-keys.ts'
import { PROVIDERS } from '../../models/providers.ts'
import { errorCode } from '../../store/file-error.ts'
import { type Check, type CheckContext, finding, ok } from './check.ts'
import { emptyIfUnreadable } from './home-checks.ts'

const ANSWER_MS = 3_000
/** One-time codes are refused half a minute off, sign-ins with OpenID Connect a few minutes. */
const MAX_CLOCK_MS = 120_000

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

const lengthOf = (ms: number): string => {
  const [name, unit] = UNITS.find(([, each]) => ms >= each) ?? UNITS[2]
  const count = Math.round(ms / unit)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

/** What the `Date` header of a response says about this clock, which shows `now`: milliseconds since 1970. */
export const clockAgainst = (host: string, header: unknown, now: number): Check[] => {
  const theirs = Date.parse(String(header ?? ''))
  if (Number.isNaN(theirs)) return []
  const ahead = now - theirs
  if (Math.abs(ahead) <= MAX_CLOCK_MS) return [ok('clock', `agrees with ${host}`)]
  const way = ahead > 0 ? 'ahead of' : 'behind'
  const message = `The clock is ${lengthOf(Math.abs(ahead))} ${way} that of ${host}`
  return [finding('clock_differs', 'clock', message)]
}

const PROBLEMS_OF_KEYS = {
  removed: ['key_placeholder', 'was removed from the backup that was restored'],
  header: [
    'key_invalid',
    'cannot be sent as a key: it has spaces or other characters that keys do not have',
  ],
} as const

export const providerChecks = ({ home }: CheckContext): Check[] => {
  const rows = emptyIfUnreadable(() => listProviders(home).providers).filter(
    row => row.alias_of === null,
  )
  const expired = rows
    .filter(row => row.needs_sign_in)
    .map(row =>
      finding('sign_in_expired', 'sign-in', `the sign-in of ${row.display_name} has expired`),
    )
  const unusable = emptyIfUnreadable(() => unusableKeys(readSetup(home))).map(({ name, why }) => {
    const [code, problem] = PROBLEMS_OF_KEYS[why]
    return finding(code, 'providers', `the value of ${name} ${problem}`)
  })
  const names = rows
    .filter(row => row.has_key)
    .map(({ display_name: name, key_name, env_var }) => {
      const variable = key_name ?? env_var
      return variable ? `${name} (${variable})` : name
    })
  // None is not a problem by itself: self-hosted servers need no key. The check of the model reports a missing one.
  const message = names.length === 0 ? 'no provider has a key' : `keys for ${names.join(', ')}`
  const isSaid = names.length > 0 || unusable.length === 0
  return [...(isSaid ? [ok('providers', message)] : []), ...unusable, ...expired]
}

const MODEL_ADVICE: Readonly<Record<string, string>> = {
  key_missing: 'Add the key, or choose another default model.',
  provider_no_address: 'Set model.base_url in config.yaml, such as http://127.0.0.1:11434/v1.',
  provider_address_invalid:
    'Correct model.base_url in config.yaml, such as http://127.0.0.1:11434/v1.',
  provider_missing: 'Set model.provider in config.yaml, or choose a model on the page.',
  model_missing: 'Set model.default in config.yaml, or choose a model on the page.',
  provider_misspelled: 'Correct config.yaml.',
  provider_setting_invalid: 'Correct config.yaml.',
}

/** The model that a new chat has. Throws a UserError that says why there is none. */
const endpointOf = ({ home, models }: CheckContext) =>
  models.endpoint(home, models.compatible(home, null).model)

export const modelCheck = async (context: CheckContext): Promise<Check[]> => {
  const { home, models } = context
  // A file that cannot be read has a check of its own, which says the same.
  if (home.problems().length > 0) return []
  try {
    await models.ready(home)
    const { apiMode, model, provider } = endpointOf(context)
    return apiMode === 'demo'
      ? [finding('model_demo', 'model', 'demo model (scripted, offline)')]
      : [ok('model', `${model} (${provider})`)]
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const advice = MODEL_ADVICE[String(error.code)]
    return [finding('model_unusable', 'model', error.message, advice ? { advice } : {})]
  }
}

type Address = { url: URL /** Not the usual one of a provider. */; isOwn: boolean }

/** The certificate is not verified, because a wrong clock makes every one invalid; the request has no key. */
const anyCertificate = async (): Promise<Dispatcher> => {
  const { Agent } = await import('undici')
  return new Agent({ connect: { rejectUnauthorized: false } })
}

const addressOf = (context: CheckContext): Address | null => {
  try {
    const { baseUrl, provider } = endpointOf(context)
    const url = URL.parse(baseUrl)
    if (!url || !/^https?:$/.test(url.protocol)) return null
    return { url, isOwn: PROVIDERS.get(provider)?.baseUrl !== baseUrl }
  } catch (error) {
    // The check of the model says why there is none.
    if (error instanceof UserError) return null
    throw error
  }
}

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses connections',
  EHOSTUNREACH: 'cannot be reached',
  ENOTFOUND: 'has a name that does not exist',
}

/** Asks the model's server for an answer, which says the time. Nothing is sent but the request. */
export const modelServerChecks = async (context: CheckContext): Promise<Check[]> => {
  const address = addressOf(context)
  if (address === null) return []
  const proxy = await createProxyDispatcher(context.config.env)
  const dispatcher = proxy ?? (await anyCertificate())
  const { request } = await import('undici')
  const { origin, host } = address.url
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const { headers, body } = await request(origin, { method: 'HEAD', dispatcher, signal })
    await body.dump()
    return clockAgainst(host, headers.date, context.machine.clock.now())
  } catch (error) {
    // Without a network, it is no mistake that servers of others cannot be reached.
    const what = proxy || !address.isOwn ? undefined : UNREACHABLE[errorCode(error)]
    if (what === undefined) return []
    return [finding('model_server_unreachable', 'model server', `${host} ${what}`)]
  } finally {
    await dispatcher.destroy()
  }
}
