/** The form of a skill: name and category, the text of SKILL.md, and conflicts. */
import { useEffect, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Field, FormActions, TextField } from '../../parts/form.tsx'
import type { SkillDraft } from './skill-draft.ts'
import type { SkillsState } from './skills.ts'
import { t } from './strings.ts'
import { ConflictNote } from '../../parts/conflict-note.tsx'
import { useShell } from '../../contexts.ts'

const MAX_CHARS = 100_000

export const SkillForm = ({ skills, draft }: { skills: SkillsState; draft: SkillDraft }) => {
  const { route } = useShell()
  const isNew = draft.of === ''
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => first.current?.focus(), [])
  const { value: conflict } = skills.form.conflict
  const length = [...draft.content].length
  const count = t('app.limit', { count: length, limit: MAX_CHARS })
  const save = async (options?: { overwrite: boolean }) => {
    const name = await skills.form.save(options)
    if (name === null) return
    await skills.read(name)
    route.goWithin({ view: 'skills', skill: name, query: '' }, { replace: !isNew })
  }
  const incomplete = (isNew && !draft.name.trim()) || !draft.content.trim() || length > MAX_CHARS
  return (
    <form
      class="form form-wide"
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
            maxLength={64}
            inputRef={first}
            value={draft.name}
            onInput={name => skills.form.change({ name })}
          />
        )}
        <TextField
          label={t('skills.category')}
          hint={t(isNew ? 'skills.category.hint' : 'skills.category.move')}
          maxLength={64}
          value={draft.category}
          options={skills.categories.value.map(({ name }) => name)}
          onInput={category => skills.form.change({ category })}
        />
      </div>
      {conflict && (
        <ConflictNote
          {...(conflict.content === null ? { text: t('skills.removed') } : {})}
          onDiscardMine={conflict.content === null ? undefined : () => skills.form.discardMine()}
          onOverwrite={() => void save({ overwrite: true })}
        />
      )}
      <Field
        label={t('skills.text')}
        hint={count}
        error={length > MAX_CHARS ? count : undefined}
        control={({ id, describedBy, isInvalid }) => (
          <textarea
            id={id}
            class="mono-area skill-area"
            spellcheck={false}
            aria-describedby={describedBy}
            aria-invalid={isInvalid}
            value={draft.content}
            onInput={event => skills.form.change({ content: event.currentTarget.value })}
          />
        )}
      />
      <FormActions error={skills.form.problem.value}>
        <Button onClick={() => skills.form.cancel()}>{t('app.cancel')}</Button>
        <Button kind="primary" type="submit" disabled={incomplete || skills.form.busy.value}>
          {skills.form.busy.value ? t('app.saving') : t('app.save')}
        </Button>
      </FormActions>
    </form>
  )
}
