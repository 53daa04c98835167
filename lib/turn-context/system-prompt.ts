/** What the model is told before the conversation: gathered from home and workspace once a session, and kept as it was. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import {
  type SkillsIndex,
  stablePrompt,
  systemPrompt,
  needsToolEnforcement,
} from '../agent/prompt.ts'
import { toolsetOf } from '../agent/toolsets.ts'
import type { Tool } from '../agent/types.ts'
import { UserError } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import type { Sessions } from '../sessions/types.ts'
import { contextFiles } from './context-files.ts'
import { dayOf } from '../base/time-zone.ts'
import type { TurnScope } from './turn-scope.ts'
import type { PromptCache } from './prompt-cache.ts'
import { readText } from '../store/read-text.ts'

export type SystemPromptOptions = {
  /** Where answers are read, when it is not the page. */
  surface?: 'terminal'
  sessions: Pick<Sessions, 'head'>
  promptCache: Pick<PromptCache, 'getOrBuild'>
  /** The active personality's text; empty when there is none or it has gone from the configuration. */
  personality: (home: Home, name: string | null) => string
  /** What the home's notes say. */
  memory: (home: Home) => string
  /** The skills that are of use beside these tools. */
  skills: (home: Home, active: { tools: string[]; toolsets: string[] }) => SkillsIndex
}

/** None, or none that can be read: the agent is itself without it. The page names a file that is damaged. */
const readIfThere = (path: string): string => readText(path).text ?? ''

export const createSystemPrompt =
  ({ surface, sessions, promptCache, personality, memory, skills }: SystemPromptOptions) =>
  (place: TurnScope, tools: readonly Tool[], forbidden: readonly string[]): string => {
    const { turn, sessionId, home, workspace, meta, config, unattended } = place
    const { created_at, spans } = sessions.head(sessionId)
    const { model, provider } =
      turn.endpoint instanceof UserError ? { model: '', provider: '' } : turn.endpoint
    // Tools of other programs come and go; nothing in the prompt hangs on them.
    const own = tools.map(({ name }) => name).filter(name => toolsetOf(name) !== undefined)
    const soul = readIfThere(join(home.dir, 'SOUL.md'))
    const startDay = dayOf(created_at, config.timezone)
    const fixed = {
      soul,
      tools: own.toSorted(),
      enforceTools: needsToolEnforcement(model, config.agent.tool_use_enforcement),
      instructions: config.agent.system_prompt,
      startDay,
      model,
      provider,
      platform: process.platform,
      ...(surface && { surface }),
    }
    // Notes, skills and files of the workspace are as they were when the conversation began, or was last compressed.
    const basis = createHash('sha256')
      .update(
        JSON.stringify([
          fixed,
          home.dir,
          workspace,
          unattended !== null,
          config.memory,
          spans.map(({ n }) => n),
        ]),
      )
      .digest('hex')
    const stable = promptCache.getOrBuild(sessionId, basis, () =>
      stablePrompt({
        ...fixed,
        memory: unattended ? '' : memory(home),
        skills: skills(home, {
          tools: tools.map(({ name }) => name),
          toolsets: [...new Set(own.flatMap(name => toolsetOf(name) ?? []))],
        }),
        context: contextFiles(workspace, forbidden),
      }),
    )
    return systemPrompt(stable, {
      workspace,
      personality: personality(home, meta.personality ?? null),
      preamble: unattended?.preamble ?? '',
    })
  }
