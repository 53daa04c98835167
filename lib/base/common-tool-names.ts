/** The names that widely used agents give to tools like ours, so that their hooks and subagents work here as well. */

/** Common name → ours. Of several common names, the preferred one comes first. */
const COMMON: Readonly<Record<string, string>> = {
  Bash: 'terminal',
  BashOutput: 'process',
  KillShell: 'process',
  Read: 'read_file',
  Write: 'write_file',
  Edit: 'patch',
  MultiEdit: 'patch',
  Grep: 'search_files',
  Glob: 'search_files',
  WebFetch: 'web_extract',
  WebSearch: 'web_search',
  Task: 'delegate_task',
  Agent: 'delegate_task',
  TodoWrite: 'todo',
  AskUserQuestion: 'clarify',
  Skill: 'skill_view',
}

/** Our name of a tool. Names of ours stay as they are; `mcp__server__tool` becomes `mcp_server_tool`. */
export const ownToolName = (name: string): string =>
  Object.hasOwn(COMMON, name)
    ? (COMMON[name] ?? name)
    : name.replace(/^mcp__(.+?)__/, (_, server: string) => `mcp_${server}_`)

/** The common names of a tool of ours, the preferred one first. `server`: the MCP server it belongs to. */
export const commonToolNames = ({ name, server }: { name: string; server?: string }): string[] => {
  if (server === undefined)
    return Object.entries(COMMON).flatMap(([common, own]) => (own === name ? [common] : []))
  const prefix = `mcp_${server.replace(/[^A-Za-z0-9_-]/g, '_')}_`
  return name.startsWith(prefix)
    ? [`mcp__${prefix.slice('mcp_'.length, -1)}__${name.slice(prefix.length)}`]
    : []
}
