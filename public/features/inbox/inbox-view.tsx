/** The inbox: what waits for the person, what runs now, and what ended in trouble, of all chats and profiles. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import {
  useInbox,
  usePane,
  useProfiles,
  useSessions,
  useShell,
  useSidebar,
  useOutbox,
} from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Beginning, LoadNote } from '../../parts/view-state.tsx'
import { questionId } from '../messages/chat-reducer.ts'
import { formatAgo } from '../../parts/relative-time.ts'
import { sessionTitle } from '../sessions/sessions.ts'
import { useApp } from '../shell/context.ts'
import { View } from '../shell/view.tsx'
import { inboxOf, type Troubled } from './inbox-state.ts'
import { RunningRow } from './running-row.tsx'
import { t } from './strings.ts'
import { Triage } from './triage.ts'
import { Waiting } from './waiting.tsx'
import { splitComments } from '../../../lib/base/comment-text.ts'
import { withoutFiles } from '../messages/message-text.ts'
import type { Listed } from '../messages/outbox.ts'

const Unsent = ({ message, title }: { message: Listed; title: string | null }) => {
  const { attempt, copy, route } = useShell()
  const outbox = useOutbox()
  const { id, session_id, error } = message
  const { text } = splitComments(withoutFiles(message.text))
  return (
    <>
      {title && <p class="waiting-in">{t('waiting.in', { title })}</p>}
      <p class="inbox-unsent" dir="auto">
        {text}
      </p>
      <p class="inbox-facts">
        <span class="inbox-needed">{t('unsent.reason', { reason: error ?? '' })}</span>
      </p>
      <div class="waiting-buttons">
        {session_id && (
          <Button data-key="o" onClick={() => route.openSession(session_id)}>
            {t('trouble.open')}
          </Button>
        )}
        <Button onClick={() => void attempt(() => outbox.retry(id))}>{t('list.retry')}</Button>
        <Button onClick={() => void copy(text)}>{t('unsent.copy')}</Button>
        <Button kind="quiet" onClick={() => void attempt(() => outbox.remove(id))}>
          {t('unsent.remove')}
        </Button>
      </div>
    </>
  )
}

type ItemProps = {
  id: string
  triage: Triage
  needed?: boolean
  label: string
  children: ComponentChildren
}

const Item = ({ id, triage, needed, label, children }: ItemProps) => {
  const armed = triage.armed.value
  return (
    <li
      class={`inbox-item${needed ? ' inbox-item-needed' : ''}`}
      data-item={id}
      tabIndex={-1}
      aria-label={label}
    >
      {children}
      <p class="inbox-armed" role="status">
        {armed?.item === id &&
          t('inbox.press', { key: armed.key.toUpperCase(), action: armed.action })}
      </p>
    </li>
  )
}

const Section = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="inbox-section" aria-label={title}>
    <h2>{title}</h2>
    <ul>{children}</ul>
  </section>
)

const Trouble = ({ row, title }: { row: Troubled; title: string }) => {
  const { api, attempt, route } = useShell()
  const { unread } = useSidebar()
  const sessions = useSessions()
  /** It then appears with the running turns. */
  const goOn = () =>
    api('POST /api/chat/start', {
      session_id: row.session_id,
      message: t('trouble.continue.message'),
    })
  return (
    <>
      <p class="inbox-title" dir="auto">
        {title}
      </p>
      <p class="inbox-facts">
        <span class={row.how === 'failed' || row.how === 'budget' ? 'inbox-bad' : 'inbox-needed'}>
          {t(`trouble.${row.how}`)}
        </span>
        {row.scheduled && <span>{t('trouble.task')}</span>}
        <span>{formatAgo(row.updated_at, sessions.now.value)}</span>
      </p>
      <div class="waiting-buttons">
        {row.how === 'steps' && (
          <Button asks="POST /api/chat/start" data-key="c" onClick={() => void attempt(goOn)}>
            {t('trouble.continue')}
          </Button>
        )}
        <Button data-key="o" onClick={() => route.openSession(row.session_id)}>
          {t('trouble.open')}
        </Button>
        <Button kind="quiet" data-key="e" onClick={() => unread.markRead(row)}>
          {t('trouble.dismiss')}
        </Button>
      </div>
    </>
  )
}

/** Where a forwarder lists this one beside others; null elsewhere. */
const listAbove = (base: string): string | null =>
  /\/cells\/[^/]+\/$/.test(new URL(base).pathname) ? new URL('..', base).href : null

