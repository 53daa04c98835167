/** A dispatcher for outgoing requests that connects only to addresses that may be fetched. */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { Dispatcher } from 'undici'
import { UserError } from '../errors.ts'
import { type Allow, checkAddresses } from './public-address.ts'

export type Resolve = (host: string) => Promise<LookupAddress[]>

const resolveAll: Resolve = host => lookup(host, { all: true })

/** Checks the addresses that are connected to: a second lookup could return others (DNS rebinding). */
export const createGuardedDispatcher = async (
  allow: Allow,
  { resolve = resolveAll }: { resolve?: Resolve } = {},
): Promise<Dispatcher> => {
  const { Agent } = await import('undici')
  return new Agent({
    connect: {
      lookup(host, options, done) {
        resolve(host)
          .then(addresses => checkAddresses(host, addresses, allow))
          .then(
            addresses => {
              const [first] = addresses
              if (options.all) done(null, [...addresses])
              else done(null, first?.address ?? '', first?.family ?? 4)
            },
            (error: NodeJS.ErrnoException) => done(error, '', 4),
          )
      },
    },
  })
}

/** Behind a proxy: throws for a name that resolves to a private network; one we can't resolve is left to the proxy. */
export const checkForProxy = async (
  url: URL,
  allow: Allow,
  resolve: Resolve = resolveAll,
): Promise<void> => {
  const addresses = await resolve(url.hostname).catch(() => null)
  if (addresses) checkAddresses(url.hostname, addresses, allow)
}

/** The UserError inside a connection error; null for any other reason. */
export const refusalIn = (error: unknown): UserError | null => {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1)
    if (at instanceof UserError) return at
  return null
}
