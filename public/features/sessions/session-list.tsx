/** Virtualized session list: only visible rows have DOM nodes. */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import type { ListItem } from './sessions.ts'
import { t } from '../../strings/t.ts'
import { SessionRow } from './session-row.tsx'
import {
  useChat,
  useProjects,
  useSessionActions,
  useSessions,
  useSettings,
  useShell,
  useSidebar,
} from '../../contexts.ts'
import type { Settings } from '../settings/settings.ts'
import { may } from '../../parts/may.ts'

/** Offset of each item, plus the total height as the last entry. */
export const toOffsets = (heights: readonly number[]): number[] => {
  const offsets = [0]
  for (const height of heights) offsets.push(offsets.at(-1)! + height)
  return offsets
}

/** Index of the item at offset `y`. */
const indexAt = (offsets: readonly number[], y: number): number => {
  let [low, high] = [0, Math.max(0, offsets.length - 2)]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (offsets[middle]! <= y) low = middle
    else high = middle - 1
  }
  return low
}

/** First and one past the last item to draw, with some overscan the edges so that scrolling shows no gaps. */
export const visibleRange = (
  offsets: readonly number[],
  { top, height, overscan }: { top: number; height: number; overscan: number },
): { from: number; to: number } => {
  const count = offsets.length - 1
  if (count === 0) return { from: 0, to: 0 }
  return {
    from: indexAt(offsets, Math.max(0, top - overscan)),
    to: Math.min(count, indexAt(offsets, top + height + overscan) + 1),
  }
}

const HEADING_PX = 36
const OVERSCAN_PX = 300
/** Distance to the end, in pixels, at which the next page is fetched. */
const LOAD_MORE_PX = 800

const SCALE = { small: 1, default: 1, large: 1.125, larger: 1.25 }

/** Pixels, growing with the size of the text. */
const rowHeight = ({ sidebar_density, density, font_size }: Settings): number => {
  const comfortable = matchMedia('(pointer: coarse)').matches ? 46 : 36
  const row = sidebar_density === 'detailed' ? 52 : comfortable
  const reduction = density === 'compact' && row < 44 ? 6 : 0
  return Math.round((row - reduction) * SCALE[font_size])
}

const Empty = () => {
  const sessions = useSessions()
  const projects = useProjects()
  const { filters, reload: reloadList } = useSidebar()
  const { attempt } = useShell()
  if (sessions.state.value === 'loading') return <p class="list-note">{t('app.loading')}</p>
  if (sessions.state.value === 'failed') {
    return (
      <div class="list-note" role="alert">
        <p>{t('list.failed')}</p>
        <Button onClick={() => void attempt(reloadList)}>{t('list.retry')}</Button>
      </div>
    )
  }
  if (projects.filtering.value || filters.narrowed.value) {
    return (
      <div class="list-note">
        <p>{t('projects.empty')}</p>
        {!filters.narrowed.value && <p class="faint">{t('projects.empty.hint')}</p>}
        <Button
          onClick={() => {
            projects.showAll()
            filters.choose('')
          }}
        >
          {t('projects.all')}
        </Button>
      </div>
    )
  }
  return (
    <div class="list-note">
      <p>{t('list.empty')}</p>
      <p class="faint">{t('list.empty.hint')}</p>
    </div>
  )
}

