/** Comments that the next message will contain, above the text of the composer. They can be changed until it is sent. */
import { isComposing } from '../../parts/composing.ts'
import { useSignal } from '@preact/signals'
import type { DiffComment } from '../../../lib/base/comment-text.ts'
import { useEffect, useRef } from 'preact/hooks'
import { visibleName, visibleWords } from '../../../lib/base/visible.ts'
import { useComposer } from '../../contexts.ts'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { fileName } from '../../parts/file-kind.ts'
import { linesText, t } from './strings.ts'

export function CommentChips() {
  const { draft: composer } = useComposer()
  const comments = composer.comments.value
  if (comments.length === 0) return null
  return (
    <ul class="review-chips" aria-label={t('chips', { count: comments.length })}>
      {comments.map((comment, index) => (
        <Chip key={index} comment={comment} />
      ))}
    </ul>
  )
}

function Chip({ comment }: { comment: DiffComment }) {
  const { draft: composer } = useComposer()
  const isEditing = useSignal(false)
  const opener = useRef<HTMLButtonElement>(null)
  const place = `${visibleName(fileName(comment.path))}, ${linesText(comment).toLowerCase()}`
  const close = () => {
    isEditing.value = false
    requestAnimationFrame(() => opener.current?.focus())
  }
  return (
    <li class={`review-chip${isEditing.value ? ' review-open' : ''}`} title={comment.quote}>
      <Icon name="diff" size={14} />
      <span class="review-place">{place}</span>
      {isEditing.value ? (
        <Editor
          text={comment.text}
          label={t('edit', { place })}
          onSave={text => {
            if (text.trim() && text !== comment.text)
              composer.changeComment(comment, { ...comment, text: text.trim() })
            close()
          }}
          onCancel={close}
        />
      ) : (
        <button
          ref={opener}
          type="button"
          class="review-said"
          aria-label={`${t('edit', { place })}: ${visibleWords(comment.text)}`}
          onClick={() => {
            isEditing.value = true
          }}
        >
          {visibleWords(comment.text)}
        </button>
      )}
      <IconButton
        icon="close"
        size={14}
        label={t('remove', { place })}
        onClick={() => composer.changeComment(comment)}
      />
    </li>
  )
}

type EditorProps = {
  text: string
  label: string
  onSave: (text: string) => void
  onCancel: () => void
}

/** Enter and leaving the field save, Escape does not. */
function Editor({ text, label, onSave, onCancel }: EditorProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const isDone = useRef(false)
  const end = (run: () => void) => {
    if (isDone.current) return
    isDone.current = true
    run()
  }
  useEffect(() => field.current?.focus(), [])
  return (
    <textarea
      ref={field}
      class="review-edit"
      aria-label={label}
      dir="auto"
      rows={Math.min(6, text.split('\n').length)}
      defaultValue={text}
      onBlur={event => end(() => onSave(event.currentTarget.value))}
      onKeyDown={event => {
        if (isComposing(event)) return
        if (event.key === 'Escape') {
          event.preventDefault()
          event.stopPropagation()
          end(onCancel)
        } else if (event.key === 'Enter' && !event.shiftKey) {
          event.preventDefault()
          const { value } = event.currentTarget
          end(() => onSave(value))
        }
      }}
    />
  )
}
