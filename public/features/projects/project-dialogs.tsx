/** Project dialogs: edit a project, move a session to a project. */
import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { Project } from '../../../lib/schema/project.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form, TextField } from '../../parts/form.tsx'
import { Picker } from '../../parts/picker.tsx'
import type { ProjectDialog, ProjectInput, Projects } from './projects.ts'
import { sessionTitle } from '../sessions/sessions.ts'
import { t } from './strings.ts'
import { useProjects, useSessions } from '../../contexts.ts'

/** Creates or edits a project; a new one gets the session it was created for. Throws the server's error. */
export const saveProject = async (
  projects: Projects,
  project: Project | null,
  input: ProjectInput,
  sessionId?: string,
): Promise<void> => {
  if (project) return projects.save(project.project_id, input)
  const newProject = await projects.create(input)
  if (sessionId) await projects.moveTo(sessionId, newProject.project_id)
}

/** Visible as a dot in every theme. */
const COLORS = [
  ['slate', '#8a93a3'],
  ['red', '#e0565b'],
  ['orange', '#e08a3c'],
  ['yellow', '#c9a227'],
  ['green', '#4fa45a'],
  ['teal', '#2fa39a'],
  ['blue', '#4a8fe0'],
  ['purple', '#9a76d6'],
] as const

type EditProps = { project: Project | null; sessionId?: string | undefined; onClose: () => void }

const Swatches = ({ value, onChange }: { value: string; onChange: (color: string) => void }) => {
  const name = useId()
  const isKnown = COLORS.some(([, color]) => color === value)
  const options: [string, string][] = [
    ['', t('projects.color.none')],
    ...COLORS.map(([key, color]): [string, string] => [color, t(`projects.color.${key}`)]),
    ...(value && !isKnown ? [[value, t('projects.color.own')] as [string, string]] : []),
  ]
  return (
    <Field
      label={t('projects.color')}
      group
      control={() => (
        <div class="swatches">
          {options.map(([color, label]) => (
            <label key={color} class="swatch" title={label}>
              <input
                type="radio"
                name={name}
                checked={color === value}
                aria-label={label}
                onChange={() => onChange(color)}
              />
              <span
                class={`dot${color ? '' : ' dot-none'}`}
                style={color ? { backgroundColor: color } : {}}
              />
            </label>
          ))}
        </div>
      )}
    />
  )
}

const EditProject = ({ project, sessionId, onClose }: EditProps) => {
  const projects = useProjects()
  const name = useSignal(project?.name ?? '')
  const color = useSignal(project?.color ?? '')
  const submit = async () => {
    const input = { name: name.value.trim(), color: color.value || null }
    await saveProject(projects, project, input, sessionId)
    onClose()
  }

  return (
    <Dialog
      title={t(project ? 'projects.edit.title' : 'projects.new')}
      closeLabel={t('app.close')}
      onClose={onClose}
    >
      <Form
        submit={t(project ? 'projects.save' : 'projects.create')}
        isIncomplete={name.value.trim() === ''}
        onSubmit={submit}
        onCancel={onClose}
      >
        <TextField label={t('projects.name')} maxLength={128} autofocus text={name} />
        <Swatches
          value={color.value}
          onChange={next => {
            color.value = next
          }}
        />
      </Form>
    </Dialog>
  )
}

const NONE = 'none'
const NEW = 'new'

const MoveDialog = ({ sessionId, onClose }: { sessionId: string; onClose: () => void }) => {
  const sessions = useSessions()
  const projects = useProjects()
  const query = useSignal('')
  const row = sessions.row(sessionId)
  const current = projects.find(row?.project_id)?.project_id
  const needle = query.value.trim().toLowerCase()
  const matches = projects.list.value.filter(({ name }) => name.toLowerCase().includes(needle))
  const options = matches.map(({ project_id, name }) => ({
    id: `p:${project_id}`,
    label: name,
    icon: 'folder' as const,
    ...(project_id === current ? { hint: '✓' } : {}),
  }))
  const others = [
    ...(current && !needle
      ? [{ id: NONE, label: t('projects.move.none'), icon: 'close' as const }]
      : []),
    { id: NEW, label: t('projects.new'), icon: 'plus' as const },
  ]
  return (
    <Dialog
      title={t('projects.move.title', { title: sessionTitle(row ?? { title: '' }) })}
      kind="palette"
      bare
      onClose={onClose}
    >
      <Picker
        label={t('projects.move')}
        placeholder={t('projects.move.search')}
        groups={[
          { label: t('projects.title'), options },
          { label: '', options: others },
        ]}
        empty={t('app.nothing')}
        query={query}
        onPick={id => {
          onClose()
          if (id === NEW) projects.openEdit(null, sessionId)
          else void projects.moveTo(sessionId, id === NONE ? null : id.slice(2))
        }}
      />
    </Dialog>
  )
}

export const ProjectDialogs = ({ dialog }: { dialog: ProjectDialog }) => {
  const projects = useProjects()
  const close = () => {
    projects.dialog.value = null
  }
  return dialog.what === 'move' ? (
    <MoveDialog sessionId={dialog.sessionId} onClose={close} />
  ) : (
    <EditProject project={dialog.project} sessionId={dialog.sessionId} onClose={close} />
  )
}
