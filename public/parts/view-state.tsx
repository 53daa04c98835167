/** What a view or a list shows in place of its content: loading, failed, or empty. */
import type { ComponentChildren } from 'preact'
import { t } from '../strings/t.ts'
import { Button } from './button.tsx'
import type { LoadState } from './load-state.ts'

export const LoadingNote = () => (
  <p class="view-note" role="status">
    {t('app.loading')}
  </p>
)

export type LoadNoteProps = {
  /** Everything but `failed` is shown as loading. */
  state: LoadState | 'idle'
  /** Sentence for a failed load. */
  failed: string
  onRetry: () => void
}

export const LoadNote = ({ state, failed, onRetry }: LoadNoteProps) =>
  state === 'failed' ? (
    <div class="view-note" role="alert">
      <p>{failed}</p>
      <Button icon="refresh" onClick={onRetry}>
        {t('list.retry')}
      </Button>
    </div>
  ) : (
    <LoadingNote />
  )

export type Example = { label: string; text: string; onUse: () => void }

type BeginningProps = {
  title: string
  text: string
  /** Written into a form when clicked. */
  examples?: readonly Example[]
  /** The button that begins without an example. */
  children?: ComponentChildren
}

/** In the middle of a view that has nothing yet. */
export const Beginning = ({ title, text, examples = [], children }: BeginningProps) => (
  <div class="beginning">
    <h2 class="view-title">{title}</h2>
    <p>{text}</p>
    {examples.length > 0 && (
      <ul>
        {examples.map(({ label, text: more, onUse }) => (
          <li key={label}>
            <button type="button" class="beginning-example" onClick={onUse}>
              <span>{label}</span>
              <span class="field-hint">{more}</span>
            </button>
          </li>
        ))}
      </ul>
    )}
    {children}
  </div>
)

export type EmptyNoteProps = {
  /** What is missing, without a full stop: "No tasks yet". */
  title: string
  /** A sentence: what appears here, or how to add the first. */
  text?: string
  /** A button. */
  children?: ComponentChildren
}

export const EmptyNote = ({ title, text, children }: EmptyNoteProps) => (
  <div class="view-note" role="status">
    <p class="view-note-title">{title}</p>
    {text && <p>{text}</p>}
    {children}
  </div>
)
