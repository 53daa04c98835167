/** A real authorization server (oidc-provider) and a real MCP server that accepts only its tokens, on free ports. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import Provider from 'oidc-provider'

export type ProtectedOptions = {
  /** Seconds. */
  accessTokenTtl?: number
  /** Overrides what the MCP server says about its authorization server (RFC 9728). */
  metadata?: (real: Record<string, unknown>) => Record<string, unknown>
  /** The scope that `tools/call` requires (RFC 6750 §3.1). */
  callScope?: string
  /** Registers clients only with redirect addresses of this machine. */
  isLoopbackOnly?: boolean
  /** The person refuses. */
  denies?: boolean
}

export type Hit = { path: string; token: string | null; body: string }

const listen = (server: Server): Promise<string> =>
  new Promise(resolve =>
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ),
  )

const read = async (req: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const json = (res: ServerResponse, status: number, value: unknown, headers = {}) =>
  res
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(value))

const close = (server: Server) =>
  new Promise(resolve => {
    server.close(resolve)
    server.closeAllConnections()
  })

export type ProtectedServer = Awaited<ReturnType<typeof startProtected>>

export const startProtected = async (options: ProtectedOptions = {}) => {
  const { accessTokenTtl = 3_600 } = options
  /** Requests to the MCP server, and token requests. */
  const hits: Hit[] = []
  const state = {
    authDown: false,
    rejectAll: false,
    denies: options.denies ?? false,
    /** Called for each token request, which waits for it. */
    onTokenRequest: async () => {},
  }

  const resourceServer = createServer()
  const origin = await listen(resourceServer)
  const url = `${origin}/mcp`
  const authServer = createServer()
  const issuer = await listen(authServer)

  const provider = new Provider(issuer, {
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: async () => ({ sub: id }),
    }),
    scopes: ['openid', 'offline_access', 'mcp', 'mcp:write'],
    pkce: { required: () => true },
    cookies: { keys: ['tests'] },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    ttl: {
      AccessToken: accessTokenTtl,
      AuthorizationCode: 60,
      Grant: 86_400,
      Interaction: 600,
      RefreshToken: 86_400,
      Session: 86_400,
    },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'mcp mcp:write',
          accessTokenFormat: 'opaque',
          accessTokenTTL: accessTokenTtl,
        }),
      },
    },
  })
  const asProvider = provider.callback()

  /** Signs in and consents at once, as a person would do in the browser. */
  const interact = async (req: IncomingMessage, res: ServerResponse) => {
    const { prompt, params, session } = await provider.interactionDetails(req, res)
    if (state.denies)
      return provider.interactionFinished(req, res, {
        error: 'access_denied',
        error_description: '<b>no</b>',
      })
    if (prompt.name === 'login')
      return provider.interactionFinished(req, res, { login: { accountId: 'ada' } })
    const { client_id: clientId = '', scope = '', resource } = params
    const grant = new provider.Grant({ accountId: session?.accountId ?? 'ada', clientId })
    grant.addOIDCScope(scope)
    if (resource) grant.addResourceScope(resource, scope)
    return provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } })
  }
  authServer.on('request', async (req, res) => {
    const path = (req.url ?? '').split('?')[0] ?? ''
    if (state.authDown) return json(res, 503, {})
    if (path.startsWith('/interaction/')) return interact(req, res)
    hits.push({ path: `auth:${path}`, token: null, body: req.url ?? '' })
    if (path === '/reg' && options.isLoopbackOnly) {
      const client = JSON.parse((await read(req)).toString())
      if (!/^http:\/\/127\./.test(client.redirect_uris[0]))
        return json(res, 400, { error: 'invalid_redirect_uri' })
      Object.assign(req, { body: client })
    }
    if (path === '/token') await state.onTokenRequest()
    return asProvider(req, res)
  })

  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'protected', version: '1' })
    server.registerTool('whoami', { description: 'Says who you are' }, async () => ({
      content: [{ type: 'text', text: 'ada' }],
    }))
    return server
  })
  const metadataPath = '/.well-known/oauth-protected-resource/mcp'
  const challenge = (more = '') => ({
    'WWW-Authenticate': `Bearer resource_metadata="${origin}${metadataPath}"${more}`,
  })
  resourceServer.on('request', async (req, res) => {
    const path = (req.url ?? '').split('?')[0] ?? ''
    if (path === metadataPath) {
      const real = { resource: url, authorization_servers: [issuer], scopes_supported: ['mcp'] }
      return json(res, 200, options.metadata?.(real) ?? real)
    }
    const body = await read(req)
    const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? null
    hits.push({ path, token, body: body.toString() })
    if (path !== '/mcp') return json(res, 404, {})
    const found = token === null ? undefined : await provider.AccessToken.find(token)
    if (state.rejectAll || !found || found.isExpired || found.aud !== url)
      return json(res, 401, { error: 'invalid_token' }, challenge())
    const { callScope } = options
    if (callScope && body.includes('"tools/call"') && !found.scope?.split(' ').includes(callScope))
      return json(
        res,
        403,
        { error: 'insufficient_scope' },
        challenge(`, error="insufficient_scope", scope="${callScope}"`),
      )
    const answer = await handler.fetch(
      new Request(`${origin}${req.url}`, {
        method: req.method ?? 'GET',
        headers: Object.entries(req.headers).map(([name, value]) => [name, String(value)]),
        ...(req.method === 'POST' && { body: body.toString() }),
      }),
    )
    res.writeHead(answer.status, Object.fromEntries(answer.headers))
    for await (const chunk of answer.body ?? []) res.write(chunk)
    return res.end()
  })

  return {
    url,
    issuer,
    hits,
    state,
    provider,
    async close() {
      await Promise.all([close(authServer), close(resourceServer), handler.close()])
    },
  }
}

/** Opens the page of the authorization server as a browser does; returns the address it is sent to at the end. */
export const browse = async (address: string, until: (url: URL) => boolean): Promise<string> => {
  const cookies = new Map<string, string>()
  let at = new URL(address)
  for (let hop = 0; hop < 20; hop++) {
    const answer = await fetch(at, {
      redirect: 'manual',
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const cut = pair.indexOf('=')
      cookies.set(pair.slice(0, cut), pair.slice(cut + 1))
    }
    const location = answer.headers.get('location')
    if (location === null) throw new Error(`${at.href}: ${answer.status} ${await answer.text()}`)
    at = new URL(location, at)
    if (until(at)) return at.href
  }
  throw new Error('too many redirects')
}
