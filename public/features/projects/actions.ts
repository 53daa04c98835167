/** Deletes projects, and moves sessions into them; loaded with the first use. */
import type { Project } from '../../../lib/schema/project.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Layout } from '../shell/layout.ts'
import type { Toasts } from '../shell/toast.ts'
import { t } from './action-strings.ts'
import type { Projects } from './projects.ts'

type Options = { toasts: Toasts; sessions: Sessions; projects: Projects; layout: Layout }

export const moveSession = async (
  { toasts, sessions, projects }: Options,
  id: string,
  to: string | null,
): Promise<void> => {
  const before = projects.find(sessions.row(id)?.project_id)?.project_id ?? null
  if (before === to) return
  await sessions.move(id, to)
  if ((sessions.row(id)?.project_id ?? null) !== to) return
  const project = projects.find(to)
  toasts.show(project ? t('projects.moved', { name: project.name }) : t('projects.moved.out'), {
    action: { label: t('row.undo'), run: () => void sessions.move(id, before) },
  })
}

export const confirmDelete = ({ layout, projects }: Options, project: Project): void => {
  layout.confirmation.value = {
    title: t('projects.delete.title', { name: project.name }),
    text: t('projects.delete.text'),
    confirm: t('projects.delete'),
    danger: true,
    run: () => projects.remove(project.project_id),
  }
}
