/** The list of someone's cells: what waits for the person in all of them, what runs there, and the cells. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { toSeconds } from '../../../lib/base/clock.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { formatSeconds } from '../../parts/elapsed.tsx'
import type { Route } from '../../parts/may.ts'
import { useSeconds } from '../../parts/use-seconds.ts'
import type { ServerClock } from '../../parts/server-clock.ts'
import { pageLocale, withoutMarks } from '../../strings/t.ts'
import { questionId } from '../messages/chat-reducer.ts'
import { Doing } from '../inbox/doing.tsx'
import { t as shared } from '../inbox/strings.ts'
import { sessionTitle } from '../sessions/sessions.ts'
import type { ListedCell } from '../../../lib/schema/cell.ts'
import type { Question } from '../../../lib/schema/question.ts'
import type { Cells, CellWork, Turn } from './cells-state.ts'
import { t } from './strings.ts'
import { WaitingItem } from './waiting-item.tsx'

/** Not worth a word. */
const DEFAULT_PROFILE = 'default'

type SinceProps = { at: number; clock: ServerClock; format: (time: string) => string }

/** Counts up; not announced. */
const Since = ({ at, clock, format }: SinceProps) => (
  <span role="timer" aria-live="off">
    {format(formatSeconds(Math.max(0, Math.floor(useSeconds(clock) - at))))}
  </span>
)

type SessionName = { session_id: string; title: string; profile: string }

const hrefOf = ({ path }: ListedCell, { session_id }: Pick<SessionName, 'session_id'>): string =>
  `${path}session/${encodeURIComponent(session_id)}`

/** The chat as a link, then its cell and profile. */
const Head = ({
  cell,
  session,
  children,
}: {
  cell: ListedCell
  session: SessionName
  children: ComponentChildren
}) => (
  <>
    <a class="name" href={hrefOf(cell, session)}>
      <bdi>{sessionTitle(session)}</bdi>
    </a>
    <p class="facts">
      <bdi>{visibleName(cell.title)}</bdi>
      {session.profile !== '' && session.profile !== DEFAULT_PROFILE && (
        <bdi>{visibleName(session.profile)}</bdi>
      )}
      {children}
    </p>
  </>
)

/** After the entry with the focus has gone, the one in its place gets it. */
const Section = ({ title, children }: { title: string; children: ComponentChildren[] }) => {
  const list = useRef<HTMLUListElement>(null)
  const at = useRef(-1)
  useLayoutEffect(() => {
    if (at.current < 0 || document.activeElement !== document.body) return
    const items = [...(list.current?.children ?? [])] as HTMLElement[]
    items[Math.min(at.current, items.length - 1)]?.focus()
  }, [children.length])
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul
        ref={list}
        onFocusIn={event => {
          const item = (event.target as HTMLElement).closest('li')
          at.current = [...event.currentTarget.children].indexOf(item as HTMLElement)
        }}
      >
        {children}
      </ul>
    </section>
  )
}

const ago = (seconds: number): string => {
  const times = new Intl.RelativeTimeFormat(pageLocale(), { numeric: 'auto' })
  const [size, unit] =
    seconds < 3_600
      ? ([60, 'minute'] as const)
      : seconds < 86_400
        ? ([3_600, 'hour'] as const)
        : ([86_400, 'day'] as const)
  return withoutMarks(times.format(-Math.round(seconds / size), unit))
}

const stateOf = ({ running, active_at, is_awake }: ListedCell, { now }: ServerClock): string => {
  const state = running > 0 ? t('cells.running', { count: running }) : null
  const parts = [state ?? t(is_awake ? 'cells.on' : 'cells.off')]
  if (active_at !== null)
    parts.push(t('cells.active', { when: ago(Math.max(0, toSeconds(now()) - active_at)) }))
  return parts.join(' · ')
}

type CellProps = { cell: ListedCell; clock: ServerClock; work: CellWork | undefined }