export const InboxView = () => {
  const app = useApp()
  const inbox = useInbox()
  const sessions = useSessions()
  const { unread } = useSidebar()
  const profiles = useProfiles()
  const pane = usePane()
  const state = inboxOf(app)
  const triage = useMemo(() => new Triage(), [])
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => state.watch(), [])

  const listOfCells = listAbove(app.shell.platform.base)
  const questions = [...inbox.open.value.values()].sort((a, b) => a.requested_at - b.requested_at)
  const asking = new Set(questions.map(question => question.session_id))
  // What it waits for has its own card.
  const running = state.running.value.filter(
    turn => turn.doing.kind !== 'waiting' || !asking.has(turn.session_id),
  )
  const troubled = state.troubled.value.filter(row =>
    unread.isUnread({
      ...row,
      is_streaming: state.running.value.some(each => each.session_id === row.session_id),
    }),
  )
  /** Messages that wait for the person, also those whose chat is gone. Others are sent by themselves. */
  const unsent = app.outbox.list.value.filter(({ error }) => error)
  const count = questions.length + running.length + unsent.length + troubled.length
  useLayoutEffect(() => {
    if (ref.current) triage.restore(ref.current)
  }, [count])

  /** With its profile, if that is not the one of the page. */
  const nameOf = (id: string, session?: { title: string; profile: string }): string => {
    const row = session ??
      sessions.row(id) ??
      state.sessions.value.get(id) ?? { title: '', profile: '' }
    const title = sessionTitle(row)
    return row.profile && row.profile !== profiles.active.value
      ? t('waiting.profile', { title, profile: row.profile })
      : title
  }

  /** Null for a new chat, and for one that was deleted. */
  const titleOfUnsent = (id: string | null): string | null =>
    id && sessions.row(id) ? nameOf(id) : null

  return (
    <View title={t('inbox.title')} lead={t('inbox.lead')}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys press buttons that are in it */}
      <div
        ref={ref}
        class="inbox"
        onFocusIn={event => triage.onFocus(event.currentTarget, event.target as HTMLElement)}
        onKeyDown={event => {
          if (triage.onKey(event.currentTarget, event)) event.preventDefault()
        }}
      >
        {listOfCells !== null && (
          <p>
            <a href={listOfCells}>{t('inbox.cells')}</a>
          </p>
        )}
        {questions.length > 0 && (
          <Section title={t('waiting.head')}>
            {questions.map(question => {
              const title = nameOf(question.session_id)
              return (
                <Item
                  key={questionId(question)}
                  id={questionId(question)}
                  triage={triage}
                  label={title}
                  needed
                >
                  <Waiting question={question} title={title} replies />
                </Item>
              )
            })}
          </Section>
        )}
        {running.length > 0 && (
          <Section title={t('running.head')}>
            {running.map(turn => {
              const title = nameOf(turn.session_id, turn)
              return (
                <Item key={turn.stream_id} id={turn.stream_id} triage={triage} label={title}>
                  <RunningRow turn={turn} title={title} />
                </Item>
              )
            })}
          </Section>
        )}
        {unsent.length > 0 && (
          <Section title={t('unsent.head')}>
            {unsent.map(message => (
              <Item key={message.id} id={message.id} triage={triage} label={message.text} needed>
                <Unsent message={message} title={titleOfUnsent(message.session_id)} />
              </Item>
            ))}
          </Section>
        )}
        {troubled.length > 0 && (
          <Section title={t('trouble.head')}>
            {troubled.map(row => (
              <Item
                key={row.session_id}
                id={row.session_id}
                triage={triage}
                label={nameOf(row.session_id, row)}
              >
                <Trouble row={row} title={nameOf(row.session_id, row)} />
              </Item>
            ))}
          </Section>
        )}
        {count === 0 && state.state.value === 'ready' && (
          <Beginning title={t('inbox.empty')} text={t('inbox.empty.text')}>
            <Button asks="POST /api/session/new" icon="plus" onClick={() => pane.newChat()}>
              {t('chat.new')}
            </Button>
          </Beginning>
        )}
        {count === 0 && state.state.value !== 'ready' && (
          <LoadNote
            state={state.state.value}
            failed={t('inbox.failed')}
            onRetry={() => void state.load()}
          />
        )}
      </div>
    </View>
  )
}
