/** Names of MCP tools and of their arguments: characters every provider accepts, unique, at most 64 characters. */
import { sha256 } from '../base/sha256.ts'

/** The limit of the strictest providers. */
const MAX_NAME = 64

const clean = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_')

/** Deterministic: a name in an old transcript still means the same tool. */
const shorten = (name: string): string => {
  if (name.length <= MAX_NAME) return name
  const mark = sha256(name).slice(0, 8)
  return `${name.slice(0, MAX_NAME - mark.length - 1)}_${mark}`
}

/** Adds the name to `usedNames`. */
const unique = (base: string, usedNames: Set<string>): string => {
  let name = base
  for (let number = 2; usedNames.has(name); number++) {
    const suffix = `_${number}`
    name = base.slice(0, MAX_NAME - suffix.length) + suffix
  }
  usedNames.add(name)
  return name
}

/** Adds the name to `usedNames`. */
export const toolName = (server: string, tool: string, usedNames: Set<string>): string =>
  unique(shorten(`mcp_${clean(server)}_${clean(tool)}`), usedNames)

/** What Anthropic accepts as the name of an argument. */
const ARGUMENT = /^[A-Za-z0-9_.-]{1,64}$/

/** The server's names of arguments that providers do not accept, by those that they get. */
export const argumentNames = (names: readonly string[]): Map<string, string> => {
  const usedNames = new Set(names)
  return new Map(
    names
      .filter(name => !ARGUMENT.test(name))
      .map(name => [unique(shorten(clean(name) || '_'), usedNames), name]),
  )
}
