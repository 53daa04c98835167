/** Identifiers on the wire and their formats. */
import { z } from 'zod'

/** Ours are 12 lowercase hex digits; command-line and imported sessions use longer ids. */
export const SESSION_ID = /^[0-9A-Za-z][0-9A-Za-z_-]{0,127}$/
export const SessionId = z
  .string()
  .regex(SESSION_ID, 'Invalid session_id')
  .meta({ id: 'SessionId' })

/** The input of endpoints that act on one session. */
export const OneSession = z.object({ session_id: SessionId })

/** A profile's name, matched against the whole string; `default` is the base home. */
export const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** The id that a client gives to a message, unique in its session: the same message sent again has no effect. */
export const ClientMessageId = z
  .string()
  .regex(/^[0-9A-Za-z_-]{8,64}$/, 'Invalid client_message_id')
