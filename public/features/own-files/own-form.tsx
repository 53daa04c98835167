/** The form of a command or subagent: its keys, its text, and conflicts with the file on disk. */
import { ModelPick } from '../models/model-list.tsx'
import { useEffect, useRef } from 'preact/hooks'
import { EditForm } from '../../parts/edit-form.tsx'
import { Field, TextField } from '../../parts/form.tsx'
import type { OwnDraft, OwnFilesState } from './own-files.ts'
import { t } from './strings.ts'

type FieldsProps = { files: OwnFilesState; draft: OwnDraft }

const Fields = ({ files, draft }: FieldsProps) => {
  const { kind } = files
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => first.current?.focus(), [])
  return (
    <>
      <div class="skill-fields">
        <TextField
          label={t('own.name')}
          hint={t(`own.${kind}.name.hint`)}
          inputRef={first}
          maxLength={kind === 'command' ? 200 : 64}
          {...(kind === 'command' && { dir: 'ltr' })}
          value={draft.name}
          onInput={name => files.change({ name })}
        />
        {kind === 'command' ? (
          <TextField
            label={t('own.arguments')}
            hint={t('own.arguments.hint')}
            maxLength={200}
            value={draft.arguments}
            onInput={value => files.change({ arguments: value })}
          />
        ) : (
          <Field
            label={t('own.model')}
            hint={t('own.model.hint')}
            control={({ id, describedBy }) => (
              <ModelPick
                id={id}
                describedBy={describedBy}
                label={t('own.model')}
                first={[{ id: '', label: t('own.model.default') }]}
                selected={draft.model}
                onPick={model => files.change({ model })}
              />
            )}
          />
        )}
      </div>
      <TextField
        label={t('own.description')}
        hint={t(`own.${kind}.description.hint`)}
        maxLength={1024}
        value={draft.description}
        onInput={description => files.change({ description })}
      />
      {kind === 'subagent' && (
        <TextField
          label={t('own.tools')}
          hint={t('own.tools.hint')}
          dir="ltr"
          value={draft.tools}
          onInput={tools => files.change({ tools })}
        />
      )}
    </>
  )
}

type AreaProps = { label: string; hint: string; value: string; onInput: (text: string) => void }

const Area = ({ label, hint, value, onInput }: AreaProps) => (
  <Field
    label={label}
    hint={hint}
    control={({ id, describedBy }) => (
      <textarea
        id={id}
        class="mono-area own-area"
        dir="auto"
        spellcheck={false}
        aria-describedby={describedBy}
        value={value}
        onInput={event => onInput(event.currentTarget.value)}
      />
    )}
  />
)

export type OwnFormProps = FieldsProps & { onSaved: (name: string) => void }

export const OwnForm = ({ files, draft, onSaved }: OwnFormProps) => {
  const { kind } = files
  const isNew = draft.of === ''
  const title = isNew ? t(`own.${kind}.new`) : t('own.form.edit', { name: draft.name })
  const heading = useRef(isNew ? null : title).current ?? title
  const save = async (overwrite: boolean) => {
    const name = await files.saveFile(overwrite)
    if (name !== null) onSaved(name)
  }
  return (
    <EditForm
      file={files}
      label={heading}
      isIncomplete={!draft.name.trim() || !(draft.content ?? draft.text).trim()}
      goneText={t('own.gone')}
      head={
        <>
          <h2 class="view-title">{heading}</h2>
          {draft.content === null && <Fields files={files} draft={draft} />}
        </>
      }
      onSave={overwrite => void save(overwrite)}
      onDiscardMine={() => void files.discardMine()}
    >
      {draft.content === null ? (
        <Area
          label={t(`own.${kind}.text`)}
          hint={t(`own.${kind}.text.hint`)}
          value={draft.text}
          onInput={text => files.change({ text })}
        />
      ) : (
        <Area
          label={t('own.whole')}
          hint={t('own.whole.hint', { problem: draft.problem })}
          value={draft.content}
          onInput={content => files.change({ content })}
        />
      )}
    </EditForm>
  )
}
