/** Projects in the sidebar: click to filter, drop a session to move it. */
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { t } from '../../strings/t.ts'
import { useProjects } from '../../contexts.ts'

export const ProjectDot = ({ color }: { color: string | null }) => (
  <span class={`dot${color ? '' : ' dot-none'}`} style={color ? { backgroundColor: color } : {}} />
)

const ProjectItems = lazy(async () => (await import('./project-items.tsx')).ProjectItems, true)

/** Folded until it is opened; then only the project that filters the list is shown. */
export const ProjectList = () => {
  const projects = useProjects()
  const list = projects.list.value
  const tags = projects.tags.value
  const isOpen = projects.open.value
  // The first project is made when a chat is moved into it.
  const isLate = list.length === 0 && projects.expected.value > 0
  if (list.length + tags.length === 0 && !isLate) return null
  const visible = list.filter(({ project_id: id }) => isOpen || projects.projectId.value === id)
  return (
    <section class="projects" aria-label={t('projects.title')}>
      {(list.length > 0 || isLate) && (
        <div class="projects-head">
          <button
            type="button"
            class="projects-toggle"
            aria-expanded={isOpen}
            onClick={() => projects.toggleOpen()}
          >
            <Icon name={isOpen ? 'chevron-down' : 'chevron-right'} size={14} />
            {t('projects.title')}
          </button>
          {isOpen && (
            <IconButton
              icon="plus"
              size={16}
              asks="POST /api/projects/create"
              label={t('projects.new')}
              onClick={() => projects.openEdit(null)}
            />
          )}
        </div>
      )}
      {isOpen || visible.length + tags.length > 0 ? (
        <div
          class="projects-body"
          style={{
            minHeight: `calc(${isLate ? projects.expected.value : visible.length} * var(--target))`,
          }}
        >
          <ProjectItems list={visible} />
        </div>
      ) : null}
    </section>
  )
}
