/** One file of a skill beside SKILL.md: viewer and editor. */
import { formatBytes } from '../../parts/file-kind.ts'
import { useId } from 'preact/hooks'
import { Markdown } from '../../markdown/markdown.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import type { FileDraft, SkillFile } from './skill-draft.ts'
import { t } from './strings.ts'

const MAX_BYTES = 1 << 20

const Form = ({ file, draft }: { file: SkillFile; draft: FileDraft }) => {
  const id = useId()
  const isTooLong = new TextEncoder().encode(draft.content).length > MAX_BYTES
  return (
    <EditForm
      file={file}
      class="skill-file-form"
      label={t('skills.form.edit', { name: draft.path })}
      isIncomplete={draft.content === '' || isTooLong}
      error={isTooLong ? t('skills.file.long') : null}
      goneText={t('skills.file.removed')}
      onSave={overwrite => void file.saveFile(overwrite)}
      onDiscardMine={() => file.discardMine()}
    >
      <label class="sr-only" for={id}>
        {t('skills.text')}
      </label>
      <textarea
        id={id}
        class="mono-area"
        spellcheck={false}
        value={draft.content}
        onInput={event => file.change({ content: event.currentTarget.value })}
      />
    </EditForm>
  )
}

export type LinkedFileProps = { file: SkillFile; skill: string; readOnly: boolean }

export const LinkedFile = ({ file, skill, readOnly }: LinkedFileProps) => {
  const { value: openFile } = file.open
  const { value: draft } = file.draft
  if (!openFile) return null
  const { path, content } = openFile
  const editing = draft?.skill === skill && draft.path === path ? draft : null
  return (
    <section class="skill-file" aria-label={path}>
      <header>
        <code>{path}</code>
        {!readOnly && !openFile.is_binary && !editing && (
          <Button asks="POST /api/skills/save" icon="edit" onClick={() => file.edit()}>
            {t('app.edit')}
          </Button>
        )}
        <IconButton
          icon="close"
          size={16}
          label={t('skills.file.close', { name: path })}
          onClick={() => file.close()}
        />
      </header>
      {editing ? (
        <Form file={file} draft={editing} />
      ) : openFile.is_binary ? (
        <p class="field-hint">{t('skills.file.binary', { size: formatBytes(openFile.size) })}</p>
      ) : /\.md$/i.test(path) ? (
        <Markdown key={openFile.version} text={content} id={`file-${path}`} />
      ) : (
        <ScrollBox class="skill-code" label={path}>
          <pre>{content}</pre>
        </ScrollBox>
      )}
    </section>
  )
}
