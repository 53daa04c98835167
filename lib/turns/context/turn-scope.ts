/** The scope of a turn, resolved once: its session, home, workspace and configuration. */
import type { ProfileConfig } from '../../profiles/config.ts'
import type { Home } from '../../profiles/home.ts'
import type { Meta } from '../../sessions/entries.ts'
import type { Turn, Unattended } from '../turn.ts'

export type TurnScope = {
  turn: Turn
  sessionId: string
  home: Home
  workspace: string
  /** The session's record as of the start of the turn. */
  meta: Meta
  /** config.yaml of the home at that moment. */
  config: ProfileConfig
  /** Null for a turn with a user who can answer. */
  unattended: Unattended | null
}
