/** Toolset settings of a profile and of a session, for the settings page. */
import { asObject } from '../../base/json.ts'
import { instructionFilesIn } from '../../agent/nested-instructions.ts'
import { composite, isToolset, TOOLSETS } from '../../agent/toolsets.ts'
import { invalid } from '../../errors.ts'
import { isNoteEnabled, TARGETS } from '../../profiles/memory/note-entries.ts'
import type { Home } from '../../profiles/home.ts'
import type { Toolsets } from '../../schema/toolset.ts'
import { toConversation } from '../../sessions/history.ts'
import type { Sessions } from '../../sessions/types.ts'
import { SEARCH_NEEDS } from '../../web/search.ts'
import { selectToolsets, withToolset } from './enabled-toolsets.ts'
import type { PromptCache } from './prompt-cache.ts'
import { createWebServices, type WebServicesOptions } from './web-services.ts'

export type ToolsetSettingsOptions = WebServicesOptions & {
  sessions: Pick<Sessions, 'require' | 'head' | 'load' | 'append'>
  promptCache: Pick<PromptCache, 'files'>
  homeOf: (profile: string) => Home
}

const OWN_TOOLSETS = TOOLSETS.filter(({ tools }) => tools.length > 0)
const MAX_NAMES = 100

const unknown = (name: string) =>
  invalid(`There is no toolset "${name.slice(0, 60)}".`, {
    toolsets: OWN_TOOLSETS.map(each => each.name),
  })

const serversOf = (home: Home): string[] => {
  return Object.keys(asObject(home.settings().mcp_servers))
}

export type ToolsetSettings = ReturnType<typeof createToolsetSettings>

export const createToolsetSettings = ({
  sessions,
  promptCache,
  homeOf,
  ...deps
}: ToolsetSettingsOptions) => {
  /** What the model of a session can read: the files in its prompt, and those that tool results added since. */
  const instructionFiles = (sessionId: string): string[] => [
    ...new Set([
      ...promptCache.files(sessionId),
      ...instructionFilesIn(toConversation(sessions.load(sessionId))),
    ]),
  ]

  const web = createWebServices(deps)

  const reasonsOf = (home: Home): ReadonlyMap<string, string> => {
    const reasons = new Map<string, string>()
    if (!web.search(home))
      reasons.set(
        'web_search',
        `web_search needs one of ${SEARCH_NEEDS.join(', ')} in the profile’s .env.`,
      )
    if (!web.vision(home, null))
      reasons.set(
        'vision_analyze',
        'vision_analyze needs a model that can be called and accepts images.',
      )
    if (!TARGETS.some(target => isNoteEnabled(home, target)))
      reasons.set('memory', 'Both notes are switched off in config.yaml.')
    return reasons
  }

  const checked = (home: Home, given: readonly string[]): string[] => {
    const known = serversOf(home)
    const names = [...new Set(given.map(name => name.trim()))]
    if (names.length > MAX_NAMES) throw invalid(`At most ${MAX_NAMES} toolsets can be named.`)
    const unknownName = names.find(
      name =>
        !isToolset(name) && composite(name) === null && name !== 'no_mcp' && !known.includes(name),
    )
    if (unknownName !== undefined) throw unknown(unknownName)
    return names
  }

  const view = (home: Home, sessionId: string | null): Toolsets => {
    const config = home.settings()
    const { meta } = sessionId === null ? { meta: {} } : sessions.head(sessionId)
    const override = (meta as Record<string, unknown>).enabled_toolsets
    const now = selectToolsets(config, override)
    const profile = selectToolsets(config)
    const reasons = reasonsOf(home)
    return {
      toolsets: OWN_TOOLSETS.map(({ name, summary, tools }) => ({
        name,
        summary,
        tools: tools.map(tool => ({
          name: tool,
          reason: reasons.get(tool) ?? null,
          ...(tool === 'web_search' && reasons.has(tool) ? { needs: [...SEARCH_NEEDS] } : {}),
        })),
        enabled: now.toolsets.has(name),
        profile_enabled: profile.toolsets.has(name),
        forbidden: now.forbidden.includes(name),
      })),
      mcp: serversOf(home).map(name => ({ name, enabled: now.mcp(name) })),
      source: now.source,
      enabled_toolsets: Array.isArray(override) ? override.map(String) : null,
      instruction_files: sessionId === null ? [] : instructionFiles(sessionId),
      session_id: sessionId,
      profile: home.name,
    }
  }

  return {
    /** A session's toolsets come from its own profile, not from the requesting one. */
    of(home: Home, sessionId: string | null): Toolsets {
      if (sessionId === null) return view(home, null)
      const row = sessions.require(sessionId)
      return view(homeOf(row.profile), row.session_id)
    },

    /** Writes `platform_toolsets.cli`, which the host agent reads too. */
    toggle(home: Home, toolset: string, on: boolean): void {
      if (!OWN_TOOLSETS.some(({ name }) => name === toolset)) throw unknown(toolset)
      const config = home.settings()
      if (on && selectToolsets(config).forbidden.includes(toolset))
        throw invalid(`${toolset} is switched off by agent.disabled_toolsets in config.yaml.`, {
          code: 'toolset_disabled',
          values: { name: toolset },
        })
      home.config.edit(['platform_toolsets', 'cli'], withToolset(home.config.read(), toolset, on))
    },

    /** Sets a session's toolsets from its next turn on; null removes the override. */
    override(sessionId: string, names: readonly string[] | null): string[] | null {
      const row = sessions.require(sessionId)
      const enabled_toolsets = names && checked(homeOf(row.profile), names)
      sessions.append(row.session_id, [{ t: 'meta', patch: { enabled_toolsets } }])
      return enabled_toolsets
    },
  }
}
