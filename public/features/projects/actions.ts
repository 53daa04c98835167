/** Deletes projects, and moves sessions into them; loaded when one of these is first called. */
import type { Project } from '../../../lib/schema/project.ts'
import type { Layout } from '../shell/layout.ts'
import type { Projects } from './projects.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Toasts } from '../shell/toast.ts'
import { t } from '../../strings/t.ts'

export type ProjectActionsOptions = {
  toasts: Toasts
  sessions: Sessions
  projects: Projects
  layout: Layout
}

export const createProjectActions = ({
  toasts,
  sessions,
  projects,
  layout,
}: ProjectActionsOptions) => {
  const moveTo = async (id: string, to: string | null): Promise<undefined> => {
    const before = projects.find(sessions.row(id)?.project_id)?.project_id ?? null
    if (before === to) return undefined
    await sessions.move(id, to)
    if ((sessions.row(id)?.project_id ?? null) !== to) return undefined
    const project = projects.find(to)
    toasts.show(project ? t('projects.moved', { name: project.name }) : t('projects.moved.out'), {
      action: { label: t('row.undo'), run: () => void sessions.move(id, before) },
    })
    return undefined
  }

  return {
    moveTo,
    async confirmDeleteProject(project: Project): Promise<undefined> {
      layout.confirmation.value = {
        title: t('projects.delete.title', { name: project.name }),
        text: t('projects.delete.text'),
        confirm: t('projects.delete'),
        danger: true,
        run: () => projects.remove(project.project_id),
      }
      return undefined
    },
  }
}

export type LateProjectActions = ReturnType<typeof createProjectActions>
