/**
 * The tools of the engine: everything that is decided by a tool's name. A new tool is its file in lib/agent/tools, its line in
 * `toolbox.ts`, and its line here. What a call reaches is in `call-access.ts`, how it looks on the page in `describe-tool-call.ts`.
 */

export type ToolInfo = {
  name: string
  /** Null: it is in none, because it belongs to another part of the service. */
  toolset: string | null
  /** What widely used agents call a tool like it, so that their hooks, rules, and subagents work here. The preferred name first. */
  common?: readonly string[]
  /** What a permission rule for it can have a pattern about. */
  reach?: 'read' | 'write' | 'command' | 'host' | 'agent'
  /** In editors, which know these kinds; absent: another one. */
  kind?: 'read' | 'edit' | 'search' | 'fetch' | 'execute' | 'think' | 'switch_mode'
  /** What precedes its preview in the title that an editor shows; absent: its name. */
  title?: string
  /** What a share link says that a call did; absent: that a tool was used. */
  shared?: string
  /** The argument that a shared chat may show, with the output. Absent: neither, because it may contain anything. */
  sharedInput?: string
  /** It remains in a small context window. Everything else can be done with these, at the cost of more steps. */
  inSmallWindow?: true
  /** It needs a user, or would change what the user does not expect to change in an unattended turn. */
  needsUser?: true
  /** It acts for the user or outlives the task. */
  inSubagents?: false
  /** What of the profile it changes, which needs a role that may. */
  changes?: 'skills' | 'notes' | 'tasks'
  /** The part of the guards that closes it. */
  closedBy?: 'scripts' | 'memory' | 'skills'
}

export const TOOLS: readonly ToolInfo[] = [
  {
    name: 'terminal',
    toolset: 'terminal',
    common: ['Bash'],
    reach: 'command',
    kind: 'execute',
    sharedInput: 'command',
    inSmallWindow: true,
    shared: 'Ran a command',
  },
  {
    name: 'process',
    toolset: 'terminal',
    common: ['BashOutput', 'KillShell'],
    reach: 'command',
    kind: 'execute',
    shared: 'Checked a background process',
  },
  {
    name: 'read_file',
    toolset: 'file',
    common: ['Read'],
    reach: 'read',
    kind: 'read',
    title: 'Read',
    inSmallWindow: true,
    shared: 'Read a file',
  },
  {
    name: 'write_file',
    toolset: 'file',
    common: ['Write'],
    reach: 'write',
    kind: 'edit',
    title: 'Write',
    inSmallWindow: true,
    shared: 'Changed a file',
  },
  {
    name: 'patch',
    toolset: 'file',
    common: ['Edit', 'MultiEdit'],
    reach: 'write',
    kind: 'edit',
    title: 'Edit',
    inSmallWindow: true,
    shared: 'Changed a file',
  },
  {
    name: 'search_files',
    toolset: 'file',
    common: ['Grep', 'Glob'],
    reach: 'read',
    kind: 'search',
    title: 'Search',
    inSmallWindow: true,
    shared: 'Searched files',
  },
  {
    name: 'execute_code',
    toolset: 'code_execution',
    reach: 'command',
    kind: 'execute',
    title: 'Run a script:',
    sharedInput: 'code',
    closedBy: 'scripts',
    inSubagents: false,
    shared: 'Ran a script',
  },
  {
    name: 'web_search',
    toolset: 'web',
    common: ['WebSearch'],
    kind: 'fetch',
    title: 'Search the web for',
    sharedInput: 'query',
    shared: 'Searched the web',
  },
  {
    name: 'web_extract',
    toolset: 'web',
    common: ['WebFetch'],
    reach: 'host',
    kind: 'fetch',
    title: 'Fetch',
    sharedInput: 'urls',
    shared: 'Read a web page',
  },
  {
    name: 'vision_analyze',
    toolset: 'vision',
    reach: 'read',
    kind: 'read',
    shared: 'Looked at a picture',
  },
  { name: 'skills_list', toolset: 'skills', kind: 'read', shared: 'Used a skill' },
  {
    name: 'skill_view',
    toolset: 'skills',
    common: ['Skill'],
    kind: 'read',
    title: 'Read the skill',
    shared: 'Used a skill',
  },
  {
    name: 'skill_manage',
    toolset: 'skills',
    changes: 'skills',
    closedBy: 'skills',
    shared: 'Used a skill',
  },
  {
    name: 'memory',
    toolset: 'memory',
    changes: 'notes',
    closedBy: 'memory',
    needsUser: true,
    inSubagents: false,
    shared: 'Used its memory',
  },
  {
    name: 'session_search',
    toolset: 'session_search',
    kind: 'search',
    shared: 'Searched past chats',
  },
  {
    name: 'todo',
    toolset: 'todo',
    common: ['TodoWrite'],
    kind: 'think',
    title: 'To-do list:',
    shared: 'Updated the plan',
  },
  {
    name: 'clarify',
    toolset: 'clarify',
    common: ['AskUserQuestion'],
    needsUser: true,
    inSubagents: false,
    shared: 'Asked a question',
  },
  {
    name: 'delegate_task',
    toolset: 'delegation',
    common: ['Task', 'Agent'],
    reach: 'agent',
    title: 'Delegate',
    shared: 'Ran a subagent',
  },
  {
    name: 'cronjob',
    toolset: 'cronjob',
    changes: 'tasks',
    needsUser: true,
    shared: 'Managed scheduled tasks',
  },
  {
    name: 'exit_plan_mode',
    toolset: null,
    kind: 'switch_mode',
    inSmallWindow: true,
    shared: 'Proposed a plan',
  },
  { name: 'tool_search', toolset: null, kind: 'search' },
  { name: 'call_tool', toolset: null },
]

/** Toolsets: the names used in the configuration, shared with the host agent. Those without a summary exist only there. */
export const TOOLSETS: Readonly<Record<string, string>> = {
  terminal: 'Run commands',
  file: 'Read, search and change files',
  code_execution: 'Run programs that use tools',
  web: 'Search the web and read pages',
  vision: 'Analyze images',
  skills: 'Use and write skills',
  memory: 'Keep notes between chats',
  session_search: 'Search earlier chats',
  todo: 'Keep a list of steps',
  clarify: 'Ask you questions',
  delegation: 'Give work to subagents',
  cronjob: 'Schedule tasks',
  browser: '',
  image_gen: '',
  tts: '',
  messaging: '',
  moa: '',
  homeassistant: '',
  rl: '',
  webhook: '',
}

const BY_NAME: ReadonlyMap<string, ToolInfo> = new Map(TOOLS.map(tool => [tool.name, tool]))

/** Undefined for a tool of an MCP server, or of the client. */
export const toolInfo = (name: string): ToolInfo | undefined => BY_NAME.get(name)

/** Our name of a tool. Names of ours stay as they are; `mcp__server__tool` becomes `mcp_server_tool`. */
export const ownToolName = (name: string): string =>
  TOOLS.find(({ common }) => common?.includes(name))?.name ??
  name.replace(/^mcp__(.+?)__/, (_, server: string) => `mcp_${server}_`)

/** The common names of a tool of ours, the preferred one first. `server`: the MCP server it belongs to. */
export const commonToolNames = ({
  name,
  server,
}: {
  name: string
  server?: string
}): readonly string[] => {
  if (server === undefined) return toolInfo(name)?.common ?? []
  const prefix = `mcp_${server.replace(/[^A-Za-z0-9_-]/g, '_')}_`
  return name.startsWith(prefix)
    ? [`mcp__${prefix.slice('mcp_'.length, -1)}__${name.slice(prefix.length)}`]
    : []
}
