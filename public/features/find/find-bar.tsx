/** Find bar of the chat. */
import { isComposing } from '../../parts/composing.ts'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useSignalEffect } from '@preact/signals'
import { Find } from './find.ts'
import { FindHighlights } from './find-highlights.ts'
import { IconButton } from '../../parts/button.tsx'
import { takeHeldKeys } from '../shell/held-keys.tsx'
import { Icon } from '../../parts/icon.tsx'
import { t } from './strings.ts'
import { useChat, useShell } from '../../contexts.ts'

export const FindBar = () => {
  const { transcript: chat } = useChat()
  // A different chat starts a new search.
  return <Bar key={chat.sessionId.value} />
}

const Bar = () => {
  const { transcript: chat } = useChat()
  const { layout } = useShell()
  const find = useMemo(
    () => new Find({ chat: chat.chat, loadBefore: limit => chat.messages.loadBefore(limit) }),
    [],
  )
  const search = (text: string) => {
    find.set(text, marks.current?.top() ?? null)
    if (find.loading.value) void find.loadAll()
  }
  const input = useRef<HTMLInputElement>(null)
  const marks = useRef<FindHighlights | null>(null)
  // Before the next key: one that is typed at once belongs to the field.
  useLayoutEffect(() => {
    const before = document.activeElement
    const body = input.current?.closest<HTMLElement>('.chat-body')
    if (body) marks.current = new FindHighlights(body)
    input.current?.focus()
    const typed = takeHeldKeys()
    if (typed) search(typed)
    return () => {
      find.close()
      marks.current?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  useSignalEffect(() => marks.current?.show(find.needle.value, find.current.value))

  const close = () => {
    layout.findOpen.value = false
  }
  const total = find.total.value
  const state = () => {
    if (!find.needle.value) return ''
    const at = find.index.value + 1
    if (total > 0) return t(find.isCut.value ? 'count.cut' : 'count', { at, total })
    return find.loading.value ? '' : t('none')
  }
  return (
    <search class="find">
      <Icon name="search" size={16} />
      <input
        ref={input}
        type="text"
        aria-label={t('label')}
        placeholder={t('label')}
        autocomplete="off"
        spellcheck={false}
        value={find.query.value}
        onInput={event => {
          search(event.currentTarget.value)
        }}
        onKeyDown={event => {
          if (isComposing(event)) return
          if (event.key === 'Enter') find.step(event.shiftKey ? -1 : 1)
          else if (event.key === 'Escape') close()
          else return
          event.preventDefault()
          event.stopPropagation()
        }}
      />
      <span class="find-state" role="status">
        {state()}
        {find.loading.value && <span class="find-busy">{t('searching')}</span>}
      </span>
      {find.failed.value && (
        <button
          type="button"
          class="tx-link"
          title={t('incomplete')}
          onClick={() => void find.loadAll()}
        >
          {t('retry')}
        </button>
      )}
      <IconButton
        icon="chevron-up"
        size={16}
        label={t('previous')}
        disabled={total === 0}
        onClick={() => find.step(-1)}
      />
      <IconButton
        icon="chevron-down"
        size={16}
        label={t('next')}
        disabled={total === 0}
        onClick={() => find.step(1)}
      />
      <IconButton icon="close" size={16} label={t('close')} onClick={close} />
    </search>
  )
}
