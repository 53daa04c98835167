/** Tool names of MCP tools: characters every provider accepts, unique, at most 64 characters. */
import { createHash } from 'node:crypto'

/** The limit of the strictest providers. */
const MAX_NAME = 64

const clean = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_')

/** Deterministic: a name in an old transcript still means the same tool. */
const shorten = (name: string): string => {
  if (name.length <= MAX_NAME) return name
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, MAX_NAME - mark.length - 1)}_${mark}`
}

/** Adds the name to `taken`. */
export const toolName = (server: string, tool: string, taken: Set<string>): string => {
  const wanted = shorten(`mcp_${clean(server)}_${clean(tool)}`)
  let name = wanted
  for (let number = 2; taken.has(name); number++) {
    const suffix = `_${number}`
    name = wanted.slice(0, MAX_NAME - suffix.length) + suffix
  }
  taken.add(name)
  return name
}
