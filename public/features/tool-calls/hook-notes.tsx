/** What the user's hooks did about a tool call: one line each, below the line of the call. */
import type { HookActivity } from '../../../lib/schema/hook.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import { t } from './hook-notes-strings.ts'

export function HookNotes({ notes }: { notes: readonly HookActivity[] }) {
  return (
    <ul class="hook-notes" aria-label={t('hooks.notes')}>
      {notes.map((note, index) => (
        <li key={index} title={`${note.event}: ${visibleText(note.hook)}`}>
          {t(`hooks.${note.action}`)}
          {note.text && (
            <>
              {': '}
              <span dir="auto">{visibleText(note.text)}</span>
            </>
          )}
        </li>
      ))}
    </ul>
  )
}
