/** The first page: what waits for the person, what runs, recent chats, and suggestions for the workspace. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { SessionRow } from '../../../lib/schema/session.ts'
import { useChat, useComposer, useInbox, useSessions, useShell } from '../../contexts.ts'
import { Icon } from '../../parts/icon.tsx'
import { questionId } from '../messages/chat-reducer.ts'
import { formatAgo } from '../../parts/relative-time.ts'
import { previewOf, titleOf } from '../sessions/sessions.ts'
import { lazy } from '../../parts/lazy.tsx'
import { may } from '../../parts/may.ts'
import { t } from './strings.ts'
import { type Facts, type Suggestion, suggestionsFor } from './suggestions.ts'

/** Few first pages have a question; its sentences are long. */
const Waiting = lazy(async () => (await import('../inbox/waiting.tsx')).Waiting)

/** Its sentences of the server are long. */
const CommandsLine = lazy(
  async () => (await import('./commands-line.tsx')).CommandsLine,
  true,
  true,
  // The page is complete without it.
  () => null,
)

const MAX_WAITING = 3
const MAX_RUNNING = 3
const MAX_RECENT = 4

type SectionProps = { title: string; class?: string; children: ComponentChildren }

const Section = ({ title, class: name = '', children }: SectionProps) => (
  <section class={`home-section ${name}`} aria-label={title}>
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
          {titleOf(row)}
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
  const { api, route } = useShell()
  const { transcript: chat } = useChat()
  const facts = useSignal<Facts | null>(null)
  const mayStart = may('GET /api/workspaces/facts')
  useEffect(() => {
    let isCurrent = true
    facts.value = null
    if (!mayStart) return
    api('GET /api/workspaces/facts', { path }).then(
      found => {
        if (isCurrent) facts.value = found
      },
      // Suggestions only: a directory that cannot be read is reported where it is used.
      () => undefined,
    )
    return () => {
      isCurrent = false
    }
  }, [path, mayStart])
  const questions = [...inbox.open.value.values()].sort((a, b) => a.requested_at - b.requested_at)
  const rows = sessions.profileRows.value.filter(
    row => !row.archived && row.message_count > 0 && row.session_id !== chat.sessionId.value,
  )
  const running = rows.filter(row => row.is_streaming && row.waiting === 0)
  const recent = rows.filter(row => !row.is_streaming && row.waiting === 0)
  const suggestions =
    suggests && may('POST /api/chat/start') ? suggestionsFor(facts.value, recent) : []
  return (
    <div class="home">
      {questions.length > 0 && (
        <Section title={t('waiting.head')} class="home-needed">
          <ul>
            {questions.slice(0, MAX_WAITING).map(question => (
              <li key={questionId(question)} class="home-waiting">
                <Waiting question={question} />
              </li>
            ))}
          </ul>
          {questions.length > MAX_WAITING && (
            <p class="home-in">
              <a href={route.hrefOf({ view: 'inbox' })}>
                {t('waiting.more', { count: questions.length - MAX_WAITING })}
              </a>
            </p>
          )}
        </Section>
      )}
      {running.length > 0 && (
        <Section title={t('running.head')}>
          <ul>
            {running.slice(0, MAX_RUNNING).map(row => (
              <Row key={row.session_id} row={row} state={<Icon name="spinner" />} />
            ))}
          </ul>
        </Section>
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
      {recent.length > 0 && (
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
