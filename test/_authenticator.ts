/** The virtual authenticator of Chromium: passkeys without a person. */
import type { CDPSession, Page } from 'playwright-core'

/** Confirms every request at once. Returns its id for commands of the protocol. */
export const addAuthenticator = async (page: Page): Promise<[CDPSession, string]> => {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return [cdp, authenticatorId]
}
