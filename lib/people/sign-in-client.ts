/** The client of a request as sign-ins record it. */
import type { IncomingMessage } from 'node:http'
import type { SignInClient } from './auth.ts'

type Request = { client: { address: string; via: string | undefined }; req: IncomingMessage }

export const signInClient = ({ client, req }: Request): SignInClient => ({
  address: client.address,
  via: client.via,
  agent: req.headers['user-agent'],
})
