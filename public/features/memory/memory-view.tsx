/** The memory view: the agent's notes with their size limits, edited in place. */
import { useEffect, useRef } from 'preact/hooks'
import { Markdown } from '../../markdown/markdown.tsx'
import { Button } from '../../parts/button.tsx'
import { EditForm } from '../../parts/edit-form.tsx'
import { Field } from '../../parts/form.tsx'
import {
  countOf,
  entriesOf,
  levelOf,
  type MemoryState,
  memoryOf,
  NOTES,
  type Note,
  type NoteName,
} from './memory.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { View } from '../shell/view.tsx'
import { EmptyNote, LoadNote } from '../../parts/view-state.tsx'

const Meter = ({ text, limit, label }: { text: string; limit: number; label: string }) => {
  const count = countOf(text)
  const words = t('app.limit', { count, limit })
  const level = levelOf(count, limit)
  return (
    <div class={`note-meter note-meter-${level}`}>
      {/* biome-ignore lint/a11y/useSemanticElements: <meter> cannot be styled with the theme's colors in every browser */}
      <div
        class="note-track"
        role="meter"
        aria-label={label}
        aria-valuenow={Math.min(count, limit)}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuetext={words}
      >
        <div class="note-bar" style={{ width: `${Math.min(100, (100 * count) / limit)}%` }} />
      </div>
      <p class="field-hint">
        {words}
        {level === 'high' && <span class="field-failed"> · {t('memory.over')}</span>}
      </p>
    </div>
  )
}

type ReadingProps = { name: NoteName; text: string; onWrite: () => void }

const Reading = ({ name, text, onWrite }: ReadingProps) => {
  const entries = name === 'soul' ? [text.trim()].filter(Boolean) : entriesOf(text)
  if (entries.length === 0)
    return (
      <EmptyNote title={t('memory.empty')} text={t(`memory.${name}.example`)}>
        <Button asks="POST /api/memory/write" icon="edit" onClick={onWrite}>
          {t('memory.write')}
        </Button>
      </EmptyNote>
    )
  if (name === 'soul') return <Markdown text={text} id="soul" />
  return (
    <ul class="entries">
      {entries.map((entry, index) => (
        <li key={index}>
          <Markdown text={entry} id={`${name}-${index}`} />
        </li>
      ))}
    </ul>
  )
}

const Editing = ({ memory, name }: { memory: MemoryState; name: NoteName }) => {
  const area = useRef<HTMLTextAreaElement>(null)
  const file = memory.edited[name]
  const draft = file.draft.value
  useEffect(() => area.current?.focus(), [])
  if (!draft) return null
  return (
    <EditForm
      file={file}
      onSave={overwrite => void memory.save(name, overwrite)}
      onDiscardMine={() => memory.discardMine(name)}
    >
      <Field
        label={t(`memory.${name}`)}
        bare
        hint={name === 'soul' ? undefined : t('memory.separator')}
        control={({ id, describedBy }) => (
          <textarea
            ref={area}
            id={id}
            class="mono-area"
            rows={Math.min(24, Math.max(6, draft.text.split('\n').length + 1))}
            aria-describedby={describedBy}
            value={draft.text}
            onInput={event => file.change({ text: event.currentTarget.value })}
          />
        )}
      />
    </EditForm>
  )
}

const Card = ({ memory, name, note }: { memory: MemoryState; name: NoteName; note: Note }) => {
  const draft = memory.edited[name].draft.value
  const title = t(`memory.${name}`)
  return (
    <section class="note-card" aria-labelledby={`note-${name}`}>
      <header>
        <div class="note-title">
          <h2 id={`note-${name}`}>{title}</h2>
          <p class="field-hint">{t(`memory.${name}.text`)}</p>
        </div>
        {!draft && note.text.trim() && (
          <Button
            asks="POST /api/memory/write"
            icon="edit"
            aria-label={t('memory.edit', { name: title })}
            onClick={() => memory.edit(name)}
          >
            {t('app.edit')}
          </Button>
        )}
      </header>
      <Meter text={draft?.text ?? note.text} limit={note.limit} label={title} />
      {draft ? (
        <Editing memory={memory} name={name} />
      ) : (
        <Reading name={name} text={note.text} onWrite={() => memory.edit(name)} />
      )}
    </section>
  )
}

export const MemoryView = () => {
  const app = useApp()
  const memory = memoryOf(app)
  const profile = app.profiles.active.value
  const notes = memory.notes.value
  useEffect(() => void memory.load(), [profile])
  return (
    <View title={t('memory.title')} lead={t('memory.lead')}>
      {notes ? (
        NOTES.map(name => <Card key={name} memory={memory} name={name} note={notes[name]} />)
      ) : (
        <LoadNote
          state={memory.state.value}
          failed={t('memory.failed')}
          onRetry={() => void memory.load()}
        />
      )}
    </View>
  )
}
