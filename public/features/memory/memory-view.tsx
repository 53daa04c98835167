/** The memory view: the agent's notes with their size limits, edited in place. */
import { useEffect, useRef } from 'preact/hooks'
import { Markdown } from '../../markdown/markdown.tsx'
import { Button } from '../../parts/button.tsx'
import { Field, FormActions } from '../../parts/form.tsx'
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
import { ConflictNote } from '../../parts/conflict-note.tsx'
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

const Reading = ({ name, text }: { name: NoteName; text: string }) => {
  const entries = name === 'soul' ? [text.trim()].filter(Boolean) : entriesOf(text)
  if (entries.length === 0) return <EmptyNote title={t('memory.empty')} />
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
  const draft = memory.drafts.value[name]
  const conflict = memory.conflicts.value[name]
  useEffect(() => area.current?.focus(), [])
  if (!draft) return null
  const save = (overwrite = false) => void memory.save(name, { overwrite })
  return (
    <form
      class="form form-wide"
      onSubmit={event => {
        event.preventDefault()
        save()
      }}
      onKeyDown={event => {
        if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        save()
      }}
    >
      {conflict && (
        <ConflictNote
          onDiscardMine={() => memory.discardMine(name)}
          onOverwrite={() => save(true)}
        />
      )}
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
            onInput={event => memory.change(name, event.currentTarget.value)}
          />
        )}
      />
      <FormActions error={draft.problem}>
        <Button onClick={() => memory.cancel(name)}>{t('app.cancel')}</Button>
        <Button kind="primary" type="submit" disabled={draft.busy}>
          {draft.busy ? t('app.saving') : t('app.save')}
        </Button>
      </FormActions>
    </form>
  )
}

const Card = ({ memory, name, note }: { memory: MemoryState; name: NoteName; note: Note }) => {
  const draft = memory.drafts.value[name]
  const title = t(`memory.${name}`)
  return (
    <section class="note-card" aria-labelledby={`note-${name}`}>
      <header>
        <div class="note-title">
          <h2 id={`note-${name}`}>{title}</h2>
          <p class="field-hint">{t(`memory.${name}.text`)}</p>
        </div>
        {!draft && (
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
      {draft ? <Editing memory={memory} name={name} /> : <Reading name={name} text={note.text} />}
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
