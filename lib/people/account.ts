/** A name for the person who is signed in, by which their browser tags what it stores. */
import { createHmac } from 'node:crypto'

const CHARACTERS = 16
/** Who signs in with the password, and who uses a server without one. */
const OWNER = 'owner'

/** The same for all sign-ins of a person; another one on another installation, which may have the same address. Not secret. */
export const accountOf = (key: Buffer, person: string = OWNER): string =>
  createHmac('sha256', key).update(`account\n${person}`).digest('hex').slice(0, CHARACTERS)
