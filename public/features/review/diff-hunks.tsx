/** The diff of a file by hunks. Lines can be picked for a comment in the next message; a hunk can be undone where that is offered. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useComposer, usePanel, useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Diff } from '../../parts/diff-view.tsx'
import { Icon } from '../../parts/icon.tsx'
import { changedRange, type Hunk, hunksOf, type LineRange, numbersOf, toComment } from './hunks.ts'
import { linesText, t } from './strings.ts'
import { may } from '../../parts/may.ts'

export type DiffHunksProps = {
  path: string
  diff: string
  /** Undoes the hunk with this header; null where that is not possible. */
  onUndo: ((header: string) => void) | null
  /** Headers of hunks that are undone now. */
  undone?: readonly string[] | undefined
  /** More buttons in the head of a hunk, and its lines drawn in another way. */
  slots?: HunkSlots | undefined
}

export type HunkSlots = (
  at: number,
  file: Hunk['file'],
) => { head: ComponentChildren; body: ComponentChildren }

const MAX_COMMENTS = 50
/** Width of the line numbers: a press there picks a line, elsewhere it starts to select text. */
const GUTTER_PX = 48

export function DiffHunks({ path, diff, onUndo, undone = [], slots }: DiffHunksProps) {
  const hunks = useMemo(() => hunksOf(diff), [diff])
  return (
    <div class="hunks">
      {hunks.map((hunk, at) =>
        hunk.header === '' ? (
          <Diff key={at} file={hunk.file} />
        ) : (
          <HunkView
            key={at}
            path={path}
            hunk={hunk}
            onUndo={onUndo}
            isUndone={undone.includes(hunk.header)}
            slot={slots?.(at, hunk.file)}
          />
        ),
      )}
    </div>
  )
}

/** The index of the line that contains a node; -1 when it is outside the lines. */
const lineAt = (place: HTMLElement, node: Node | null): number => {
  const element = node instanceof Element ? node : node?.parentElement
  const line = element?.closest('.diff pre > div')
  return line && place.contains(line) ? [...(line.parentElement?.children ?? [])].indexOf(line) : -1
}

/** The lines of the selected text, if it is in this hunk. */
const selectedLines = (place: HTMLElement): LineRange | null => {
  const selection = getSelection()
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null
  const { startContainer, endContainer, endOffset } = selection.getRangeAt(0)
  const [from, end] = [lineAt(place, startContainer), lineAt(place, endContainer)]
  if (from < 0 || end < 0) return null
  // A selection that ends before the first character of a line does not include it.
  return { from, to: endOffset === 0 && end > from ? end - 1 : end }
}

type HunkProps = {
  path: string
  hunk: Hunk
  onUndo: DiffHunksProps['onUndo']
  isUndone: boolean
  slot: ReturnType<HunkSlots> | undefined
}

