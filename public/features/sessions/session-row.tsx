/** Row of the session list. */
import type { Clock } from '../../../lib/base/clock.ts'
import { useEffect, useRef } from 'preact/hooks'
import type { SessionRow as Row } from '../../../lib/schema/session.ts'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { MenuButton, openMenuAt } from '../../parts/menu-button.tsx'
import { TitleField } from '../../parts/title-field.tsx'
import { sourceOf, sessionTitle } from './sessions.ts'
import { t } from '../../strings/t.ts'
import { formatAgo, formatFull } from '../../parts/relative-time.ts'
import { useApp } from '../shell/context.ts'
import { lateSessionMenu } from './late-session-menu.ts'

/** Drag-and-drop type of a session. */
export const DRAGGED_SESSION = 'application/x-agent-session'

type Mark = 'streaming' | 'waiting' | 'failed' | 'missed' | 'unread'

/** The most urgent status of a row. */
const statusOf = (row: Row, { unread, open }: { unread: boolean; open: boolean }): Mark | null => {
  if (row.waiting > 0) return 'waiting'
  if (row.is_streaming) return 'streaming'
  if (!unread || open) return null
  if (row.last_turn === 'failed') return 'failed'
  return row.last_turn_missed ? 'missed' : 'unread'
}

const StateMark = ({ mark }: { mark: Mark | null }) => {
  if (!mark) return null
  return (
    <span class={`mark mark-${mark}`} title={t(`row.${mark}`)}>
      {mark === 'failed' && <Icon name="alert" size={14} />}
      {mark === 'missed' && <Icon name="clock" size={14} />}
      <span class="sr-only">{`, ${t(`row.${mark}`)}`}</span>
    </span>
  )
}

const LONG_PRESS_MS = 500

/** A long touch runs `run`; the click that follows it is to be ignored. */
const useLongPress = (clock: Clock, run: () => void) => {
  const state = useRef({ stop: () => {}, long: false })
  const cancel = () => state.current.stop()
  useEffect(() => cancel, [])
  return {
    wasLong: () => state.current.long,
    handlers: {
      onPointerDown({ pointerType }: PointerEvent) {
        cancel()
        state.current.long = false
        if (pointerType !== 'touch') return
        state.current.stop = clock.timer(LONG_PRESS_MS, () => {
          state.current.long = true
          run()
        })
      },
      onPointerUp: cancel,
      onPointerCancel: cancel,
    },
  }
}

export type SessionRowProps = {
  row: Row
  /** Offset in the list, in pixels. */
  top: number
  height: number
  tabStop: boolean
  /** The ids of all rows in the order of the list. */
  keys: readonly string[]
}

export const SessionRow = ({ row, top, height, tabStop, keys }: SessionRowProps) => {
  const app = useApp()
  const id = row.session_id
  const open = app.chat.transcript.sessionId.value === id
  const title = sessionTitle(row)
  const now = app.sessions.now.value
  const detailed = app.settings.detailed.value
  const { selection } = app.sidebar
  const selected = selection.ids.value.has(id)
  const press = useLongPress(app.shell.platform.clock, () => selection.toggle(id))
  const renaming = app.shell.layout.renamingRow.value === id
  const mark = statusOf(row, { unread: app.sidebar.unread.isUnread(row), open })
  const style = { transform: `translateY(${top}px)`, height: `${height}px` }

  return (
    <li
      class={`session${app.shell.route.isOpen(id) ? ' session-open' : ''}${selected ? ' session-selected' : ''}`}
      style={style}
      data-id={id}
      onContextMenu={event => {
        // A long touch selects; the menu of the browser would cover the list.
        if (press.wasLong()) event.preventDefault()
        else openMenuAt(event, event.currentTarget.querySelector('.session-menu'))
      }}
    >
      {renaming ? (
        <TitleField
          class="rename-field"
          title={title}
          onDone={next => {
            if (next && next !== row.title) void app.sessions.rename(id, next)
            app.shell.layout.renamingRow.value = null
            app.shell.layout.refocusRow.value = id
          }}
        />
      ) : (
        <>
          <a
            class="session-link"
            href={app.shell.route.hrefOf({ view: 'chat', sessionId: id })}
            aria-current={open ? 'page' : undefined}
            tabIndex={tabStop ? 0 : -1}
            title={app.sidebar.filters.mixed.value ? `${title} · ${row.profile}` : title}
            draggable={may('POST /api/session/move')}
            onDragStart={event => event.dataTransfer?.setData(DRAGGED_SESSION, id)}
            {...press.handlers}
            onClick={event => {
              if (press.wasLong()) return event.preventDefault()
              const isMany = event.ctrlKey || event.metaKey || selection.ids.value.size > 0
              if (event.shiftKey) selection.extendTo(id, keys)
              else if (isMany) selection.toggle(id)
              else app.shell.layout.drawer.value = false
              if (event.shiftKey || isMany) event.preventDefault()
            }}
            onDblClick={() => {
              if (may('POST /api/session/rename')) app.shell.layout.renamingRow.value = id
            }}
          >
            <span class="session-main">
              <span class="session-title" dir="auto">
                {title}
              </span>
              {detailed && (
                <span class="session-detail">
                  {[
                    app.sidebar.filters.mixed.value && row.profile,
                    t('list.messages', { count: row.message_count }),
                    app.models.labelOf(row.model),
                  ]
                    .filter(Boolean)
                    .join(' · ')}
                </span>
              )}
            </span>
            {(row.is_cli_session === true || row.source_tag === 'api') && (
              <span class="cli-mark" title={sourceOf(row)}>
                <Icon name="terminal" size={14} />
                <span class="sr-only">{`, ${sourceOf(row)}`}</span>
              </span>
            )}
            {selected && <span class="sr-only">{`, ${t('row.selected')}`}</span>}
            <StateMark mark={mark} />
            <time
              class="session-time"
              dateTime={new Date(row.updated_at * 1000).toISOString()}
              title={formatFull(row.updated_at)}
            >
              {formatAgo(row.updated_at, now)}
            </time>
          </a>
          <MenuButton
            class="session-menu"
            label={t('row.menu', { title })}
            tabIndex={tabStop ? 0 : -1}
            items={() =>
              lateSessionMenu(app, row, () => {
                app.shell.layout.renamingRow.value = id
              })
            }
          />
        </>
      )}
    </li>
  )
}
