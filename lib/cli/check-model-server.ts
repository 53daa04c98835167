/** Asks the model's server for an answer, which says the time: does it run, and is this clock right? Nothing is sent but the request. */
import type { Dispatcher } from 'undici'
import { createProxyDispatcher } from '../agent/providers/registry.ts'
import { UserError } from '../errors.ts'
import { PROVIDERS } from '../models/providers.ts'
import { errorCode } from '../store/file-error.ts'
import { clockAgainst } from './check-clock.ts'
import { type Check, type CheckContext, warn } from './check.ts'

const ANSWER_MS = 3_000
type Address = { url: URL /** Not the usual one of a provider. */; isOwn: boolean }

/** The certificate is not verified, because a wrong clock makes every one invalid; the request has no key. */
const anyCertificate = async (): Promise<Dispatcher> => {
  const { Agent } = await import('undici')
  return new Agent({ connect: { rejectUnauthorized: false } })
}

const addressOf = ({ home, models }: CheckContext): Address | null => {
  try {
    const { model } = models.compatible(home, null)
    const { baseUrl, provider } = models.endpoint(home, model)
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
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

/** Of a server of one's own. Without a network, it is no mistake that others cannot be reached. */
const unreachable = ({ url, isOwn }: Address, error: unknown): Check[] => {
  const what = UNREACHABLE[errorCode(error)]
  if (!isOwn || what === undefined) return []
  return [
    warn(
      'model_server_unreachable',
      'model server',
      `${url.host} ${what}`,
      'Start it, or correct its address (base_url) in config.yaml.',
    ),
  ]
}

export const modelServerChecks = async (looked: CheckContext): Promise<Check[]> => {
  const address = addressOf(looked)
  if (address === null) return []
  const proxy = await createProxyDispatcher(looked.config.env)
  const dispatcher = proxy ?? (await anyCertificate())
  const { request } = await import('undici')
  const { origin, host } = address.url
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const { headers, body } = await request(origin, { method: 'HEAD', dispatcher, signal })
    await body.dump()
    const { date } = headers
    return clockAgainst(
      host,
      typeof date === 'string' ? date : undefined,
      looked.machine.clock.now(),
    )
  } catch (error) {
    return proxy ? [] : unreachable(address, error)
  } finally {
    await dispatcher.destroy()
  }
}
