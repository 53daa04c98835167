/** The tools that depend on the home of a turn: notes, skills, session search, scheduled tasks, web and images. */
import { cronjobTool, type CronStore } from '../../agent/tools/cronjob.ts'
import { sendsImages } from '../../agent/images.ts'
import { memoryTool } from '../../agent/tools/memory.ts'
import { sessionSearchTool } from '../../agent/tools/session-search.ts'
import { skillManageTool } from '../../agent/tools/skill-manage.ts'
import { skillViewTool } from '../../agent/tools/skill-view.ts'
import { skillsListTool } from '../../agent/tools/skills-list.ts'
import { plain } from '../../agent/tools/toolbox.ts'
import { visionAnalyzeTool } from '../../agent/tools/vision-analyze.ts'
import { webExtractTool } from '../../agent/tools/web-extract.ts'
import { webSearchTool } from '../../agent/tools/web-search.ts'
import type { ModelEndpoint, Tool } from '../../agent/types.ts'
import { changeEntries, isNoteEnabled, TARGETS } from '../../profiles/memory/note-entries.ts'
import { UserError } from '../../errors.ts'
import type { Home } from '../../profiles/home.ts'
import type { Role } from '../../schema/person.ts'
import type { Skills } from '../../profiles/skills/skills.ts'
import { turnRole } from './role-guards.ts'
import { imageMode } from './images.ts'
import type { TurnScope } from './turn-scope.ts'
import { createSessionSearch, type SessionSearchOptions } from './session-search.ts'
import type { ToolSource } from './turn-tools.ts'
import { createWebServices, type WebServices, type WebServicesOptions } from './web-services.ts'

export type HomeToolsOptions = SessionSearchOptions &
  WebServicesOptions & {
    skills: Skills
    /** `role`: of who began the turn, read at each change. */
    cronOf: (home: Home, role: () => Role) => CronStore
    /** With what its server says about it. */
    currentEndpoint: (endpoint: ModelEndpoint) => ModelEndpoint
  }

const memoryOf = ({ home }: TurnScope): Tool[] => {
  const targets = TARGETS.filter(target => isNoteEnabled(home, target))
  const change: Parameters<typeof memoryTool>[0]['change'] = async (target, edit) =>
    changeEntries(home, target, edit)
  return targets.length > 0 ? [plain(memoryTool({ targets, change }))] : []
}

/** The fields of a skill that the agent reads. */
const forAgent = (skill: ReturnType<Skills['agent']['view']>) => {
  const { enabled: _, compatible: _c, read_only: _r, slug: _s, mtime: _m, ...rest } = skill
  const { version: _v, linked_files: files, ...shown } = rest
  return { ...shown, linked_files: Object.keys(files).length > 0 ? files : null }
}

/** Not described in each conversation: few need it. `about`: what it is for. */
const seldom = (tool: Tool, about: string): Tool => ({ ...tool, seldom: about })

const skillsOf = ({ home }: TurnScope, skills: Skills): Tool[] => {
  const { agent } = skills
  const list = plain(
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
  const view = plain(
    skillViewTool({
      view: name => forAgent(agent.view(home, name)),
      file: (name, file) => agent.file(home, name, file),
    }),
  )
  const manage = plain(
    skillManageTool({
      create: given => agent.create(home, given),
      edit: (name, content) => agent.edit(home, name, content),
      text: (name, file) => agent.text(home, name, file),
      remove: name => agent.remove(home, name),
      writeFile: (name, file, content) => agent.writeFile(home, name, file, content),
      removeFile: (name, file) => agent.removeFile(home, name, file),
      targetPath: (name, file, content) => agent.resolveFile(home, name, file, content),
      skillPath: (name, category) => agent.skillPath(home, name, category),
      files: name => agent.files(home, name),
    }),
  )
  // Without any skill there is nothing to follow; the user may still ask for one to be written.
  return skills.list(home).length > 0
    ? [list, view, manage]
    : [seldom(list, ''), seldom(view, ''), seldom(manage, 'writes a skill: how to do a task')]
}

const lookOf = (vision: ReturnType<WebServices['vision']>, isSeeing: boolean): Tool[] => {
  if (!vision) return []
  const tool = plain(visionAnalyzeTool(vision, isSeeing))
  return [isSeeing ? seldom(tool, 'pictures on the web') : tool]
}

const webOf = (
  { home, turn, config }: TurnScope,
  web: WebServices,
  currentEndpoint: HomeToolsOptions['currentEndpoint'],
): Tool[] => {
  const { endpoint } = turn
  const isSeeing =
    !(endpoint instanceof UserError) && sendsImages(imageMode(config), currentEndpoint(endpoint))
  const search = web.search(home)
  const vision = web.vision(home, turn.endpoint)
  return [
    ...(search ? [plain(webSearchTool(search))] : []),
    plain(webExtractTool(web.extract(home, turn.endpoint))),
    ...lookOf(vision, isSeeing),
  ]
}

/** Omits tools that the home cannot support. Disabled toolsets are removed later. */
export const homeTools = ({ skills, cronOf, ...deps }: HomeToolsOptions): ToolSource => {
  const recall = createSessionSearch(deps)
  const web = createWebServices(deps)
  return place => [
    ...memoryOf(place),
    ...skillsOf(place, skills),
    seldom(
      plain(sessionSearchTool(recall(place.home, place.sessionId))),
      'earlier conversations, and those linked as [title](chat:ID)',
    ),
    seldom(
      plain(
        cronjobTool(cronOf(place.home, () => turnRole(deps.sessions.head(place.sessionId).meta))),
      ),
      'scheduled tasks',
    ),
    ...webOf(place, web, deps.currentEndpoint),
  ]
}
