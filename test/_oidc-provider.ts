/** A real OpenID Connect provider for tests, on a free port. Who signs in there, and what it says about them, is up to the test. */
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'

export const CLIENT = { id: 'agent', secret: 'client-secret-of-the-test' }

export type ProviderUser = { sub: string; email?: string; email_verified?: boolean; name?: string }

/** What the provider passes to its hooks; the package has no types. */
type Ctx = {
  oidc: {
    provider: {
      Grant: new (of: {
        clientId: string
        accountId: string
      }) => { addOIDCScope(scope: string): void; save(): Promise<string> }
    }
    client: { clientId: string }
    session: { accountId: string }
  }
}

export type TestProvider = Awaited<ReturnType<typeof startProvider>>

const signingKey = () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256', kid: 'test' }
}

/** `redirectUris`: where it may send the browser. */
export const startProvider = async (redirectUris: () => string[]) => {
  const given: { user: ProviderUser | null } = { user: null }
  const users = new Map<string, ProviderUser>()
  const requests: string[] = []

  const make = (issuer: string) =>
    new Provider(issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: redirectUris(),
          id_token_signed_response_alg: 'ES256',
        },
      ],
      jwks: { keys: [signingKey()] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
      cookies: { keys: ['test'] },
      ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
      interactions: { url: (_: Ctx, { uid }: { uid: string }) => `/interaction/${uid}` },
      findAccount: (_: Ctx, id: string) => ({
        accountId: id,
        claims: () => ({ ...users.get(id), sub: id }),
      }),
      async loadExistingGrant({ oidc }: Ctx) {
        const grant = new oidc.provider.Grant({
          clientId: oidc.client.clientId,
          accountId: oidc.session.accountId,
        })
        grant.addOIDCScope('openid email profile')
        await grant.save()
        return grant
      },
    })

  let provider: ReturnType<typeof make> | undefined
  let issuer = ''

  /** Signs the current user in without asking, or lets the person cancel. */
  const interact = async (req: IncomingMessage, res: ServerResponse) => {
    const { user } = given
    if (user) users.set(user.sub, user)
    await provider!.interactionFinished(
      req,
      res,
      user ? { login: { accountId: user.sub, remember: false } } : { error: 'access_denied' },
    )
  }

  const server = createServer((req, res) => {
    requests.push(req.url ?? '')
    provider ??= make(issuer)
    if (req.url?.startsWith('/interaction/')) void interact(req, res)
    else void provider.callback()(req, res)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    issuer,
    /** Paths that were asked for. */
    requests,
    /** Who signs in next; null: the person cancels. */
    signInAs(user: ProviderUser | null): void {
      given.user = user
    },
    async close(): Promise<void> {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** A browser without a page: it keeps cookies and follows redirects. */
export const createBrowser = () => {
  const jars = new Map<string, Map<string, string>>()
  const jarOf = (url: URL) => {
    const jar = jars.get(url.host) ?? new Map<string, string>()
    jars.set(url.host, jar)
    return jar
  }

  const request = async (address: string, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(address)
    const jar = jarOf(url)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const reply = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { ...(cookie && { cookie }), ...(init.headers as Record<string, string>) },
    })
    for (const line of reply.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const at = pair.indexOf('=')
      const name = pair.slice(0, at)
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name)
      else jar.set(name, pair.slice(at + 1))
    }
    return reply
  }

  return {
    request,
    cookies: (address: string) => jarOf(new URL(address)),
    /** Follows redirects up to the first address that `isEnd` accepts, which is not requested. Absent: to the end. */
    async open(address: string, isEnd: (url: URL) => boolean = () => false): Promise<URL> {
      let url = new URL(address)
      for (let hop = 0; hop < 15; hop += 1) {
        if (isEnd(url)) return url
        const reply = await request(url.href)
        await reply.arrayBuffer()
        const location = reply.headers.get('location')
        if (location === null) return url
        url = new URL(location, url)
      }
      throw new Error(`too many redirects: ${url}`)
    },
  }
}
