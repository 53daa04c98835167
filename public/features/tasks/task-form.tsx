/** The form of a task, with a live preview of its schedule. */
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { ModelPick } from '../models/model-list.tsx'
import { Field, FormActions, TextField } from '../../parts/form.tsx'
import type { TaskDraft } from './task-draft.ts'
import type { TasksState } from './tasks.ts'
import { t } from './strings.ts'
import { formatMoment, secondsOf } from './times.ts'
import { useSessions, useShell } from '../../contexts.ts'

const examples = () => [
  t('form.example.weekdays'),
  'every 30m',
  t('form.example.tomorrow'),
  '0 9 1 * *',
]

/** A live region: it answers what is being typed. */
const PreviewText = ({
  tasks,
  id,
  isUnchanged,
}: {
  tasks: TasksState
  id: string
  isUnchanged: boolean
}) => {
  const now = useSessions().now.value
  const preview = tasks.form.preview.value
  return (
    <div class="task-preview" id={id} role="status">
      {preview.kind === 'empty' && <p class="faint">{t('form.preview.empty')}</p>}
      {preview.kind === 'invalid' && <p class="task-bad">{preview.message}</p>}
      {preview.kind === 'valid' && (
        <>
          <p class="task-said">{preview.words}</p>
          <ol class="task-nexts">
            {/* An unchanged interval keeps its own phase; these times would count from now. */}
            {(isUnchanged ? [] : preview.next).map(at => (
              <li key={at}>{formatMoment(secondsOf(at) ?? 0, now)}</li>
            ))}
          </ol>
        </>
      )}
    </div>
  )
}

const ScheduleField = ({ tasks, draft }: { tasks: TasksState; draft: TaskDraft }) => (
  <Field
    label={t('form.schedule')}
    control={({ id }) => (
      <>
        <input
          id={id}
          class="input task-when"
          // No language that is written from right to left is understood.
          dir="ltr"
          autocomplete="off"
          spellcheck={false}
          placeholder={t('form.example.weekdays')}
          aria-describedby={`${id}-said`}
          aria-invalid={tasks.form.preview.value.kind === 'invalid'}
          value={draft.schedule}
          onInput={event => tasks.form.change({ schedule: event.currentTarget.value })}
        />
        <fieldset class="task-examples">
          <legend class="sr-only">{t('form.examples')}</legend>
          {examples().map(text => (
            <button
              key={text}
              type="button"
              class="task-example"
              dir="ltr"
              onClick={() => tasks.form.change({ schedule: text })}
            >
              {text}
            </button>
          ))}
        </fieldset>
        <PreviewText
          tasks={tasks}
          id={`${id}-said`}
          isUnchanged={draft.id !== '' && draft.schedule === draft.scheduleBefore}
        />
      </>
    )}
  />
)

const ModelField = ({ tasks, draft }: { tasks: TasksState; draft: TaskDraft }) => (
  <Field
    label={t('model')}
    control={ids => (
      <ModelPick
        id={ids.id}
        describedBy={ids.describedBy}
        label={t('model')}
        selected={draft.model}
        first={[{ id: '', label: t('model.default') }]}
        onPick={model => tasks.form.change({ model })}
      />
    )}
  />
)

/** In the order of choice, which is the order they are loaded in. */
const SkillsField = ({ tasks, draft }: { tasks: TasksState; draft: TaskDraft }) => {
  const all = [...new Set([...draft.skills, ...(tasks.form.skills.value ?? [])])].toSorted()
  const toggle = (name: string) =>
    tasks.form.change({
      skills: draft.skills.includes(name)
        ? draft.skills.filter(other => other !== name)
        : [...draft.skills, name],
    })
  return (
    <Field
      label={t('skills')}
      hint={all.length === 0 && t('skills.none')}
      group
      control={() => (
        <div class="task-chips">
          {all.map(name => (
            <button
              key={name}
              type="button"
              class="task-chip"
              aria-pressed={draft.skills.includes(name)}
              onClick={() => toggle(name)}
            >
              {name}
            </button>
          ))}
        </div>
      )}
    />
  )
}

export const TaskForm = ({ tasks, draft }: { tasks: TasksState; draft: TaskDraft }) => {
  const { route } = useShell()
  const first = useRef<HTMLTextAreaElement>(null)
  const isNew = draft.id === ''
  useEffect(() => first.current?.focus(), [])
  const incomplete =
    (!draft.prompt.trim() && draft.skills.length === 0) ||
    !draft.schedule.trim() ||
    (draft.schedule !== draft.scheduleBefore && tasks.form.preview.value.kind === 'invalid')
  const save = async () => {
    const id = await tasks.form.save()
    if (id !== null) route.goWithin({ view: 'tasks', task: id }, { replace: true })
  }
  const cancel = () => {
    tasks.form.cancel()
    if (isNew) route.goWithin({ view: 'tasks', task: null }, { replace: true })
  }
  return (
    <form
      class="form form-wide"
      aria-labelledby="task-form-title"
      onSubmit={event => {
        event.preventDefault()
        if (!incomplete) void save()
      }}
    >
      <h2 class="view-title" id="task-form-title">
        {isNew ? t('form.new') : t('form.edit', { name: draft.name })}
      </h2>
      <Field
        label={t('form.prompt')}
        hint={t('form.prompt.hint')}
        control={({ id, describedBy }) => (
          <textarea
            ref={first}
            id={id}
            class="mono-area task-area"
            rows={6}
            aria-describedby={describedBy}
            value={draft.prompt}
            onInput={event => tasks.form.change({ prompt: event.currentTarget.value })}
          />
        )}
      />
      <ScheduleField tasks={tasks} draft={draft} />
      <TextField
        label={t('form.name')}
        hint={t('form.name.hint')}
        maxLength={200}
        value={draft.name}
        onInput={name => tasks.form.change({ name })}
      />
      <ModelField tasks={tasks} draft={draft} />
      <SkillsField tasks={tasks} draft={draft} />
      <details class="task-more" open={draft.script !== ''}>
        <summary>{t('form.more')}</summary>
        <TextField
          label={t('script')}
          hint={t('script.hint')}
          value={draft.script}
          onInput={script => tasks.form.change({ script })}
        />
      </details>
      <FormActions error={draft.problem}>
        <Button onClick={cancel}>{t('cancel')}</Button>
        <Button kind="primary" type="submit" disabled={draft.busy || incomplete}>
          {draft.busy ? t('saving') : t(isNew ? 'create' : 'save')}
        </Button>
      </FormActions>
    </form>
  )
}
