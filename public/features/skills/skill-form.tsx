/** The form of a skill: name and category, the text of SKILL.md, and conflicts. */
import { useEffect, useRef } from 'preact/hooks'
import { EditForm } from '../../parts/edit-form.tsx'
import { Field, TextField } from '../../parts/form.tsx'
import { isDescribed, type SkillDraft } from './skill-draft.ts'
import type { SkillsState } from './skills.ts'
import { t } from './strings.ts'
import { useShell } from '../../contexts.ts'

const MAX_CHARS = 100_000

export const SkillForm = ({ skills, draft }: { skills: SkillsState; draft: SkillDraft }) => {
  const { route } = useShell()
  const isNew = draft.of === ''
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => first.current?.focus(), [])
  const length = [...draft.content].length
  const count = t('app.limit', { count: length, limit: MAX_CHARS })
  const save = async (overwrite: boolean) => {
    const name = await skills.form.saveSkill(overwrite)
    if (name === null) return
    await skills.read(name)
    route.goWithin({ view: 'skills', skill: name, query: '' }, { replace: !isNew })
  }
  const title = isNew ? t('skills.form.new') : t('skills.form.edit', { name: draft.of })
  return (
    <EditForm
      file={skills.form}
      label={title}
      isIncomplete={
        (isNew && !draft.name.trim()) ||
        !draft.content.trim() ||
        length > MAX_CHARS ||
        !isDescribed(draft)
      }
      goneText={t('skills.removed')}
      head={
        <>
          <h2 class="view-title">{title}</h2>
          <div class="skill-fields">
            {isNew && (
              <TextField
                label={t('skills.name')}
                hint={t('skills.name.hint')}
                maxLength={64}
                inputRef={first}
                value={draft.name}
                onInput={name => skills.form.rename(name)}
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
        </>
      }
      onSave={overwrite => void save(overwrite)}
      onDiscardMine={() => skills.form.discardMine()}
    >
      <Field
        label={t('skills.text')}
        hint={isDescribed(draft) ? count : t('skills.describe')}
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
    </EditForm>
  )
}
