/** The parts of oidc-provider that the tests use; the package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  type Grant = {
    addOIDCScope(scope: string): void
    addResourceScope(resource: string, scope: string): void
    save(): Promise<string>
  }
  type Token = { aud?: string; clientId: string; jti: string; scope?: string; isExpired: boolean }

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>)
    callback(): RequestListener
    interactionDetails(
      req: IncomingMessage,
      res: ServerResponse,
    ): Promise<{
      prompt: { name: string }
      params: Record<string, string>
      session?: { accountId: string }
    }>
    interactionFinished(
      req: IncomingMessage,
      res: ServerResponse,
      result: unknown,
      options?: { mergeWithLastSubmission: boolean },
    ): Promise<void>
    AccessToken: { find(token: string): Promise<Token | undefined> }
    Grant: new (options: {
      accountId: string
      clientId: string
    }) => Grant
    on(event: string, listener: (...args: never[]) => void): void
  }
}
