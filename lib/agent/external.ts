/** What another program's agent is given beyond a request, and how its sessions are remembered. */

/** What an agent of somebody else's needs to be run for a session of ours. */
export type External = {
  /** Whose process it is: agents of two homes never share one. */
  home: string
  /** The environment of that process: nothing in it belongs to one session. */
  env: Readonly<Record<string, string>>
  /** What is remembered of the agent's own session. */
  load: (agent: string) => ExternalSession | null
  save: (agent: string, session: ExternalSession) => void
}

/** How a session of ours is known to another program's agent. Kept in the journal. */
export type ExternalSession = {
  session_id: string
  /** Ids it had before: agents may rotate them. */
  aliases: string[]
  /** The session of ours it was made for; a copy of that session must not share it. */
  owner: string
  cwd: string
  /** Which of the person's messages the agent has answered (see `marks.ts`). */
  mark: string
  /** The one that was sent last, where it is not known whether the agent took it in; '' when that is settled. */
  sent: string
  /** US dollars the agent said the whole session cost so far. */
  cost: number
}
