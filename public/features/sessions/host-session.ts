/** Tells host sessions (those of the host agent's CLI) from sessions of this server. */
import type { SessionRow } from '../../../lib/schema/session.ts'

/** A session of the host agent that was not imported yet: it can be read and deleted, but not changed. */
export const isHostSession = (row: SessionRow | undefined): boolean =>
  row?.is_cli_session === true && row._cli_origin === undefined
