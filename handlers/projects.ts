/** Projects: named, colored groups of sessions. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { invalid, missing } from '../lib/errors.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { Project } from '../lib/schema/project.ts'
import { SessionRow } from '../lib/schema/session.ts'

const Name = z.string('name required')
const Color = z.string('Invalid color format').nullable().optional()
const Id = z.string('project_id required').min(1, 'project_id required').max(128)
const One = z.object({ ok: z.literal(true), project: Project })

/** A project may have chats of several profiles. It is shown to those who may read one of them. */
const visibleProjects = async ({ app, person: { profiles } }: Ctx): Promise<readonly Project[]> => {
  const projects = app.projects.list()
  if (profiles === null) return projects
  await app.sessions.catchUp()
  const ids = new Set(app.sessions.projectsOf(profiles))
  return projects.filter(({ project_id }) => ids.has(project_id))
}

const isIt =
  (id: string | null) =>
  ({ project_id }: Project): boolean =>
    project_id === id

export const list = endpoint({
  access: 'read',
  summary: 'All projects, in order of creation',
  output: z.object({ projects: z.array(Project) }),
  run: async ctx => ({ projects: [...(await visibleProjects(ctx))] }),
})

export const create = endpoint({
  once: 'disk',
  access: 'own',
  summary: 'Create a project',
  input: z.object({ name: Name, color: Color }),
  output: One,
  run: (ctx, input) => ({ ...ok, project: ctx.app.projects.create(input) }),
})

export const rename = endpoint({
  access: 'own',
  summary: 'Rename a project, and change its color when one is given',
  input: z.object({ project_id: Id, name: Name, color: Color }),
  output: One,
  run: (ctx, { project_id, ...input }) => ({
    ...ok,
    project: ctx.app.projects.rename(project_id, input),
  }),
})

export const remove = endpoint({
  access: 'own',
  summary: 'Delete a project; its sessions are kept',
  input: z.object({ project_id: Id }),
  output: Ok,
  run: async (ctx, { project_id }) => {
    await ctx.app.sessions.catchUp()
    await ctx.app.projects.remove(project_id)
    return ok
  },
})

export const move = endpoint({
  access: 'work',
  summary: 'Move a session into a project, or out of it',
  input: z.object({ session_id: SessionId, project_id: z.string().max(128).nullish() }),
  output: z.object({ ok: z.literal(true), session: SessionRow }),
  run: async (ctx, { session_id, project_id }) => {
    const { session_id: id, project_id: before } = ctx.app.sessions.require(session_id)
    const patch = { project_id: project_id?.trim() || null }
    if (patch.project_id?.match(/[\p{Cc}]/u)) throw invalid('Invalid project_id')
    const isNew = patch.project_id !== null && patch.project_id !== before
    if (
      isNew &&
      !ctx.may('own', null) &&
      !(await visibleProjects(ctx)).some(isIt(patch.project_id))
    )
      throw missing('Project not found', { code: 'project_not_found' })
    if (patch.project_id !== before) ctx.app.sessions.append(id, [{ t: 'meta', patch }])
    return { ...ok, session: ctx.app.sessions.require(id) }
  },
})
