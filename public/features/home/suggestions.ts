/** Up to three suggestions for what to do first, from facts about the workspace and the chats. */
import type { CommandsHere } from '../../../lib/schema/command-place.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { IconName } from '../../parts/icon.tsx'
import { sessionTitle } from '../sessions/sessions.ts'
import { t } from './strings.ts'

export type Facts = {
  commands: CommandsHere
  empty: boolean
  readme: boolean
  test_command: string | null
  changed_files: number | null
  todos: number | null
}
/** Either a text for the composer, or a chat to open. */
export type Suggestion = { icon: IconName; label: string; hint: string } & (
  | { prompt: string }
  | { session: string }
)

const MAX = 3

/** A chat whose last turn failed or was interrupted. */
const unfinished = (rows: readonly SessionRow[]): Suggestion[] => {
  const row = rows.find(({ archived }) => !archived)
  if (!row || (row.last_turn !== 'failed' && row.last_turn !== 'interrupted')) return []
  return [
    {
      icon: 'undo',
      label: t('suggest.resume', { title: sessionTitle(row) }),
      hint: t('suggest.resume.hint'),
      session: row.session_id,
    },
  ]
}

const ofFacts = (facts: Facts): Suggestion[] => {
  const { empty, readme, test_command: command } = facts
  if (empty)
    return [
      {
        icon: 'plus',
        label: t('suggest.start'),
        hint: t('suggest.start.hint'),
        prompt: t('suggest.start.prompt'),
      },
    ]
  const suggestions: (Suggestion | null)[] = [
    facts.changed_files
      ? {
          icon: 'diff',
          label: t('suggest.changes'),
          hint: t('suggest.changes.hint', { count: facts.changed_files }),
          prompt: t('suggest.changes.prompt'),
        }
      : null,
    command
      ? {
          icon: 'terminal',
          label: t('suggest.tests'),
          hint: command,
          prompt: t('suggest.tests.prompt', { command }),
        }
      : null,
    facts.todos
      ? {
          icon: 'checklist',
          label: t('suggest.todos'),
          hint: t('suggest.todos.hint', { count: facts.todos }),
          prompt: t('suggest.todos.prompt'),
        }
      : null,
    readme
      ? {
          icon: 'skill',
          label: t('suggest.explain'),
          hint: t('suggest.explain.hint'),
          prompt: t('suggest.explain.prompt'),
        }
      : {
          icon: 'file',
          label: t('suggest.readme'),
          hint: t('suggest.readme.hint'),
          prompt: t('suggest.readme.prompt'),
        },
  ]
  return suggestions.filter(one => one !== null)
}

/** `rows`: the chats, newest first. `facts`: null until they are loaded, or when they could not be. */
export const suggestionsFor = (
  facts: Facts | null,
  rows: readonly SessionRow[],
): readonly Suggestion[] => [...unfinished(rows), ...(facts ? ofFacts(facts) : [])].slice(0, MAX)
