/** One file of a skill beside SKILL.md: viewer and editor. */
import { formatBytes } from '../../parts/file-kind.ts'
import { useId } from 'preact/hooks'
import { Markdown } from '../../markdown/markdown.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { FormActions } from '../../parts/form.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import type { FileDraft, SkillFile } from './open-skill-file.ts'
import { t } from './strings.ts'
import { ConflictNote } from '../../parts/conflict-note.tsx'

const MAX_BYTES = 1 << 20

const Form = ({ file, draft }: { file: SkillFile; draft: FileDraft }) => {
  const id = useId()
  const { value: conflict } = file.conflict
  const isTooLong = new TextEncoder().encode(draft.content).length > MAX_BYTES
  const blocked = draft.content === '' || isTooLong || file.busy.value
  return (
    <form
      class="form form-wide skill-file-form"
      aria-label={t('skills.form.edit', { name: draft.path })}
      onSubmit={event => {
        event.preventDefault()
        void file.save()
      }}
      onKeyDown={event => {
        if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        if (!blocked) void file.save()
      }}
    >
      {conflict && (
        <ConflictNote
          {...(conflict.content === null ? { text: t('skills.file.removed') } : {})}
          onDiscardMine={conflict.content === null ? undefined : file.discardMine}
          onOverwrite={() => void file.save({ overwrite: true })}
        />
      )}
      <label class="sr-only" for={id}>
        {t('skills.text')}
      </label>
      <textarea
        id={id}
        class="mono-area"
        spellcheck={false}
        value={draft.content}
        onInput={event => file.change(event.currentTarget.value)}
      />
      <FormActions error={isTooLong ? t('skills.file.long') : file.problem.value}>
        <Button onClick={file.cancel}>{t('app.cancel')}</Button>
        <Button kind="primary" type="submit" disabled={blocked}>
          {file.busy.value ? t('app.saving') : t('app.save')}
        </Button>
      </FormActions>
    </form>
  )
}

export type LinkedFileProps = { file: SkillFile; skill: string; readOnly: boolean }

export const LinkedFile = ({ file, skill, readOnly }: LinkedFileProps) => {
  const { value: found } = file.open
  const { value: draft } = file.draft
  if (!found) return null
  const { path, content } = found
  const editing = draft?.skill === skill && draft.path === path ? draft : null
  return (
    <section class="skill-file" aria-label={path}>
      <header>
        <code>{path}</code>
        {!readOnly && !found.is_binary && !editing && (
          <Button asks="POST /api/skills/save" icon="edit" onClick={file.edit}>
            {t('app.edit')}
          </Button>
        )}
        <IconButton
          icon="close"
          size={16}
          label={t('skills.file.close', { name: path })}
          onClick={file.close}
        />
      </header>
      {editing ? (
        <Form file={file} draft={editing} />
      ) : found.is_binary ? (
        <p class="field-hint">{t('skills.file.binary', { size: formatBytes(found.size) })}</p>
      ) : /\.md$/i.test(path) ? (
        <Markdown key={found.version} text={content} id={`file-${path}`} />
      ) : (
        <ScrollBox class="skill-code" label={path}>
          <pre>{content}</pre>
        </ScrollBox>
      )}
    </section>
  )
}
