/** The tools that depend on the home of a turn: notes, skills, session search, scheduled tasks, web and images. */
import { languageOf } from '../../agent/code/languages.ts'
import { cronjobTool } from '../../agent/tools/cronjob.ts'
import { sendsImages } from '../../agent/images.ts'
import { executeCode } from '../../agent/tools/execute-code.ts'
import { memoryTool } from '../../agent/tools/memory.ts'
import { sessionSearchTool } from '../../agent/tools/session-search.ts'
import { skillManageTool } from '../../agent/tools/skill-manage.ts'
import { skillsListTool, skillViewTool } from '../../agent/tools/skills.ts'
import { asTool } from '../../agent/tools/toolbox.ts'
import { visionAnalyzeTool } from '../../agent/tools/vision-analyze.ts'
import { webExtractTool } from '../../agent/tools/web-extract.ts'
import { webSearchTool } from '../../agent/tools/web-search.ts'
import type { Tool } from '../../agent/types.ts'
import { AgentJobs } from '../../cron/agent-api.ts'
import { changeEntries, isNoteEnabled, TARGETS } from '../../profiles/memory/note-entries.ts'
import { UserError } from '../../errors.ts'
import type { AgentSkills } from '../../profiles/skills/agent-skills.ts'
import type { Skills } from '../../profiles/skills/skills.ts'
import { turnRole } from './role-guards.ts'
import { imageMode } from './images.ts'
import type { TurnScope } from './turn-scope.ts'
import type { Services } from './services.ts'
import { HomeSessionSearch } from './session-search.ts'

const memoryOf = ({ home }: TurnScope): Tool[] => {
  const targets = TARGETS.filter(target => isNoteEnabled(home, target))
  const change: Parameters<typeof memoryTool>[0]['change'] = async (target, edit) =>
    changeEntries(home, target, edit)
  return targets.length > 0 ? [asTool(memoryTool({ targets, change }))] : []
}

/** The fields of a skill that the agent reads. */
const forAgent = (skill: ReturnType<AgentSkills['view']>) => {
  const { enabled: _, compatible: _c, read_only: _r, slug: _s, mtime: _m, ...rest } = skill
  const { version: _v, linked_files: files, ...fields } = rest
  return { ...fields, linked_files: Object.keys(files).length > 0 ? files : null }
}

/** Not described in each conversation: few need it. `about`: what it is for. */
const seldom = (tool: Tool, about: string): Tool => ({ ...tool, seldom: about })

const skillsOf = ({ home }: TurnScope, skills: Skills): Tool[] => {
  const agent = skills.agent(home)
  const list = asTool(
    skillsListTool({
      list() {
        const rows = skills.list(home)
        return {
          skills: rows.map(({ name, description, category }) => ({
            name,
            description,
            category,
          })),
          categories: skills.categories(home, rows),
        }
      },
    }),
  )
  const view = asTool(
    skillViewTool({
      view: name => forAgent(agent.view(name)),
      file: (name, file) => agent.file(name, file),
    }),
  )
  const manage = asTool(skillManageTool(agent))
  // Without any skill there is nothing to follow; the user may still ask for one to be written.
  return skills.list(home).length > 0
    ? [list, view, manage]
    : [seldom(list, ''), seldom(view, ''), seldom(manage, 'writes a skill: how to do a task')]
}

const webOf = ({ home, turn, config }: TurnScope, services: Services): Tool[] => {
  const { web } = services
  const { endpoint } = turn
  const isSeeing =
    !(endpoint instanceof UserError) &&
    sendsImages(imageMode(config), services.models.windows.apply(endpoint))
  const search = web.search(home)
  const vision = web.vision(home, endpoint)
  const look = vision && asTool(visionAnalyzeTool(vision, isSeeing))
  return [
    ...(search ? [asTool(webSearchTool(search))] : []),
    asTool(webExtractTool(web.extract(home, endpoint))),
    ...(look ? [isSeeing ? seldom(look, 'pictures on the web') : look] : []),
  ]
}

/** Where an interpreter is installed. */
const codeOf = ({ home, config }: TurnScope): Tool[] => {
  const language = languageOf(home.childEnv().PATH ?? '')
  const { timeout, max_tool_calls: maxCalls } = config.code_execution
  return language ? [asTool(executeCode(language, { timeoutMs: timeout * 1_000, maxCalls }))] : []
}

/** Omits tools that the home cannot support. Disabled toolsets are removed later. */
export const homeTools = (scope: TurnScope, services: Services): Tool[] => {
  const { home, sessionId } = scope
  const { sessions, hostSessions, skills, cron, clock } = services
  const search = new HomeSessionSearch(sessions, hostSessions, home, sessionId)
  // Of who began the turn, read at each change.
  const role = () => turnRole(sessions.head(sessionId).meta)
  return [
    ...codeOf(scope),
    ...memoryOf(scope),
    ...skillsOf(scope, skills),
    seldom(
      asTool(sessionSearchTool(search)),
      'earlier conversations, and those linked as [title](chat:ID)',
    ),
    seldom(asTool(cronjobTool(new AgentJobs(cron().of(home), clock, role))), 'scheduled tasks'),
    ...webOf(scope, services),
  ]
}
