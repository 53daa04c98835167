/** Projects and tags in the sidebar: click to filter, drop a session to move it. */
import { DRAGGED_SESSION } from '../sessions/session-row.tsx'
import { useSignal } from '@preact/signals'
import type { Project } from '../../../lib/schema/project.ts'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { MenuButton } from '../../parts/menu-button.tsx'
import { t } from '../../strings/t.ts'
import { useProjects, useSessions } from '../../contexts.ts'

export const ProjectDot = ({ color }: { color: string | null }) => (
  <span class={`dot${color ? '' : ' dot-none'}`} style={color ? { backgroundColor: color } : {}} />
)

const ProjectItem = ({ project }: { project: Project }) => {
  const projects = useProjects()
  const sessions = useSessions()
  const over = useSignal(false)
  const { project_id: id, name } = project
  const pressed = projects.chosen.value === id
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
  if (projects.tags.value.length === 0) return null
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

export const ProjectList = () => {
  const projects = useProjects()
  const list = projects.list.value
  const isEmpty = list.length + projects.tags.value.length === 0
  const open = projects.open.value && !isEmpty
  if (isEmpty && !may('POST /api/projects/create')) return null
  return (
    <section class="projects" aria-label={t('projects.title')}>
      <div class="projects-head">
        {!isEmpty ? (
          <button
            type="button"
            class="projects-toggle"
            aria-expanded={open}
            onClick={() => projects.toggleOpen()}
          >
            <Icon name={open ? 'chevron-down' : 'chevron-right'} size={14} />
            {t('projects.title')}
          </button>
        ) : (
          <span class="projects-toggle">{t('projects.title')}</span>
        )}
        <IconButton
          icon="plus"
          size={16}
          asks="POST /api/projects/create"
          label={t('projects.new')}
          onClick={() => projects.openEdit(null)}
        />
      </div>
      {open && (
        <div class="projects-body">
          {list.length > 0 && (
            <ul>
              {list.map(project => (
                <ProjectItem key={project.project_id} project={project} />
              ))}
            </ul>
          )}
          <Tags />
        </div>
      )}
    </section>
  )
}
