/** Below the composer of an empty chat: what waits for the person, suggestions for the workspace, and recent chats where the sidebar is not in sight. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { useChat, useComposer, useInbox, useSessions, useShell } from '../../contexts.ts'
import { Icon } from '../../parts/icon.tsx'
import { formatAgo } from '../../parts/relative-time.ts'
import { previewOf, sessionTitle } from '../sessions/sessions.ts'
import { lazy } from '../../parts/lazy.tsx'
import { may } from '../../parts/may.ts'
import { t } from './strings.ts'
import { type Facts, type Suggestion, suggestionsFor } from './suggestions.ts'

/** Its sentences of the server are long. */
const CommandsLine = lazy(
  async () => (await import('./commands-line.tsx')).CommandsLine,
  true,
  true,
  // The page is complete without it.
  () => null,
)

const MAX_RECENT = 4

type SectionProps = { title: string; children: ComponentChildren }

const Section = ({ title, children }: SectionProps) => (
  <section aria-label={title}>
    <h3>{title}</h3>
    {children}
  </section>
)

const Row = ({ row, state }: { row: SessionRow; state: ComponentChildren }) => {
  const { route } = useShell()
  const sessions = useSessions()
  const preview = previewOf(row)
  return (
    <li>
      <a class="home-row" href={route.hrefOf({ view: 'chat', sessionId: row.session_id })}>
        <span class="home-title" dir="auto">
          {sessionTitle(row)}
        </span>
        {preview && (
          <span class="home-preview" dir="auto">
            {preview}
          </span>
        )}
        <span class="home-state">{state ?? formatAgo(row.updated_at, sessions.now.value)}</span>
      </a>
    </li>
  )
}

const stateOf = ({ last_turn }: SessionRow): ComponentChildren => {
  if (last_turn === 'failed') return <span class="home-bad">{t('recent.failed')}</span>
  if (last_turn === 'interrupted') return <span class="home-warn">{t('recent.interrupted')}</span>
  return null
}

const Suggested = ({ suggestion }: { suggestion: Suggestion }) => {
  const { route, layout } = useShell()
  const { draft: composer } = useComposer()
  const { icon, label, hint } = suggestion
  const use = () => {
    if ('session' in suggestion) return route.openSession(suggestion.session)
    // Written into the composer, so that it can be changed first. A draft is not overwritten.
    const { value } = composer.text
    composer.edit(value.trim() ? `${value.trimEnd()}\n\n${suggestion.prompt}` : suggestion.prompt)
    layout.composerFocus.value += 1
  }
  return (
    <li>
      <button type="button" class="home-suggestion" onClick={use}>
        <Icon name={icon} size={18} />
        <span class="home-title">{label}</span>
        <span class="home-preview">{hint}</span>
      </button>
    </li>
  )
}

/** `path`: the workspace of the new chat. `suggests`: there is a model that can follow suggestions. */
export const HomeView = ({ path, suggests }: { path: string; suggests: boolean }) => {
  const sessions = useSessions()
  const inbox = useInbox()
  const { api, layout, route } = useShell()
  const { transcript: chat } = useChat()
  const facts = useSignal<Facts | null>(null)
  /** Recent chats come with the suggestions above them, so that they stay where they are. */
  const isSettled = useSignal(false)
  const mayStart = may('GET /api/workspaces/facts')
  useEffect(() => {
    let isCurrent = true
    facts.value = null
    isSettled.value = !mayStart
    if (!mayStart) return
    api('GET /api/workspaces/facts', { path }).then(
      reply => {
        if (!isCurrent) return
        facts.value = reply
        isSettled.value = true
      },
      // Suggestions only: a directory that cannot be read is reported where it is used.
      () => {
        isSettled.value = true
      },
    )
    return () => {
      isCurrent = false
    }
  }, [path, mayStart])
  const recent = sessions.profileRows.value.filter(
    row =>
      !row.archived &&
      row.message_count > 0 &&
      row.session_id !== chat.sessionId.value &&
      !row.is_streaming &&
      row.waiting === 0,
  )
  const suggestions =
    suggests && may('POST /api/chat/start') ? suggestionsFor(facts.value, recent) : []
  return (
    <div class="home">
      {inbox.count.value > 0 && (
        <a class="home-waiting" href={route.hrefOf({ view: 'inbox' })}>
          <Icon name="alert" size={16} />
          {t('waiting', { count: inbox.count.value })}
        </a>
      )}
      {suggestions.length > 0 && (
        <Section title={t('suggest.head')}>
          <ul class="home-suggestions">
            {suggestions.map(suggestion => (
              <Suggested key={suggestion.label} suggestion={suggestion} />
            ))}
          </ul>
        </Section>
      )}
      {layout.narrow.value && isSettled.value && recent.length > 0 && (
        <Section title={t('recent.head')}>
          <ul>
            {recent.slice(0, MAX_RECENT).map(row => (
              <Row key={row.session_id} row={row} state={stateOf(row)} />
            ))}
          </ul>
        </Section>
      )}
      {facts.value && <CommandsLine {...facts.value.commands} />}
    </div>
  )
}
