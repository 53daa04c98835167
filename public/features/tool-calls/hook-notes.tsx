/** What the user's hooks did about a tool call: one line each, below the line of the call. */
import type { HookActivity } from '../../../lib/schema/hook.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import { translator } from '../../strings/t.ts'

/** Loaded with the lines. */
const t = translator({
  'hooks.notes': 'Hooks',
  'hooks.blocked': 'Blocked by a hook',
  'hooks.changed': 'Changed by a hook',
  'hooks.asked': 'A hook asked for approval',
  'hooks.allowed': 'Allowed by a hook',
  'hooks.added': 'A hook added',
  'hooks.continued': 'A hook made the agent continue',
  'hooks.failed': 'A hook failed',
})

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
