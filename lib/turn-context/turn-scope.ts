/** Where a turn happens, resolved once: its session, home, workspace and configuration. */
import { isObject } from '../base/json.ts'
import type { Home } from '../profiles/home.ts'
import type { Meta } from '../sessions/entries.ts'
import type { Turn, Unattended } from '../turns/turn.ts'

export type TurnScope = {
  turn: Turn
  sessionId: string
  home: Home
  workspace: string
  /** The session's record as it stood when the turn began. */
  meta: Meta
  /** config.yaml of the home at that moment. */
  config: Readonly<Record<string, unknown>>
  /** Null while a person may answer. */
  unattended: Unattended | null
}

/** A positive number in a section of the configuration. */
export const numberAt = (
  config: Readonly<Record<string, unknown>>,
  section: string,
  key: string,
): number | undefined => {
  const inner = config[section]
  const value = isObject(inner) && key in inner ? inner[key] : undefined
  return typeof value === 'number' && value > 0 ? value : undefined
}
