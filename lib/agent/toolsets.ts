/** Our tools by name, and the toolsets that switch them: names used in the configuration, shared with the host agent. Data. */

export type ToolInfo = {
  /** Null: it cannot be switched off alone. */
  toolset: string | null
  /** What it is in the terms of the Agent Client Protocol; absent: none of these. */
  kind?: 'read' | 'edit' | 'search' | 'fetch' | 'execute' | 'think' | 'switch_mode'
  /** What precedes its preview in the title that an editor shows; absent: its name. */
  title?: string
  /** What a share link says that a call did; absent: that a tool was used. */
  shared?: string
  /**
   * The argument that a share link may show with the output. Not of tools that read files, notes, skills or other chats, and of none of
   * an MCP server, whose results can contain anything.
   */
  sharedInput?: string
}

const TOOLS: Readonly<Record<string, ToolInfo>> = {
  terminal: {
    toolset: 'terminal',
    kind: 'execute',
    shared: 'Ran a command',
    sharedInput: 'command',
  },
  process: { toolset: 'terminal', kind: 'execute', shared: 'Checked a background process' },
  read_file: { toolset: 'file', kind: 'read', title: 'Read', shared: 'Read a file' },
  write_file: { toolset: 'file', kind: 'edit', title: 'Write', shared: 'Changed a file' },
  patch: { toolset: 'file', kind: 'edit', title: 'Edit', shared: 'Changed a file' },
  search_files: { toolset: 'file', kind: 'search', title: 'Search', shared: 'Searched files' },
  execute_code: {
    toolset: 'code_execution',
    kind: 'execute',
    title: 'Run a script:',
    shared: 'Ran a script',
    sharedInput: 'code',
  },
  web_search: {
    toolset: 'web',
    kind: 'fetch',
    title: 'Search the web for',
    shared: 'Searched the web',
    sharedInput: 'query',
  },
  web_extract: {
    toolset: 'web',
    kind: 'fetch',
    title: 'Fetch',
    shared: 'Read a web page',
    sharedInput: 'urls',
  },
  vision_analyze: { toolset: 'vision', kind: 'read', shared: 'Looked at a picture' },
  skills_list: { toolset: 'skills', kind: 'read', shared: 'Used a skill' },
  skill_view: { toolset: 'skills', kind: 'read', title: 'Read the skill', shared: 'Used a skill' },
  skill_manage: { toolset: 'skills', shared: 'Used a skill' },
  memory: { toolset: 'memory', shared: 'Used its memory' },
  session_search: { toolset: 'session_search', kind: 'search', shared: 'Searched past chats' },
  todo: { toolset: 'todo', kind: 'think', title: 'To-do list:', shared: 'Updated the plan' },
  clarify: { toolset: 'clarify', shared: 'Asked a question' },
  delegate_task: { toolset: 'delegation', title: 'Delegate', shared: 'Ran a subagent' },
  cronjob: { toolset: 'cronjob', shared: 'Managed scheduled tasks' },
  exit_plan_mode: { toolset: null, kind: 'switch_mode', shared: 'Proposed a plan' },
  tool_search: { toolset: null, kind: 'search' },
}

/** Of a tool that is not ours, such as one of an MCP server, nothing is known. */
export const toolInfo = (name: string): ToolInfo =>
  (Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined) ?? { toolset: null }

export type Toolset = {
  name: string
  summary: string
  /** Empty for toolsets that only the host agent has: they stay in the configuration without effect here. */
  tools: readonly string[]
}

const SUMMARIES: Readonly<Record<string, string>> = {
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

export const TOOLSETS: readonly Toolset[] = Object.entries(SUMMARIES).map(([name, summary]) => ({
  name,
  summary,
  tools: Object.keys(TOOLS).filter(tool => toolInfo(tool).toolset === name),
}))

/** The tools that remain in a small context window. Everything else can be done with them, at the cost of more steps. */
export const SMALL_WINDOW_TOOLS: readonly string[] = [
  'terminal',
  'read_file',
  'write_file',
  'patch',
  'search_files',
  'exit_plan_mode',
]

/** In no composite: each is enabled by its own name only. */
const BY_NAME_ONLY: readonly string[] = ['moa', 'homeassistant', 'rl', 'webhook']

const platformDefault = TOOLSETS.map(({ name }) => name).filter(
  name => !BY_NAME_ONLY.includes(name),
)
const without = (...names: string[]): string[] =>
  platformDefault.filter(name => !names.includes(name))

const COMPOSITES: Readonly<Record<string, readonly string[]>> = {
  debugging: ['terminal', 'web', 'file'],
  safe: ['web', 'vision', 'image_gen', 'moa'],
  acp: without('clarify', 'messaging', 'tts', 'cronjob'),
}

/** The toolsets of a composite such as `agent-cli` (older files: `hermes-cli`); null for other names. */
export const composite = (name: string): readonly string[] | null => {
  if (name === 'debugging' || name === 'safe') return COMPOSITES[name] ?? null
  const platform = /^(?:agent|hermes)-([a-z][a-z0-9-]*)$/.exec(name)?.[1]
  return platform === undefined ? null : (COMPOSITES[platform] ?? platformDefault)
}

export const isToolset = (name: string): boolean => TOOLSETS.some(each => each.name === name)

/** The toolset of a built-in tool; undefined for MCP tools. */
export const toolsetOf = (tool: string): string | undefined => toolInfo(tool).toolset ?? undefined

/** Tool names in a toolset or composite; null when it does not exist. */
export const toolsOf = (name: string): readonly string[] | null => {
  const names = isToolset(name) ? [name] : composite(name)
  return names && TOOLSETS.filter(each => names.includes(each.name)).flatMap(({ tools }) => tools)
}
