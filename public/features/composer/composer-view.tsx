/** The composer: text, attachments, chips, and the button that sends or stops. */
import { isComposing } from '../../parts/composing.ts'
import type { ComponentChildren } from 'preact'
import { splitComments } from '../../../lib/base/comment-text.ts'
import { usePart } from '../../parts/use-part.ts'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { modName, sendHint } from '../shell/keys.ts'
import { IconButton } from '../../parts/button.tsx'
import { t } from '../../strings/t.ts'
import { MenuButton } from '../../parts/menu-button.tsx'
import { useApp } from '../shell/context.ts'
import { lateItems } from '../shell/late-items.ts'
import { Chips } from './chips.tsx'
import { withoutFiles } from '../messages/message-text.ts'
import { COMPLETION_ID, offerId } from './completion.ts'
import { firstContent } from '../../parts/first-content.ts'
import { lazy } from '../../parts/lazy.tsx'
import { loadLazyCss } from '../../parts/lazy-css.ts'
import { lateBar } from './late-bar.ts'
import { isListed } from '../messages/outbox.ts'
import {
  useChat,
  useComposer,
  useOutbox,
  useSessions,
  useSettings,
  useShell,
} from '../../contexts.ts'

const AttachmentList = lazy(
  async () => (await import('./attachment-list.tsx')).AttachmentList,
  true,
)
const Line = lazy(async () => (await import('./long-text-line.tsx')).LongTextLine, true)

const AttachmentChips = () => {
  const { draft: composer, attachments } = useComposer()
  const isEmpty = composer.files.value.length === 0 && attachments.list.value.length === 0
  return isEmpty ? null : <AttachmentList />
}

const LongTextLine = () =>
  useComposer().attachments.longTexts.longText.value === null ? null : <Line />