const HunkView = ({ path, hunk: { header, file }, onUndo, isUndone, slot }: HunkProps) => {
  const place = useRef<HTMLDivElement>(null)
  const opener = useRef<HTMLButtonElement>(null)
  const picked = useSignal<LineRange | null>(null)
  const all = numbersOf(file, { from: 0, to: file.lines.length - 1 })
  useEffect(() => {
    const lines = place.current?.querySelectorAll('.diff pre > div') ?? []
    for (const [at, line] of [...lines].entries())
      line.toggleAttribute(
        'data-picked',
        picked.value !== null && at >= picked.value.from && at <= picked.value.to,
      )
  }, [picked.value])

  const pick = (event: MouseEvent) => {
    const target = event.target as Element
    if (target.closest('a')) return
    const line = target.closest<HTMLElement>('.diff pre > div')
    if (!line || !place.current) return
    const isTouch = event instanceof PointerEvent && event.pointerType === 'touch'
    const { left, right } = line.getBoundingClientRect()
    const isRtl = getComputedStyle(line).direction === 'rtl'
    const inGutter = (isRtl ? right - event.clientX : event.clientX - left) < GUTTER_PX
    if (!isTouch && !inGutter) return
    const at = lineAt(place.current, line)
    if (at < 0) return
    const before = event.shiftKey ? picked.value : null
    picked.value = before
      ? { from: Math.min(before.from, at), to: Math.max(before.to, at) }
      : { from: at, to: at }
  }
  const numbers = { from: `${all.from}`, to: `${all.to}` }
  return (
    <section class="hunk" aria-label={linesText(all)}>
      <div class="hunk-head">
        <span>{linesText(all)}</span>
        {may('POST /api/chat/start') && (
          <button
            ref={opener}
            type="button"
            aria-label={t('comment.label', numbers)}
            // Pressing the button would otherwise clear the selection in some browsers.
            onMouseDown={event => event.preventDefault()}
            onClick={() => {
              picked.value = (place.current && selectedLines(place.current)) ?? changedRange(file)
            }}
          >
            <Icon name="edit" size={14} />
            {t('comment')}
          </button>
        )}
        {slot?.head}
        {isUndone && <span class="hunk-undone">{t('undone')}</span>}
        {onUndo && header && !isUndone && may('POST /api/rollback/restore') && (
          <button
            type="button"
            aria-label={t('undo.label', numbers)}
            onClick={() => onUndo(header)}
          >
            <Icon name="undo" size={14} />
            {t('undo')}
          </button>
        )}
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the Comment button and its line fields do the same by keyboard */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the Comment button and its line fields do the same by keyboard */}
      <div ref={place} class="hunk-lines" onClick={pick}>
        {slot?.body ?? <Diff file={file} />}
      </div>
      {picked.value && (
        <CommentForm
          path={path}
          file={file}
          range={picked.value}
          onRange={next => {
            picked.value = next
          }}
          onClose={() => {
            picked.value = null
            opener.current?.focus({ preventScroll: true })
          }}
        />
      )}
    </section>
  )
}

type FormProps = {
  path: string
  file: Hunk['file']
  range: LineRange
  onRange: (range: LineRange) => void
  onClose: () => void
}

const MARKS = { same: '', added: '+', removed: '−', gap: '', note: '\\ ' } as const

function CommentForm({ path, file, range, onRange, onClose }: FormProps) {
  const { draft: composer } = useComposer()
  const { toasts } = useShell()
  const panel = usePanel()
  const text = useSignal('')
  const field = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    field.current?.focus({ preventScroll: true })
    field.current?.form?.scrollIntoView({ block: 'nearest' })
  }, [])
  const add = () => {
    if (!text.value.trim()) return
    if (composer.comments.value.length >= MAX_COMMENTS) {
      toasts.show(t('full'), { kind: 'error' })
      return
    }
    composer.addComment(toComment(path, file, range, text.value))
    // The sheet covers the composer, where the comment appears.
    if (panel.overlay.value) toasts.show(t('added'))
    onClose()
  }
  const select = (label: string, value: number, onPick: (at: number) => void) => (
    <label>
      {label}
      <select value={`${value}`} onChange={event => onPick(Number(event.currentTarget.value))}>
        {file.lines.map(({ kind, number }, at) => (
          <option key={at} value={`${at}`}>
            {MARKS[kind]}
            {number}
          </option>
        ))}
      </select>
    </label>
  )
  return (
    <form
      class="review-form"
      aria-label={t('form.label')}
      onSubmit={event => {
        event.preventDefault()
        add()
      }}
      onKeyDown={event => {
        if (event.key === 'Escape') {
          event.stopPropagation()
          event.preventDefault()
          onClose()
        } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault()
          add()
        }
      }}
    >
      <div class="review-range">
        {select(t('from'), range.from, at => onRange({ from: at, to: Math.max(at, range.to) }))}
        {select(t('to'), range.to, at => onRange({ from: Math.min(at, range.from), to: at }))}
      </div>
      <textarea
        ref={field}
        class="input"
        rows={2}
        maxLength={10_000}
        aria-label={t('form.label')}
        placeholder={t('placeholder')}
        value={text.value}
        onInput={event => {
          text.value = event.currentTarget.value
        }}
      />
      <div class="review-buttons">
        <Button kind="quiet" onClick={onClose}>
          {t('cancel')}
        </Button>
        <Button kind="primary" type="submit" disabled={!text.value.trim()}>
          {t('add')}
        </Button>
      </div>
    </form>
  )
}
