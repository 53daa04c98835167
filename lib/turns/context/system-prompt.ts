/** The system prompt: built from home and workspace once per session, then cached. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { fromSeconds } from '../../base/clock.ts'
import {
  type SkillsIndex,
  stablePrompt,
  systemPrompt,
  needsToolEnforcement,
} from '../../agent/prompt.ts'
import { toolsetOf } from '../../agent/toolsets.ts'
import type { OutsidePolicy, Tool } from '../../agent/types.ts'
import { UserError } from '../../errors.ts'
import type { Home } from '../../profiles/home.ts'
import type { Sessions } from '../../sessions/types.ts'
import { contextFiles } from './context-files.ts'
import { environmentFacts } from './environment-facts.ts'
import { dayOf } from '../../base/time-zone.ts'
import { rulesBasis, rulesFor } from './permissions/home-rules.ts'
import type { RunnerFor } from './plan-mode.ts'
import type { TurnScope } from './turn-scope.ts'
import type { PromptCache } from './prompt-cache.ts'
import { readText } from '../../store/read-text.ts'

export type SystemPromptOptions = {
  /** Where responses are shown; the page when absent. */
  surface?: 'terminal'
  sessions: Pick<Sessions, 'head'>
  promptCache: Pick<PromptCache, 'getOrBuild'>
  /** The active personality's text; empty when there is none. */
  personality: (home: Home, name: string | null) => string
  /** The text of the home's notes. */
  memory: (home: Home) => string
  /** The skills that apply with these tools. */
  skills: (home: Home, active: { tools: string[]; toolsets: string[] }) => SkillsIndex
  /** The subagents of the user. */
  subagents: (home: Home) => readonly { name: string; description: string }[]
  /** Where commands run; undefined: directly on this computer. */
  runnerFor: RunnerFor
  /** Where `approvals.outside_sandbox` says nothing. */
  outsideSandbox: OutsidePolicy
}

/** `files`: absolute paths of the instruction files in the text. */
export type SystemPrompt = { text: string; files: readonly string[] }

/** Empty for a missing or unreadable file; the page reports damaged ones. */
const readIfThere = (path: string): string => readText(path).text ?? ''

export const createSystemPrompt =
  ({
    surface,
    sessions,
    promptCache,
    personality,
    memory,
    skills,
    subagents,
    runnerFor,
    outsideSandbox,
  }: SystemPromptOptions) =>
  async (
    scope: TurnScope,
    tools: readonly Tool[],
    forbidden: readonly string[],
    contextLength?: number,
  ): Promise<SystemPrompt> => {
    const { turn, sessionId, home, workspace, meta, config, unattended } = scope
    const { created_at, spans } = sessions.head(sessionId)
    const { model, provider } =
      turn.endpoint instanceof UserError ? { model: '', provider: '' } : turn.endpoint
    // MCP tools come and go; the prompt must not change with them.
    const own = tools.map(({ name }) => name).filter(name => toolsetOf(name) !== undefined)
    const isDirect = !unattended && !runnerFor({ home, workspace, owner: sessionId, readable: [] })
    const { mode, outside_sandbox: asksAbout = outsideSandbox } = config.approvals
    const soul = readIfThere(join(home.dir, 'SOUL.md'))
    const startDay = dayOf(fromSeconds(created_at), config.timezone)
    const fixed = {
      soul,
      tools: own.toSorted(),
      enforceTools: needsToolEnforcement(model, config.agent.tool_use_enforcement),
      // A program that gets the answer has no use for sentences on the way to it.
      isWatched: unattended === null && !turn.client,
      asks: isDirect ? (mode === 'off' ? ('nothing' as const) : asksAbout) : null,
      instructions: config.agent.system_prompt,
      startDay,
      model,
      provider,
      ...(surface && { surface }),
      ...(contextLength && { contextLength }),
    }
    // Notes, skills, context files and facts are as of the start of the session or its last compaction.
    const basis = createHash('sha256')
      .update(
        JSON.stringify([
          fixed,
          home.dir,
          workspace,
          unattended !== null,
          config.memory,
          spans.map(({ n }) => n),
          ...rulesBasis(config),
        ]),
      )
      .digest('hex')
    const { text, files } = await promptCache.getOrBuild(sessionId, basis, async () => {
      const env = home.childEnv()
      const readable = { env, forbidden, rules: rulesFor(home, workspace, env) }
      const context = contextFiles(workspace, readable)
      const built = stablePrompt({
        ...fixed,
        memory: unattended ? '' : memory(home),
        skills: skills(home, {
          tools: tools.map(({ name }) => name),
          toolsets: [...new Set(own.flatMap(name => toolsetOf(name) ?? []))],
        }),
        subagents: subagents(home),
        context,
        facts: await environmentFacts(workspace, readable),
      })
      return { text: built, files: context.map(({ path }) => path) }
    })
    const whole = systemPrompt(text, {
      workspace,
      personality: personality(home, meta.personality ?? null),
      preamble: unattended?.preamble ?? turn.client?.instructions ?? '',
    })
    return { text: whole, files }
  }
