/** Where the sign-ins of auth.json may be renewed. docs/sign-in.md has the reasons for each provider. Data. */

export type Issuer = {
  /** The only address that ever gets a refresh token of this provider. */
  readonly tokenUrl: string
  /** Carries the refresh token in addition to the form, as this issuer expects. */
  readonly header?: string
}

/** A provider that is not listed has no sign-in that another program may renew: an expired token needs a new sign-in. */
export const ISSUERS: ReadonlyMap<string, Issuer> = new Map([
  ['openai-codex', { tokenUrl: 'https://auth.openai.com/oauth/token' }],
  [
    'nous',
    {
      tokenUrl: 'https://portal.nousresearch.com/api/oauth/token',
      header: 'x-nous-refresh-token',
    },
  ],
])
