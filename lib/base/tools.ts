/**
 * The tools of the engine: everything that is decided by a tool's name. A new tool is its file in lib/agent/tools, its line in
 * `toolbox.ts`, and its line here.
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
  /** What the host agent calls a tool like it, in its sessions. */
  also?: readonly string[]
  /** Its arguments that are text of a file, which the page shows while the model writes them. */
  texts?: readonly string[]
  /** How the page shows a call. Absent: by the name of the tool, as a tool of an MCP server. */
  shown?: ShownCall
}

export type ShownCall = {
  icon:
    | 'terminal'
    | 'file'
    | 'edit'
    | 'search'
    | 'globe'
    | 'checklist'
    | 'brain'
    | 'star'
    | 'clock'
    | 'image'
    | 'question'
    | 'branch'
  /** The words that the page has as `verb.…`: by the action of the call, where it has one that is listed. */
  verb: string
  verbs?: Readonly<Record<string, string>>
  /** The argument that the words are about: the first one that there is. */
  about?: readonly string[]
  isCode?: true
  /** Further arguments that the line of the call, or its result, says. */
  implied?: readonly string[]
}

/** Models also write the names that other agents use; the call ran with ours. */
const PATH = ['path', 'file_path', 'filePath', 'absolute_path']

export const TOOLS: readonly ToolInfo[] = [
  {
    name: 'terminal',
    shown: { icon: 'terminal', verb: 'ran', about: ['command', 'cmd'], isCode: true },
    also: ['shell', 'bash'],
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
    shown: {
      icon: 'terminal',
      verb: 'process.read',
      verbs: {
        list: 'process.list',
        wait: 'process.wait',
        kill: 'process.kill',
        write: 'process.send',
        submit: 'process.send',
        close: 'process.send',
      },
      about: ['session_id'],
      isCode: true,
      implied: ['action', 'timeout'],
    },
    toolset: 'terminal',
    common: ['BashOutput', 'KillShell'],
    reach: 'command',
    kind: 'execute',
    shared: 'Checked a background process',
  },
  {
    name: 'read_file',
    shown: { icon: 'file', verb: 'read', about: PATH, isCode: true, implied: ['offset', 'limit'] },
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
    shown: { icon: 'edit', verb: 'wrote', about: PATH, isCode: true },
    texts: ['content'],
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
    shown: { icon: 'edit', verb: 'edited', about: [...PATH, 'patch', 'input'], isCode: true },
    texts: ['new_string', 'patch'],
    also: ['edit_file'],
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
    shown: { icon: 'search', verb: 'searched', about: ['pattern'] },
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
    shown: { icon: 'terminal', verb: 'script' },
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
    shown: { icon: 'globe', verb: 'web', about: ['query'] },
    toolset: 'web',
    common: ['WebSearch'],
    kind: 'fetch',
    title: 'Search the web for',
    sharedInput: 'query',
    shared: 'Searched the web',
  },
  {
    name: 'web_extract',
    shown: { icon: 'globe', verb: 'read', about: ['urls'] },
    also: ['fetch'],
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
    shown: { icon: 'image', verb: 'image', about: ['image_url', 'image', 'path'] },
    toolset: 'vision',
    reach: 'read',
    kind: 'read',
    shared: 'Looked at a picture',
  },
  {
    name: 'skills_list',
    shown: { icon: 'star', verb: 'skills', about: ['category'] },
    toolset: 'skills',
    kind: 'read',
    shared: 'Used a skill',
  },
  {
    name: 'skill_view',
    shown: { icon: 'star', verb: 'skill', about: ['name'] },
    toolset: 'skills',
    common: ['Skill'],
    kind: 'read',
    title: 'Read the skill',
    shared: 'Used a skill',
  },
  {
    name: 'skill_manage',
    shown: {
      icon: 'star',
      verb: 'skill.changed',
      verbs: { create: 'skill.created', delete: 'skill.deleted' },
      about: ['name'],
      implied: ['action'],
    },
    toolset: 'skills',
    changes: 'skills',
    closedBy: 'skills',
    shared: 'Used a skill',
  },
  {
    name: 'memory',
    shown: {
      icon: 'brain',
      verb: 'memory',
      about: ['content', 'old_text'],
      implied: ['action', 'target'],
    },
    toolset: 'memory',
    changes: 'notes',
    closedBy: 'memory',
    needsUser: true,
    inSubagents: false,
    shared: 'Used its memory',
  },
  {
    name: 'session_search',
    shown: { icon: 'search', verb: 'sessions', about: ['query'] },
    toolset: 'session_search',
    kind: 'search',
    shared: 'Searched past chats',
  },
  {
    name: 'todo',
    shown: { icon: 'checklist', verb: 'planned' },
    toolset: 'todo',
    common: ['TodoWrite'],
    kind: 'think',
    title: 'To-do list:',
    shared: 'Updated the plan',
  },
  {
    name: 'clarify',
    shown: { icon: 'question', verb: 'question', about: ['question'] },
    toolset: 'clarify',
    common: ['AskUserQuestion'],
    needsUser: true,
    inSubagents: false,
    shared: 'Asked a question',
  },
  {
    name: 'delegate_task',
    shown: { icon: 'branch', verb: 'subagent', about: ['goal', 'tasks'] },
    also: ['subagent_progress'],
    toolset: 'delegation',
    common: ['Task', 'Agent'],
    reach: 'agent',
    title: 'Delegate',
    shared: 'Ran a subagent',
  },
  {
    name: 'cronjob',
    shown: {
      icon: 'clock',
      verb: 'task.changed',
      verbs: { create: 'task.created', list: 'task.list', remove: 'task.removed', run: 'task.ran' },
      about: ['name', 'job_id'],
      implied: ['action', 'schedule', 'prompt'],
    },
    toolset: 'cronjob',
    changes: 'tasks',
    needsUser: true,
    shared: 'Managed scheduled tasks',
  },
  {
    name: 'exit_plan_mode',
    shown: { icon: 'checklist', verb: 'plan' },
    toolset: null,
    kind: 'switch_mode',
    inSmallWindow: true,
    shared: 'Proposed a plan',
  },
  {
    name: 'tool_search',
    shown: { icon: 'search', verb: 'tools', about: ['query'] },
    toolset: null,
    kind: 'search',
  },
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

/** By a name of the host agent, too. */
export const shownCall = (name: string): ShownCall | undefined =>
  (toolInfo(name) ?? TOOLS.find(({ also }) => also?.includes(name)))?.shown

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
