/** The outline of the open chat: its requests and headings, with a filter; only the visible ones are in the DOM. */
import { isComposing } from '../../parts/composing.ts'
import { signal, useSignal } from '@preact/signals'
import { usePart } from '../../parts/use-part.ts'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useChat, useSessions, useShell } from '../../contexts.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { takeHeldKeys } from '../shell/held-keys.tsx'
import { Icon } from '../../parts/icon.tsx'
import { formatAgo, formatFull } from '../../parts/relative-time.ts'
import { topRow } from './step-request.ts'
import { currentEntry, filterOutline, outlineOf, type OutlineEntry } from './outline.ts'
import { t } from './strings.ts'

const OVERSCAN = 8

export const Outline = () => {
  const { transcript: chat } = useChat()
  const { route, layout } = useShell()
  const sessions = useSessions()
  const query = useMemo(() => signal(takeHeldKeys()), [])
  const active = useSignal<number | null>(null)
  const hasFailed = useSignal(false)
  const top = useSignal(0)
  const list = useRef<HTMLDivElement>(null)
  const picked = useRef<OutlineEntry>(null)
  // After the dialog has given the focus back.
  useEffect(
    () => () => {
      const entry = picked.current
      if (!entry) return
      setTimeout(() => route.jumpTo(entry.row, { heading: entry.heading, focus: true }))
    },
    [],
  )
  /** Where the reader was when the outline was opened. */
  const reading = useMemo(() => topRow()?.split(':')[0] ?? null, [])
  const messages = usePart(chat.chat, ({ messages }) => messages)
  const before = usePart(chat.chat, ({ before }) => before)

  const load = () => {
    hasFailed.value = false
    chat.messages.loadUntil('').catch(() => {
      hasFailed.value = true
    })
  }
  useEffect(load, [])

  const all = useMemo(() => outlineOf(messages), [messages])
  const entries = useMemo(() => filterOutline(all, query.value), [all, query.value])
  const here = all[currentEntry(all, messages, reading)]
  const start = here ? entries.indexOf(here) : -1
  const at = Math.min(active.value ?? Math.max(0, start), entries.length - 1)
  // The heights of `.outline-option`.
  const height = useMemo(
    () => (matchMedia('(pointer: coarse), (max-width: 719px)').matches ? 44 : 32),
    [],
  )

  // The active entry is always in view. Entries that were loaded above it move it.
  useLayoutEffect(() => {
    const box = list.current
    if (!box || at < 0) return
    const y = at * height
    if (y < box.scrollTop) box.scrollTop = y - (active.value === null ? box.clientHeight / 3 : 0)
    else if (y + height > box.scrollTop + box.clientHeight)
      box.scrollTop =
        y + height - box.clientHeight + (active.value === null ? box.clientHeight / 3 : 0)
    top.value = box.scrollTop
  }, [at, entries])

  const onClose = () => {
    layout.overlay.value = null
  }
  const pick = (index: number) => {
    const entry = entries[index]
    if (!entry) return
    picked.current = entry
    onClose()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposing(event)) return
    const page = Math.max(1, Math.floor((list.current?.clientHeight ?? 0) / height) - 1)
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
    }
    const step = steps[event.key]
    if (event.key === 'Enter') pick(at)
    else if (step) active.value = Math.max(0, Math.min(entries.length - 1, at + step))
    else return
    event.preventDefault()
  }

  const from = Math.max(0, Math.floor(top.value / height) - OVERSCAN)
  const visibleCount = Math.ceil((list.current?.clientHeight ?? 480) / height) + 2 * OVERSCAN
  const visible = entries.slice(from, from + visibleCount)
  const optionId = (index: number) => `outline-${index}`
  return (
    <Dialog title={t('title')} kind="palette" bare onClose={onClose}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to the field and the list inside */}
      <div class="picker outline" onKeyDown={onKeyDown}>
        <div class="picker-field">
          <Icon name="search" size={16} />
          <input
            type="text"
            role="combobox"
            aria-label={t('filter')}
            aria-expanded={entries.length > 0}
            aria-controls="outline-list"
            aria-activedescendant={entries.length > 0 ? optionId(at) : undefined}
            aria-autocomplete="list"
            autocomplete="off"
            spellcheck={false}
            placeholder={t('filter')}
            value={query.value}
            onInput={event => {
              active.value = 0
              query.value = event.currentTarget.value
            }}
          />
        </div>
        {before > 0 && (
          <p class="outline-state" role="status">
            {t(hasFailed.value ? 'failed' : 'loading')}
            {hasFailed.value && (
              <button type="button" class="tx-link" onClick={load}>
                {t('retry')}
              </button>
            )}
          </p>
        )}
        {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: a list box and a group both have a name */}
        <div
          ref={list}
          id="outline-list"
          class="picker-list"
          // An empty listbox is none.
          role={entries.length > 0 ? 'listbox' : 'group'}
          aria-label={t('list')}
          tabIndex={-1}
          onScroll={event => {
            top.value = event.currentTarget.scrollTop
          }}
        >
          <div class="outline-space" style={{ height: `${entries.length * height}px` }}>
            {visible.map((entry, index) => {
              const own = from + index
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled above, by active descendant
                <div
                  key={`${entry.row}~${entry.heading}`}
                  id={optionId(own)}
                  role="option"
                  tabIndex={-1}
                  aria-selected={own === at}
                  aria-current={entry === here ? 'location' : undefined}
                  aria-setsize={entries.length}
                  aria-posinset={own + 1}
                  class={`picker-option outline-option outline-${Math.min(3, entry.level)}`}
                  style={{ top: `${own * height}px` }}
                  onClick={() => pick(own)}
                >
                  <span class="picker-label" dir="auto">
                    {entry.text || t('blank')}
                  </span>
                  {entry.at !== null && (
                    <time class="picker-hint" title={formatFull(entry.at)}>
                      {formatAgo(entry.at, sessions.now.value)}
                    </time>
                  )}
                </div>
              )
            })}
          </div>
          {entries.length === 0 && <p class="picker-empty">{t(query.value ? 'none' : 'empty')}</p>}
        </div>
      </div>
    </Dialog>
  )
}