const Cell = ({ cell, clock, work }: CellProps) => (
  <>
    <a class="whole" href={cell.path}>
      <span class="name">
        <bdi>{visibleName(cell.title)}</bdi>
      </span>
      <span class="state">{stateOf(cell, clock)}</span>
    </a>
    {cell.waiting > 0 && (
      <a class="waiting" href={`${cell.path}inbox`}>
        {t('cells.waiting', { count: cell.waiting })}
      </a>
    )}
    {work?.problem && (
      <p class="note problem">
        {work.problem.kind === 'sign-in' ? (
          <a href={cell.path}>{t('cells.signin')}</a>
        ) : (
          t('cells.unreachable', { reason: work.problem.reason })
        )}
      </p>
    )}
  </>
)

type BusyCell = { cell: ListedCell; work: CellWork }

export const CellsView = ({ state }: { state: Cells }) => {
  const late = useSignal('')
  useEffect(() => state.watch(), [])
  const cells = state.cells.value
  const pairs = cells.flatMap((cell): BusyCell[] => {
    const work = state.works.value.get(cell.path)
    return work ? [{ cell, work }] : []
  })
  const sessionOf = ({ work }: BusyCell, id: string): SessionName =>
    work.sessions.find(each => each.session_id === id) ??
    work.turns.find(each => each.session_id === id) ?? { session_id: id, title: '', profile: '' }
  // The newest last: what is shown keeps its place.
  const waiting = pairs
    .flatMap(each => each.work.questions.map(question => ({ each, question })))
    .sort((a, b) => a.question.requested_at - b.question.requested_at)
  const waitingIds = new Set(waiting.map(({ question }) => question.session_id))
  const isAbove = ({ doing, session_id }: Turn) =>
    doing.kind === 'waiting' && waitingIds.has(session_id)
  const running = pairs
    .flatMap(each => each.work.turns.map(turn => ({ each, turn })))
    .filter(({ turn }) => !isAbove(turn))
    .sort((a, b) => a.turn.started_at - b.turn.started_at)
  const answer = async ({ cell }: BusyCell, question: Question, text: string) => {
    const outcome = await state.answer(cell.path, question, text)
    if (outcome && outcome.kind !== 'counted') late.value = outcome.words
  }
  return (
    <>
      <p id="message" role="status">
        {state.isStale.value ? t('cells.stale') : late.value}
      </p>
      {waiting.length > 0 && (
        <Section title={shared('waiting.head')}>
          {waiting.map(({ each, question }) => {
            const { cell, work } = each
            const session = sessionOf(each, question.session_id)
            const refused = new Set(work.refused)
            return (
              <li key={questionId(question)} class="item needed" tabIndex={-1}>
                <Head cell={cell} session={session}>
                  <Since
                    at={question.requested_at}
                    clock={state.clock}
                    format={time => t('cells.since', { time })}
                  />
                </Head>
                <WaitingItem
                  question={question}
                  href={hrefOf(cell, session)}
                  allows={(route: Route) => !refused.has(route)}
                  onAnswer={text => void answer(each, question, text)}
                />
              </li>
            )
          })}
        </Section>
      )}
      {running.length > 0 && (
        <Section title={shared('running.head')}>
          {running.map(({ each, turn }) => (
            <li key={turn.stream_id} class="item" tabIndex={-1}>
              <Head cell={each.cell} session={turn}>
                <Since at={turn.started_at} clock={state.clock} format={time => time} />
              </Head>
              <p class="doing">
                <Doing doing={turn.doing} />
              </p>
            </li>
          ))}
        </Section>
      )}
      <Section title={t('cells.head')}>
        {cells.map(cell => (
          <li key={cell.path} class="item cell" tabIndex={-1}>
            <Cell cell={cell} clock={state.clock} work={state.works.value.get(cell.path)} />
          </li>
        ))}
      </Section>
    </>
  )
}
