/** The form of a skill: name and category, the text of SKILL.md, and conflicts. */
import { useEffect, useId, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import type { SkillDraft } from './skill-draft.ts'
import type { SkillsState } from './skills.ts'
import { t } from './strings.ts'
import { ConflictNote } from '../../parts/conflict-note.tsx'
import { useShell } from '../../contexts.ts'

const MAX_CHARS = 100_000

type FieldProps = {
  label: string
  hint: string
  value: string
  list?: readonly string[]
  focus?: boolean
  onInput: (text: string) => void
}

const TextField = ({ label, hint, value, list, focus, onInput }: FieldProps) => {
  const id = useId()
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (focus) ref.current?.focus()
  }, [])
  return (
    <div class="skill-field">
      <label for={id}>{label}</label>
      <input
        ref={ref}
        id={id}
        class="input"
        maxLength={64}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={`${id}-hint`}
        list={list ? `${id}-list` : undefined}
        value={value}
        onInput={event => onInput(event.currentTarget.value)}
      />
      <p id={`${id}-hint`} class="field-hint">
        {hint}
      </p>
      {list && (
        <datalist id={`${id}-list`}>
          {list.map(name => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </div>
  )
}

export const SkillForm = ({ skills, draft }: { skills: SkillsState; draft: SkillDraft }) => {
  const { route } = useShell()
  const id = useId()
  const isNew = draft.of === ''
  const { value: conflict } = skills.conflict
  const length = [...draft.content].length
  const save = async (options?: { overwrite: boolean }) => {
    const name = await skills.save(options)
    if (name === null) return
    await skills.read(name)
    route.go({ view: 'skills', skill: name, query: '' }, { replace: !isNew })
  }
  const incomplete = (isNew && !draft.name.trim()) || !draft.content.trim() || length > MAX_CHARS
  return (
    <form
      class="skill-form"
      aria-label={isNew ? t('skills.form.new') : t('skills.form.edit', { name: draft.of })}
      onSubmit={event => {
        event.preventDefault()
        void save()
      }}
      onKeyDown={event => {
        if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        if (!incomplete) void save()
      }}
    >
      <h2 class="view-title">
        {isNew ? t('skills.form.new') : t('skills.form.edit', { name: draft.of })}
      </h2>
      <div class="skill-fields">
        {isNew && (
          <TextField
            label={t('skills.name')}
            hint={t('skills.name.hint')}
            value={draft.name}
            focus
            onInput={name => skills.change({ name })}
          />
        )}
        <TextField
          label={t('skills.category')}
          hint={t(isNew ? 'skills.category.hint' : 'skills.category.move')}
          value={draft.category}
          list={skills.categories.value.map(({ name }) => name)}
          onInput={category => skills.change({ category })}
        />
      </div>
      {conflict && (
        <ConflictNote
          {...(conflict.content === null ? { text: t('skills.removed') } : {})}
          onDiscardMine={conflict.content === null ? undefined : () => skills.discardMine()}
          onOverwrite={() => void save({ overwrite: true })}
        />
      )}
      <div class="skill-text">
        <label for={id}>{t('skills.text')}</label>
        <textarea
          id={id}
          class="mono-area"
          spellcheck={false}
          aria-describedby={`${id}-count`}
          aria-invalid={length > MAX_CHARS}
          value={draft.content}
          onInput={event => skills.change({ content: event.currentTarget.value })}
        />
      </div>
      <div class="form-foot">
        <p id={`${id}-count`} class={`field-hint${length > MAX_CHARS ? ' field-failed' : ''}`}>
          {t('app.limit', { count: length, limit: MAX_CHARS })}
        </p>
        <p class="form-error" role="alert">
          {skills.problem.value}
        </p>
        <div class="form-actions">
          <Button onClick={() => skills.cancel()}>{t('app.cancel')}</Button>
          <Button kind="primary" type="submit" disabled={incomplete || skills.busy.value}>
            {skills.busy.value ? t('app.saving') : t('app.save')}
          </Button>
        </div>
      </div>
    </form>
  )
}
