/** Toolsets: the names used in the configuration, shared with the host agent, and the tools in each. Data. */

export type Toolset = {
  name: string
  summary: string
  /** Empty for toolsets that only the host agent has: they stay in the configuration without effect here. */
  tools: readonly string[]
}

export const TOOLSETS: readonly Toolset[] = [
  { name: 'terminal', summary: 'Run commands', tools: ['terminal', 'process'] },
  {
    name: 'file',
    summary: 'Read, search and change files',
    tools: ['read_file', 'write_file', 'patch', 'search_files'],
  },
  { name: 'code_execution', summary: 'Run programs that use tools', tools: ['execute_code'] },
  { name: 'web', summary: 'Search the web and read pages', tools: ['web_search', 'web_extract'] },
  { name: 'vision', summary: 'Analyze images', tools: ['vision_analyze'] },
  {
    name: 'skills',
    summary: 'Use and write skills',
    tools: ['skills_list', 'skill_view', 'skill_manage'],
  },
  { name: 'memory', summary: 'Keep notes between chats', tools: ['memory'] },
  { name: 'session_search', summary: 'Search earlier chats', tools: ['session_search'] },
  { name: 'todo', summary: 'Keep a list of steps', tools: ['todo'] },
  { name: 'clarify', summary: 'Ask you questions', tools: ['clarify'] },
  { name: 'delegation', summary: 'Give work to subagents', tools: ['delegate_task'] },
  { name: 'cronjob', summary: 'Schedule tasks', tools: ['cronjob'] },
  { name: 'browser', summary: '', tools: [] },
  { name: 'image_gen', summary: '', tools: [] },
  { name: 'tts', summary: '', tools: [] },
  { name: 'messaging', summary: '', tools: [] },
  { name: 'moa', summary: '', tools: [] },
  { name: 'homeassistant', summary: '', tools: [] },
  { name: 'rl', summary: '', tools: [] },
  { name: 'webhook', summary: '', tools: [] },
]

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
export const toolsetOf = (tool: string): string | undefined =>
  TOOLSETS.find(({ tools }) => tools.includes(tool))?.name

/** Tool names in a toolset or composite; null when it does not exist. */
export const toolsOf = (name: string): readonly string[] | null => {
  const names = isToolset(name) ? [name] : composite(name)
  return names && TOOLSETS.filter(each => names.includes(each.name)).flatMap(({ tools }) => tools)
}