export const SessionList = () => {
  const sessions = useSessions()
  const actions = useSessionActions()
  const { selection } = useSidebar()
  const settings = useSettings()
  const { transcript: chat } = useChat()
  const { layout } = useShell()
  const items = sessions.items.value
  const scroll = useRef<HTMLElement>(null)
  const top = useSignal(0)
  const height = useSignal(600)
  const cursor = useSignal<string | null>(null)
  const moving = useRef(false)
  const row = rowHeight(settings.current.value)
  const offsets = useMemo(
    () => toOffsets(items.map(item => (item.kind === 'head' ? HEADING_PX : row))),
    [items, row],
  )
  const { from, to } = visibleRange(offsets, {
    top: top.value,
    height: height.value,
    overscan: OVERSCAN_PX,
  })
  const keys = items.filter(item => item.kind === 'row').map(item => item.key)
  const open = chat.sessionId.value
  const stop = [cursor.value, open].find(id => id && keys.includes(id)) ?? keys[0]

  useEffect(() => {
    const element = scroll.current
    if (!element) return
    const observer = new ResizeObserver(() => {
      height.value = element.clientHeight
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  useEffect(() => {
    if (offsets.at(-1)! - top.value - height.value < LOAD_MORE_PX) void sessions.more()
  }, [top.value, height.value, offsets, sessions.next.value])

  const linkOf = (id: string) =>
    scroll.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"] .session-link`)

  const back = layout.refocusRow.value
  useLayoutEffect(() => {
    const id = moving.current ? cursor.value : back
    if (!id) return
    moving.current = false
    if (back) layout.refocusRow.value = null
    linkOf(id)?.focus({ preventScroll: true })
  })

  const moveTo = (id: string | undefined) => {
    const element = scroll.current
    const index = items.findIndex(item => item.key === id)
    if (!element || !id || index < 0) return
    const [start, end] = [offsets[index]!, offsets[index + 1]!]
    if (start - HEADING_PX < element.scrollTop) element.scrollTop = Math.max(0, start - HEADING_PX)
    if (end > element.scrollTop + element.clientHeight)
      element.scrollTop = end - element.clientHeight
    top.value = element.scrollTop
    moving.current = true
    if (cursor.value === id) linkOf(id)?.focus({ preventScroll: true })
    cursor.value = id
  }

  const onKeyDown = (event: KeyboardEvent) => {
    const id = (event.target as HTMLElement).closest<HTMLElement>('[data-id]')?.dataset.id
    if (!id || event.ctrlKey || event.metaKey || event.altKey) return
    const at = keys.indexOf(id)
    const select = (next: string | undefined) => {
      if (!next) return
      selection.extendTo(id, keys)
      selection.extendTo(next, keys)
      moveTo(next)
    }
    if (event.shiftKey && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault()
      return select(keys[at + (event.key === 'ArrowDown' ? 1 : -1)])
    }
    if (event.key === 'Escape' && selection.ids.value.size > 0) {
      event.stopPropagation()
      return selection.clear()
    }
    const verbs: Record<string, () => void> = {
      ArrowDown: () => moveTo(keys[at + 1]),
      ArrowUp: () => moveTo(keys[at - 1]),
      Home: () => moveTo(keys[0]),
      End: () => moveTo(keys.at(-1)),
      ' ': () => selection.toggle(id),
      F2: () => {
        if (may('POST /api/session/rename')) layout.renamingRow.value = id
      },
      Delete: () => {
        if (!may('POST /api/session/delete')) return
        moveTo(keys[at + 1] ?? keys[at - 1])
        void actions.remove(id)
      },
    }
    const verb = verbs[event.key]
    if (!verb) return
    event.preventDefault()
    verb()
  }

  return (
    <nav
      ref={scroll}
      class="session-scroll"
      aria-label={t('list.region')}
      onScroll={event => {
        top.value = event.currentTarget.scrollTop
      }}
    >
      {items.length === 0 ? (
        <Empty />
      ) : (
        <ul class="session-list" style={{ height: `${offsets.at(-1)}px` }} onKeyDown={onKeyDown}>
          {items.slice(from, to).map((item: ListItem, index) =>
            item.kind === 'head' ? (
              <li
                key={item.key}
                class="session-head"
                style={{ transform: `translateY(${offsets[from + index]}px)` }}
              >
                <h2>{item.label}</h2>
              </li>
            ) : (
              <SessionRow
                key={item.key}
                row={item.row}
                top={offsets[from + index]!}
                height={row}
                tabStop={item.key === stop}
                keys={keys}
              />
            ),
          )}
        </ul>
      )}
    </nav>
  )
}
