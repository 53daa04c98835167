import type { Project } from '../../../lib/schema/project.ts'
import type { SessionsFeature } from '../../contexts.ts'
import type { ProjectInput } from './projects.ts'

/** Creates or edits a project; a new one gets the session it was created for. Throws the server's error. */
export const saveProject = async (
  { projects, moveTo }: Pick<SessionsFeature, 'projects' | 'moveTo'>,
  project: Project | null,
  input: ProjectInput,
  sessionId?: string,
): Promise<void> => {
  if (project) return projects.save(project.project_id, input)
  const made = await projects.create(input)
  if (sessionId) await moveTo(sessionId, made.project_id)
}
