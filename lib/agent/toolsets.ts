/** Toolsets and composites of them, as the configuration names them. */
import { TOOLS, TOOLSETS, toolInfo } from '../base/tools.ts'

/** In no composite: each is enabled by its own name only. */
const BY_NAME_ONLY: readonly string[] = ['moa', 'homeassistant', 'rl', 'webhook']

const platformDefault = Object.keys(TOOLSETS).filter(name => !BY_NAME_ONLY.includes(name))
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

export const isToolset = (name: string): boolean => Object.hasOwn(TOOLSETS, name)

/** The toolset of a built-in tool; undefined for MCP tools, and for those in none. */
export const toolsetOf = (tool: string): string | undefined => toolInfo(tool)?.toolset ?? undefined

/** Tool names in a toolset or composite; null when it does not exist. */
export const toolsOf = (name: string): readonly string[] | null => {
  const names = isToolset(name) ? [name] : composite(name)
  return (
    names &&
    TOOLS.flatMap(({ name: tool, toolset }) => (names.includes(toolset ?? '') ? [tool] : []))
  )
}
