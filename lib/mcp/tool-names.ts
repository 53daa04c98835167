/** Names under which a model knows the tools of other programs: letters providers allow, no two alike, not too long. */
import { createHash } from 'node:crypto'

/** What every provider takes. */
const MAX_NAME = 64

const clean = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_')

/** Stays the same as long as server and tool do: a name of the transcript means the same tool tomorrow. */
const shorten = (name: string): string => {
  if (name.length <= MAX_NAME) return name
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, MAX_NAME - mark.length - 1)}_${mark}`
}

/** `taken` is added to. */
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
