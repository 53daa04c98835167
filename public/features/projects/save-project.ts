import type { Project } from '../../../lib/schema/project.ts'
import type { ProjectInput, Projects } from './projects.ts'

/** Creates or edits a project; a new one gets the session it was created for. Throws the server's error. */
export const saveProject = async (
  projects: Projects,
  project: Project | null,
  input: ProjectInput,
  sessionId?: string,
): Promise<void> => {
  if (project) return projects.save(project.project_id, input)
  const made = await projects.create(input)
  if (sessionId) await projects.moveTo(sessionId, made.project_id)
}
