/** Finds where to sign in to an MCP server: RFC 9728 (the server), RFC 8414 or OpenID Connect (the authorization server). */
import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client'
import { unavailable, UserError } from '../../errors.ts'
import type { HttpServer } from '../config.ts'
import { type AuthFetchOptions, AuthFetch, requireTls } from './auth-fetch.ts'
import { type Challenge, reasonOf } from './token-source.ts'

export type SignInTarget = {
  metadata: AuthorizationServerMetadata
  /** RFC 8707; null when the server has no metadata of its own. */
  resource: string | null
  scope: string | undefined
}

const SCOPE_OF_REFRESH = 'offline_access'

/** Configured, else what the server asked for, else all that it knows; with a refresh token where the server knows that scope. */
const scopeOf = (
  configured: string | null,
  challengeScope: string | undefined,
  resourceScopes: readonly string[] | undefined,
  { scopes_supported: offered }: AuthorizationServerMetadata,
): string | undefined => {
  const scope = configured ?? (challengeScope || resourceScopes?.join(' '))
  if (!scope || scope.split(' ').includes(SCOPE_OF_REFRESH)) return scope || undefined
  return offered?.includes(SCOPE_OF_REFRESH) && !configured ? `${scope} ${SCOPE_OF_REFRESH}` : scope
}

/** Throws a UserError with a sentence. */
export const discover = async (
  { url, oauth }: HttpServer,
  { resourceMetadataUrl, scope: challengeScope }: Challenge,
  options: AuthFetchOptions,
): Promise<SignInTarget> => {
  requireTls(new URL(url))
  const library = await import('@modelcontextprotocol/client')
  const auth = new AuthFetch(options)
  const serverInfo = await library
    .discoverOAuthServerInfo(url, {
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
      fetchFn: auth.fetch,
    })
    .catch((error: unknown) => {
      options.signal?.throwIfAborted()
      if (error instanceof UserError) throw error
      if (error instanceof library.IssuerMismatchError)
        throw unavailable(
          'The authorization server claims to be another one, so no sign-in was started.',
          { code: 'mcp_other_server' },
        )
      const reason = reasonOf(error)
      throw unavailable(`The server does not say where to sign in: ${reason}.`, {
        code: 'mcp_sign_in_failed',
        values: { reason },
      })
    })
  const { authorizationServerMetadata: metadata, resourceMetadata } = serverInfo
  if (!metadata)
    throw (
      auth.refusal ??
      unavailable('The server does not say where to sign in.', { code: 'mcp_no_sign_in' })
    )
  const requestedResource = library.resourceUrlFromServerUrl(url)
  const configuredResource = resourceMetadata?.resource
  if (
    configuredResource !== undefined &&
    !library.checkResourceAllowed({ requestedResource, configuredResource })
  )
    throw unavailable('The server gives the address of another server for the sign-in.', {
      code: 'mcp_other_server',
    })
  requireTls(new URL(metadata.authorization_endpoint))
  return {
    metadata,
    resource: configuredResource ?? null,
    scope: scopeOf(oauth.scope, challengeScope, resourceMetadata?.scopes_supported, metadata),
  }
}
