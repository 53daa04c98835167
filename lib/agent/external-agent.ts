/** An agent of another program as the seam sees it: what is set for it, what it is given, what is kept of it. */

/** What the configuration says of one agent of another program. */
export type ExternalAgentSettings = {
  /** Added to the environment of its process, and of no other. */
  env: Readonly<Record<string, string>>
  /** How long it may take to answer first. */
  startMs?: number
  /** How long a conversation that is not used stays open in it, and how many of those at most. */
  idleMs?: number
  maxIdle?: number
  /** Whether the profile's MCP servers are passed on to it. */
  mcp: boolean
}

/** What an agent of somebody else's needs to be run for a session of ours. */
export type ExternalAgentContext = {
  /** Whose process it is: agents of two homes never share one. */
  home: string
  /** The environment of that process: nothing in it belongs to one session. */
  env: Readonly<Record<string, string>>
  /** What it is to connect to besides its own. */
  mcpServers: readonly ForwardedMcpServer[]
  /** It has named its session. */
  onTitle?: (title: string) => void
  /** What is remembered of the agent's own session. */
  load: (agent: string) => ExternalSession | null
  save: (agent: string, session: ExternalSession) => void
}

/** An MCP server as an agent is told of it. */
export type ForwardedMcpServer =
  | {
      kind: 'stdio'
      name: string
      command: string
      args: readonly string[]
      env: Readonly<Record<string, string>>
    }
  | { kind: 'http' | 'sse'; name: string; url: string; headers: Readonly<Record<string, string>> }

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
  /** What was chosen in it: its mode, and its options by id. An agent forgets them when it ends. */
  mode: string | null
  options: Readonly<Record<string, string | boolean>>
}
