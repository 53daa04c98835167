/** The system prompt: built from home and workspace once per session, then cached. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { arch, release, type as systemType } from 'node:os'
import { fromSeconds } from '../../base/clock.ts'
import { stablePrompt, systemPrompt, needsToolEnforcement } from '../../agent/prompt.ts'
import { toolsetOf } from '../../agent/toolsets.ts'
import type { Tool, ReadScope } from '../../agent/types.ts'
import { UserError } from '../../errors.ts'
import { memoryPrompt } from '../../profiles/memory/memory.ts'
import { personalityPrompt } from '../../profiles/personalities.ts'
import { subagentFiles } from '../../profiles/skills/subagent-files.ts'
import { contextFiles, projectRoot } from './context-files.ts'
import { dayOf } from '../../base/time-zone.ts'
import { rulesBasis, rulesFor } from './permissions/home-rules.ts'
import type { TurnScope } from './turn-scope.ts'
import type { Services } from './services.ts'
import { readText } from '../../store/read-text.ts'
import { shellOf } from '../../agent/tools/foreground-command.ts'
import { hiddenGuard } from '../../agent/tools/allowed-paths.ts'
import { findThreat } from '../../base/prompt-injection.ts'
import { realPath } from '../../store/path-within.ts'
import { gitFacts } from './git-facts.ts'
import { projectFacts } from './project-facts.ts'

/** `PRETTY_NAME` of os-release(5), such as `Debian GNU/Linux 12 (bookworm)`; empty where there is none. */
const distribution = (): string =>
  /^PRETTY_NAME=["']?([^"'\n]{1,80})/m.exec(readText('/etc/os-release').text ?? '')?.[1] ?? ''

/** Anyone may choose a file name or a commit subject: one that gives instructions is left out with its line. */
const withoutThreat = (line: string): string => {
  const threat = findThreat(line)
  return threat ? `${line.slice(0, line.indexOf(':'))}: left out, it contains ${threat}.` : line
}

/** The lines of the prompt's environment section. Never throws for the contents of the disk. `timeoutMs`: of each git command. */
export const environmentFacts = async (
  workspace: string,
  scope: ReadScope,
  limits: { timeoutMs?: number } = {},
): Promise<string> => {
  const { PATH = '', HOME = '' } = scope.env
  const system = [distribution(), `${systemType()} ${release()}`, arch()].filter(Boolean).join(', ')
  const machine = `- System: ${system}; shell: ${shellOf(scope.env)}${HOME === '' ? '' : `; home directory: ${HOME}`}`
  const root = realPath(workspace)
  const isHidden = hiddenGuard(scope)
  if (isHidden(root)) return machine
  const repository = projectRoot(root)
  const lines = [
    ...projectFacts({ root: repository, isHidden }, root),
    ...(await gitFacts(repository, { path: PATH, userHome: HOME, ...limits })),
  ]
  return [machine, ...lines.map(withoutThreat)].join('\n')
}

/** `files`: absolute paths of the instruction files in the text. */
export type SystemPrompt = { text: string; files: readonly string[] }

/** Empty for a missing or unreadable file; the page reports damaged ones. */
const readIfThere = (path: string): string => readText(path).text ?? ''

/** `contextLength`: the short form, for a window of that many tokens. */
export const promptOf = async (
  scope: TurnScope,
  { config: service, runners, sessions, promptCache, skills, surface, observer }: Services,
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
  const isDirect = !unattended && !runners.runnerFor({ home, workspace, owner: sessionId })
  const { mode, outside_sandbox: asksAbout = service.outsideSandbox } = config.approvals
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
      memory: unattended ? '' : memoryPrompt(home),
      skills: skills.index(home, {
        tools: tools.map(({ name }) => name),
        toolsets: [...new Set(own.flatMap(name => toolsetOf(name) ?? []))],
      }),
      subagents: subagentFiles(home),
      context,
      facts: await environmentFacts(workspace, readable),
    })
    return { text: built, files: context.map(({ path }) => path) }
  })
  const whole = systemPrompt(text, {
    workspace,
    personality: personalityPrompt(config, meta.personality ?? null) ?? '',
    preamble: unattended?.preamble ?? turn.client?.instructions ?? '',
  })
  observer?.prompt(sessionId, whole)
  return { text: whole, files }
}
