/** Toolset settings of a profile and of a session, for the settings page. */
import { asObject } from '../../base/json.ts'
import { instructionFilesIn } from '../../agent/nested-instructions.ts'
import { composite, isToolset, toolsOf } from '../../agent/toolsets.ts'
import { TOOLSETS } from '../../base/tools.ts'
import { invalid } from '../../errors.ts'
import { isNoteEnabled, TARGETS } from '../../profiles/memory/note-entries.ts'
import type { Home } from '../../profiles/home.ts'
import type { Homes } from '../../profiles/homes.ts'
import type { Toolsets } from '../../schema/toolset.ts'
import { toConversation } from '../../sessions/history.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { SEARCH_NEEDS } from '../../web/search.ts'
import { selectToolsets, withToolset } from './enabled-toolsets.ts'
import type { PromptCache } from './prompt-cache.ts'
import type { WebServices } from './web-services.ts'

const OWN_TOOLSETS = Object.entries(TOOLSETS)
  .filter(([, summary]) => summary !== '')
  .map(([name, summary]) => ({ name, summary, tools: toolsOf(name) ?? [] }))
const MAX_NAMES = 100

const unknown = (name: string) =>
  invalid(`There is no toolset "${name.slice(0, 60)}".`, {
    toolsets: OWN_TOOLSETS.map(each => each.name),
  })

const serversOf = (home: Home): string[] => Object.keys(asObject(home.config().mcp_servers))

const checked = (home: Home, input: readonly string[]): string[] => {
  const servers = serversOf(home)
  const names = [...new Set(input.map(name => name.trim()))]
  if (names.length > MAX_NAMES) throw invalid(`At most ${MAX_NAMES} toolsets can be named.`)
  const unknownName = names.find(
    name =>
      !isToolset(name) && composite(name) === null && name !== 'no_mcp' && !servers.includes(name),
  )
  if (unknownName !== undefined) throw unknown(unknownName)
  return names
}

export class ToolsetSettings {
  readonly #sessions: Sessions
  readonly #promptCache: PromptCache
  readonly #homes: Homes
  readonly #web: WebServices

  constructor(sessions: Sessions, promptCache: PromptCache, homes: Homes, web: WebServices) {
    this.#sessions = sessions
    this.#promptCache = promptCache
    this.#homes = homes
    this.#web = web
  }

  /** A session's toolsets come from its own profile, not from the requesting one. */
  of(home: Home, sessionId: string | null): Toolsets {
    if (sessionId === null) return this.#view(home, null)
    const row = this.#sessions.require(sessionId)
    return this.#view(this.#homes.of(row.profile).lenient, row.session_id)
  }

  /** Writes `platform_toolsets.cli`, which the host agent reads too. */
  toggle(home: Home, toolset: string, on: boolean): void {
    if (!OWN_TOOLSETS.some(({ name }) => name === toolset)) throw unknown(toolset)
    const config = home.config()
    if (on && selectToolsets(config).forbidden.includes(toolset))
      throw invalid(`${toolset} is switched off by agent.disabled_toolsets in config.yaml.`, {
        code: 'toolset_disabled',
        values: { name: toolset },
      })
    home.configFile.edit(
      ['platform_toolsets', 'cli'],
      withToolset(home.configFile.read(), toolset, on),
    )
  }

  /** Sets a session's toolsets from its next turn on; null removes the override. */
  override(sessionId: string, names: readonly string[] | null): string[] | null {
    const row = this.#sessions.require(sessionId)
    const enabled_toolsets = names && checked(this.#homes.of(row.profile).lenient, names)
    this.#sessions.append(row.session_id, [{ t: 'meta', patch: { enabled_toolsets } }])
    return enabled_toolsets
  }

  #view(home: Home, sessionId: string | null): Toolsets {
    const config = home.config()
    const override = sessionId && this.#sessions.head(sessionId).meta.enabled_toolsets
    const now = selectToolsets(config, override)
    const profile = selectToolsets(config)
    const reasons = this.#reasonsOf(home)
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
      instruction_files: sessionId === null ? [] : this.#instructionFiles(sessionId),
      session_id: sessionId,
      profile: home.name,
    }
  }

  /** Why tools of the home cannot be used, by their names. */
  #reasonsOf(home: Home): ReadonlyMap<string, string> {
    const reasons = new Map<string, string>()
    if (!this.#web.search(home))
      reasons.set(
        'web_search',
        `web_search needs one of ${SEARCH_NEEDS.join(', ')} in the profile’s .env.`,
      )
    if (!this.#web.vision(home, null))
      reasons.set(
        'vision_analyze',
        'vision_analyze needs a model that can be called and accepts images.',
      )
    if (!TARGETS.some(target => isNoteEnabled(home, target)))
      reasons.set('memory', 'Both notes are switched off in config.yaml.')
    return reasons
  }

  /** What the model of a session can read: the files in its prompt, and those that tool results added since. */
  #instructionFiles(sessionId: string): string[] {
    const messages = toConversation(this.#sessions.load(sessionId))
    return [...new Set([...this.#promptCache.files(sessionId), ...instructionFilesIn(messages)])]
  }
}
