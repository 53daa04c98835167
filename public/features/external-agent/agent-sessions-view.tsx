/** The picker for an external agent's earlier sessions. */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { Picker } from '../../parts/picker.tsx'
import { Popover } from '../../parts/popover.tsx'
import { EarlierSessions, type EarlierSession } from './agent-sessions.ts'
import { t } from './strings.ts'
import { formatAgo } from '../../parts/relative-time.ts'
import { useChat, usePane, useSessions, useShell } from '../../contexts.ts'

/** Lists of at least this length get a search field. */
const SEARCH_FROM = 10

type AgentSessionsProps = {
  id: string
  name: string
  anchor: RefObject<HTMLElement | null>
  onClose: () => void
}

export const AgentSessions = ({ id, name, anchor, onClose }: AgentSessionsProps) => {
  const { platform, toasts, attempt } = useShell()
  const sessions = useSessions()
  const { transcript: openChat } = useChat()
  const pane = usePane()
  const query = useSignal('')
  const past = useMemo(
    () =>
      new EarlierSessions({
        platform,
        upsert: row => sessions.upsert(row),
        open: id => pane.follow(id),
        notify: note => void toasts.show(note),
      }),
    [],
  )
  useEffect(() => {
    // On failure `attempt` toasts the reason; an empty picker would hide it.
    void attempt(() => past.load(id)).then(() => past.list.value === null && onClose())
  }, [id])

  const list = past.list.value
  const now = sessions.now.value
  const words = query.value.toLowerCase().split(/\s+/)
  const titleOf = ({ title, agent_session_id }: EarlierSession) => title || agent_session_id
  const matches = (list?.sessions ?? []).filter(each =>
    words.every(word => titleOf(each).toLowerCase().includes(word)),
  )
  const hintOf = ({ session_id, updated_at }: EarlierSession) =>
    session_id ? t('here') : updated_at === null ? '' : formatAgo(updated_at, now)

  const pick = (key: string) => {
    const match = matches.find(each => each.agent_session_id === key)
    if (!match) return
    const { details, chat } = openChat
    const here = {
      id,
      isEmpty: chat.peek().messages.length === 0,
      model: details.value?.model ?? null,
      workspace: details.value?.workspace ?? '',
    }
    onClose()
    pane.focusComposer()
    void attempt(() => past.pick(here, match))
  }

  return (
    <Popover anchor={anchor} onClose={onClose} side="above" class="popover-picker">
      <Picker
        label={t('past', { name })}
        placeholder={t('past.search')}
        groups={[
          {
            label: t('past.head', { name }),
            options: matches.map(each => ({
              id: each.agent_session_id,
              label: titleOf(each),
              hint: hintOf(each),
            })),
          },
        ]}
        empty={list ? list.note || t('past.none') : t('app.loading')}
        query={(list?.sessions.length ?? 0) >= SEARCH_FROM ? query : undefined}
        onPick={pick}
      />
    </Popover>
  )
}