const PlusButton = () => {
  const app = useApp()
  const { attachments } = useComposer()
  const ref = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={ref}
        class="attach-input"
        type="file"
        multiple
        tabIndex={-1}
        aria-hidden="true"
        onChange={event => {
          attachments.add([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = ''
        }}
      />
      <MenuButton
        class="plus"
        icon="plus"
        side="above"
        label={t('composer.plus')}
        items={() =>
          lateItems(app.shell, async () =>
            (await import('./plus-menu.ts')).plusMenu(app, () => ref.current?.click()),
          )
        }
      />
    </>
  )
}

const loadCompletionList = () => import('./completion-list.tsx')
const CompletionList = lazy(async () => (await loadCompletionList()).CompletionList, true)

const DictateButton = lazy(
  lateBar(parts => parts.DictateButton),
  true,
  false,
)
const DropArea = lazy(
  lateBar(parts => parts.DropArea),
  true,
  false,
)
const ContextMeter = lazy(
  lateBar(parts => parts.ContextMeter),
  true,
  false,
)
const CommentChips = lazy(
  async () => (await import('../review/comment-chips.tsx')).CommentChips,
  true,
)
const LivePlan = lazy(async () => (await import('../plan/live-plan.tsx')).LivePlan, true)
/** In place of the list that could not be loaded, which is needed most when there is no connection. */
const UnsentTexts = ({ children }: { children: ComponentChildren }) => {
  const outbox = useOutbox()
  const { transcript: chat, key } = useChat()
  const unsent = outbox.of(key, chat.sessionId.value || null).filter(isListed)
  if (unsent.length === 0) return <>{children}</>
  return (
    <ul class="queue">
      {unsent.map(({ id, text }) => (
        <li key={id} class="queued" dir="auto">
          {splitComments(withoutFiles(text)).text}
        </li>
      ))}
    </ul>
  )
}

/** The place of the lines above the message while their code is loaded: what arrives late moves nothing. */
const BannersPlace = () => {
  const { transcript: chat, key } = useChat()
  const outbox = useOutbox()
  const session = chat.sessionId.value || null
  const row = useSessions().row(session)
  const queued = usePart(chat.chat, each => each.queued.length)
  const lists = [outbox.of(key, session).filter(isListed).length, queued].filter(Boolean)
  const isPaused = queued > 0 && !chat.busy.value && row?.last_turn && row.last_turn !== 'done'
  const lines = [row?.yolo, row?.mode === 'plan', isPaused].filter(Boolean)
  return (
    <div class="beside">
      {lines.map((_, index) => (
        <p key={index} class="beside-line" />
      ))}
      {lists.map((count, index) => (
        <ul key={index} class="queue">
          {Array.from({ length: count }, (_, item) => (
            <li key={item} class="queued" />
          ))}
        </ul>
      ))}
    </div>
  )
}

const ComposerBanners = lazy(
  async () => (await import('../queue/lazy-queue.ts')).ComposerBanners,
  BannersPlace,
  true,
  UnsentTexts,
)

const SendButton = () => {
  const settings = useSettings()
  const { layout } = useShell()
  const writing = useComposer()
  const { draft: composer, attachments } = writing
  const { transcript: chat, turns } = useChat()
  const { send_key: key } = settings.current.value
  const hint = key === 'enter' ? '↵' : `${modName(layout.mac)} ↵`
  const empty = composer.empty.value
  const waiting = attachments.busy.value
  const { value: busy } = chat.busy
  return (
    <>
      {busy && (
        <IconButton
          class={empty ? 'send' : ''}
          round
          icon="stop"
          label={t('composer.stop')}
          // The second click of a double click on Send finds this button in its place.
          onClick={({ detail }) => detail < 2 && void turns.stop()}
        />
      )}
      {!(busy && empty) && (
        <IconButton
          class="send"
          round
          icon="send"
          label={t(waiting ? 'attach.wait' : busy ? 'composer.queue' : 'composer.send')}
          keys={hint}
          aria-disabled={empty}
          onClick={() => void writing.submit()}
        />
      )}
    </>
  )
}

/** The style sheet lets the field grow; measuring it lays out the whole page with each key. */
const growsByItself = typeof CSS !== 'undefined' && CSS.supports('field-sizing', 'content')

/** Grows with its text, up to the maximum height of the style sheet. */
const fit = (field: HTMLTextAreaElement | null) => {
  if (!field || growsByItself) return
  field.style.height = 'auto'
  field.style.height = `${field.scrollHeight}px`
}

const useField = () => {
  const { draft: composer } = useComposer()
  const { layout } = useShell()
  const ref = useRef<HTMLTextAreaElement>(null)
  const text = composer.text.value
  const focus = layout.composerFocus.value
  useLayoutEffect(() => fit(ref.current), [text])
  useEffect(() => {
    // Of two chats side by side, only the active one.
    if (ref.current?.closest('.side:not(.side-active)')) return
    // On a touch screen the focus would open the on-screen keyboard.
    if (focus > 0 || matchMedia('(pointer: fine)').matches) ref.current?.focus()
  }, [focus])
  return ref
}

const isUndo = (event: KeyboardEvent): boolean =>
  event.key === 'z' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey

/** Sets the caret after a programmatic change of the text. */
const putCaret = (field: HTMLTextAreaElement | null, caret: number) =>
  requestAnimationFrame(() => field?.setSelectionRange(caret, caret))

export const Composer = () => {
  const writing = useComposer()
  const { draft: composer, completion, attachments } = writing
  const { layout } = useShell()
  const outbox = useOutbox()
  const settingsState = useSettings()
  const { transcript: chat, key, queue } = useChat()
  const sessions = useSessions()
  const ref = useField()
  const settings = settingsState.current.value
  const suggestions = completion.suggestions.value
  const busy = chat.busy.value
  const queued = usePart(chat.chat, ({ queued }) => queued)
  const session = chat.sessionId.value || null
  const row = sessions.row(session)

  useEffect(() => {
    // Before the first `/` or `@`, whose suggestions the keys act on.
    const load = () => Promise.all([loadCompletionList(), loadLazyCss()])
    void firstContent.then(load).catch(() => undefined)
  }, [])

  const take = (index: number) => {
    const offer = suggestions[index]
    if (!offer) return
    const { text, caret, file } = completion.apply(composer.text.value, offer)
    composer.edit(text)
    if (file) composer.addFile(file)
    completion.update(text, caret)
    putCaret(ref.current, caret)
    ref.current?.focus()
  }

  const offerKey = (event: KeyboardEvent): boolean => {
    if (suggestions.length === 0) return false
    const active = suggestions[completion.active.value]
    if (event.key === 'ArrowDown') completion.move(1)
    else if (event.key === 'ArrowUp') completion.move(-1)
    else if (event.key === 'PageDown') completion.move(8)
    else if (event.key === 'PageUp') completion.move(-8)
    else if (event.key === 'Escape') completion.dismiss()
    else if (event.key === 'Tab' && !event.shiftKey) take(completion.active.value)
    else if (event.key === 'Enter' && !event.shiftKey) {
      // A fully typed command runs with a single Enter.
      if (active?.kind === 'command' && composer.text.value.trim() === `/${active.name}`)
        return false
      take(completion.active.value)
    } else return false
    return true
  }

  const sends = (event: KeyboardEvent): boolean => {
    if (event.key !== 'Enter' || isComposing(event)) return false
    const mod = event.ctrlKey || event.metaKey
    return settings.send_key === 'ctrl+enter' ? mod : mod || !event.shiftKey
  }

  const recallKey = (event: KeyboardEvent, field: HTMLTextAreaElement): boolean => {
    const back = event.key === 'ArrowUp' ? 1 : event.key === 'ArrowDown' ? -1 : 0
    if (back === 0 || event.shiftKey) return false
    if (!composer.isRecalling() && (back < 0 || field.value !== '')) return false
    if (!composer.recall(writing.prompts(), back)) return false
    putCaret(field, composer.text.value.length)
    return true
  }

  const onKeyDown = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    if (isComposing(event)) return
    if (isUndo(event) && attachments.longTexts.undoAttach()) event.preventDefault()
    else if (offerKey(event)) event.preventDefault()
    else if (sends(event)) {
      event.preventDefault()
      // If Ctrl+Enter sends, Ctrl+Shift+Enter steers.
      const mod = event.ctrlKey || event.metaKey
      void writing.submit(mod && (settings.send_key === 'enter' || event.shiftKey))
    } else if (recallKey(event, event.currentTarget)) event.preventDefault()
  }

  return (
    <div class="composer-place">
      {chat.busy.value && <LivePlan />}
      {(queued.length > 0 ||
        outbox.of(key, session).some(isListed) ||
        queue.aside.value ||
        row?.yolo ||
        row?.mode === 'plan') && <ComposerBanners />}
      <DropArea />
      <div class="composer">
        {suggestions.length > 0 && <CompletionList onTake={take} />}
        <LongTextLine />
        {composer.comments.value.length > 0 && <CommentChips />}
        <AttachmentChips />
        <textarea
          ref={ref}
          id={layout.composerId}
          rows={1}
          aria-label={t('composer.label')}
          aria-autocomplete="list"
          aria-controls={suggestions.length > 0 ? COMPLETION_ID : undefined}
          aria-activedescendant={
            suggestions.length > 0 ? offerId(completion.active.value) : undefined
          }
          aria-description={sendHint(settings.send_key, layout.mac)}
          placeholder={
            busy && layout.narrow.value
              ? t('composer.queue')
              : busy
                ? t('composer.placeholder.running', {
                    key: modName(layout.mac) + (settings.send_key === 'enter' ? '' : ' ⇧'),
                  })
                : t('composer.placeholder', { name: settings.bot_name })
          }
          enterkeyhint={settings.send_key === 'enter' ? 'send' : 'enter'}
          value={composer.text.value}
          onInput={event => {
            const { value, selectionStart } = event.currentTarget
            composer.edit(value)
            completion.update(value, selectionStart)
          }}
          onClick={event =>
            completion.update(event.currentTarget.value, event.currentTarget.selectionStart)
          }
          onBlur={() => {
            completion.close()
            void composer.save()
          }}
          onKeyDown={onKeyDown}
          onPaste={event => {
            const files = [...(event.clipboardData?.files ?? [])]
            const pasted = event.clipboardData?.getData('text/plain') ?? ''
            // Spreadsheet cells and formatted text also contain an image; prefer the text.
            if (files.length > 0 && !pasted) {
              event.preventDefault()
              attachments.add(files, true)
            } else if (attachments.longTexts.onPaste(pasted)) event.preventDefault()
          }}
          onDrop={event => {
            const text = event.dataTransfer?.getData('text/plain')
            if (text && attachments.longTexts.onPaste(text)) event.preventDefault()
          }}
        />
        <div class="composer-bar">
          <PlusButton />
          <Chips />
          <DictateButton />
          <ContextMeter />
          <SendButton />
        </div>
      </div>
    </div>
  )
}
