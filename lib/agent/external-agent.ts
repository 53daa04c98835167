/** External agents in the engine's contracts: settings, what a turn passes to one, and the stored session state. Types only. */

/** Configuration of one external agent. */
export type ExternalAgentSettings = {
  /** Added to the environment of its process only. */
  env: Readonly<Record<string, string>>
  /** Startup timeout in milliseconds. */
  startMs?: number
  /** How long an unused session stays open in it, in milliseconds, and how many of them at most. */
  idleMs?: number
  maxIdle?: number
  /** What a new session begins with, by the ids that the agent offers. Without a mode, one that asks before it acts. */
  mode?: string
  model?: string
  options?: Readonly<Record<string, string | boolean>>
  /** Whether it receives the profile's MCP servers. */
  mcp: boolean
  /** It uses its own files and terminals, for example on another machine; absent: it may use those of the service. */
  files?: 'agent'
  /** The directory it works in, with files of its own; absent: the path of the workspace. */
  cwd?: string
}

/** What an external agent needs to run a turn of a session. */
export type ExternalAgentContext = {
  /** The agent home. Homes never share a process. */
  home: string
  /** Environment of the process; it must not contain anything of a single session. */
  env: Readonly<Record<string, string>>
  /** MCP servers to use besides its own. */
  mcpServers: readonly ForwardedMcpServer[]
  /** Servers that it is not given, because it might call their tools without asking. */
  withheld: readonly WithheldServer[]
  /** Called when the agent names its session. */
  onTitle?: (title: string) => void
  /** The stored state of the agent's own session. */
  load: (agent: string) => ExternalSession | null
  save: (agent: string, session: ExternalSession) => void
}

/** An MCP server, and the permission rule that names it. */
export type WithheldServer = { name: string; rule: string }

/** An MCP server as it is passed to an external agent. */
export type ForwardedMcpServer =
  | {
      kind: 'stdio'
      name: string
      command: string
      args: readonly string[]
      env: Readonly<Record<string, string>>
    }
  | { kind: 'http' | 'sse'; name: string; url: string; headers: Readonly<Record<string, string>> }

export type TokenCounts = { input: number; output: number; read: number; written: number }

/** Why an agent could not be used without a sign-in, and the ways to sign in. */
export type SignIn = {
  /** The agent's own sentence; '' if it says no more than that. */
  said: string
  /** `command`: to run in a terminal; '': the agent signs in itself when it is asked to. */
  methods: readonly { id: string; name: string; description: string; command: string }[]
}

/** Links a session of ours to the external agent's session. Stored in the journal. */
export type ExternalSession = {
  session_id: string
  /** Our session it was created for; a copy of that session must not share it. */
  owner: string
  cwd: string
  /** Which user messages the agent has answered (see `acp/history-hash.ts`). */
  mark: string
  /** The last message sent, while it is unknown whether the agent received it; otherwise ''. */
  sent: string
  /** Cost of the whole session in US dollars, as reported by the agent. */
  cost: number
  /** The last total of tokens that it reported; null: none yet, or it reports those of each turn. */
  reported: { last: TokenCounts } | null
  /** The chosen mode, and options by id. An agent loses them when its process ends. */
  mode: string | null
  options: Readonly<Record<string, string | boolean>>
}
