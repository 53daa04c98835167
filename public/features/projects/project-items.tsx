/** What stands below the heading of the projects: loaded when they are opened, or filter the list, and with the first tag. */
import { DRAGGED_SESSION } from '../sessions/session-row.tsx'
import { useSignal } from '@preact/signals'
import type { Project } from '../../../lib/schema/project.ts'
import { MenuButton } from '../../parts/menu-button.tsx'
import { t } from '../../strings/t.ts'
import { useProjects, useSessions } from '../../contexts.ts'
import { ProjectDot } from './project-list.tsx'

const ProjectItem = ({ project }: { project: Project }) => {
  const projects = useProjects()
  const sessions = useSessions()
  const over = useSignal(false)
  const { project_id: id, name } = project
  const pressed = projects.projectId.value === id
  // Counts are exact only when all sessions are loaded.
  const count = sessions.next.value ? null : (projects.counts.value.get(id) ?? 0)
  const isOurs = (event: DragEvent) => event.dataTransfer?.types.includes(DRAGGED_SESSION)
  return (
    <li
      class={`project${over.value ? ' project-over' : ''}`}
      onDragOver={event => {
        if (!isOurs(event)) return
        event.preventDefault()
        over.value = true
      }}
      onDragLeave={() => {
        over.value = false
      }}
      onDrop={event => {
        over.value = false
        const dragged = event.dataTransfer?.getData(DRAGGED_SESSION)
        if (!dragged) return
        event.preventDefault()
        void projects.moveTo(dragged, id)
      }}
    >
      <button
        type="button"
        class="project-button"
        aria-pressed={pressed}
        title={t('projects.only', { name })}
        onClick={() => projects.toggle(id)}
      >
        <ProjectDot color={project.color} />
        <span class="project-name" dir="auto">
          {name}
        </span>
        {count !== null && (
          <span class="foot-count">
            <span aria-hidden="true">{count}</span>
            <span class="sr-only">{t('projects.count', { count })}</span>
          </span>
        )}
      </button>
      <MenuButton
        class="project-menu"
        asks="POST /api/projects/rename"
        label={t('projects.menu', { name })}
        items={() => [
          { label: t('projects.edit'), icon: 'edit', run: () => projects.openEdit(project) },
          {
            label: t('projects.delete'),
            icon: 'trash',
            danger: true,
            run: () => projects.confirmDelete(project),
          },
        ]}
      />
    </li>
  )
}

const Tags = () => {
  const projects = useProjects()
  return (
    // biome-ignore lint/a11y/useSemanticElements: toggle buttons filter at once; a fieldset groups form fields
    <div class="tags" role="group" aria-label={t('projects.tags')}>
      {projects.tags.value.map(tag => (
        <button
          key={tag}
          type="button"
          class="tag"
          aria-pressed={projects.chosenTag.value === tag}
          onClick={() => projects.toggleTag(tag)}
        >
          {`#${tag}`}
        </button>
      ))}
    </div>
  )
}

export const ProjectItems = ({ list }: { list: readonly Project[] }) => {
  const projects = useProjects()
  return (
    <>
      {list.length > 0 && (
        <ul>
          {list.map(project => (
            <ProjectItem key={project.project_id} project={project} />
          ))}
        </ul>
      )}
      {projects.tags.value.length > 0 && <Tags />}
    </>
  )
}
