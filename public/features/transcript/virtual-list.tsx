/** Virtualized list of transcript rows: renders those around the viewport, keeps the reading position, follows the end. */
import { type ReadonlySignal, useSignal, useComputed } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../strings/transcript-strings.ts'
import { UsageFacts } from './foot-row.tsx'
import { RowView } from './row-view.tsx'
import type { TranscriptRow } from './rows.ts'
import { ScrollController } from './scroll-controller.ts'
import { shownRetryOf } from './pending-retry.ts'
import { markOf } from './spine.ts'
import { useTranscript } from '../messages/transcript-context.ts'

/** Decoration: the words of the row say the same. */
function StepMark({ row }: { row: TranscriptRow }) {
  const { chat } = useTranscript()
  // Others have the same mark whatever happens, so a token costs them nothing.
  const mayRun = row.kind === 'activity' ? row.live : row.kind === 'step'
  const isWaiting = useComputed(
    () => mayRun && (chat.value.questions.length > 0 || shownRetryOf(chat.value.live) !== null),
  ).value
  const mark = markOf(row, isWaiting)
  return mark && <span class={`node node-${mark}`} aria-hidden="true" />
}

export type VirtualListProps = {
  label: string
  rows: ReadonlySignal<readonly TranscriptRow[]>
  /** A turn is running, so content below the viewport is new. */
  running: ReadonlySignal<boolean>
  /** Shown above all rows. */
  head: ComponentChildren
  /** Shown below all rows. */
  tail: ComponentChildren
  onNearTop: () => void
  /** The controller of this list, so that its owner can jump to a row. */
  controller: { current: ScrollController | null }
}

export function VirtualList({
  label,
  rows,
  running,
  head,
  tail,
  onNearTop,
  controller,
}: VirtualListProps) {
  const { showUsage } = useTranscript()
  const drawnCount = useSignal(0)
  // Read, so that a new count draws the list again.
  void drawnCount.value
  const scroll = useMemo(
    () =>
      new ScrollController({
        render() {
          drawnCount.value = drawnCount.peek() + 1
        },
      }),
    [],
  )
  controller.current = scroll
  const list = rows.value
  const range = scroll.beginRender(rows, running, onNearTop)
  useLayoutEffect(() => scroll.endRender())
  useEffect(() => scroll.mount(), [])

  const visible = list.slice(range.start, range.end)
  const leftAt = scroll.leftAt.value
  const hasNew = running.value || leftAt !== list.at(-1)?.key
  return (
    <div class="tx-frame">
      <section
        class="tx-scroll"
        ref={scroll.scroller}
        onScroll={scroll.onScroll}
        onClickCapture={scroll.onClick}
        onKeyDown={scroll.onKey}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must do so by keyboard
        tabIndex={0}
        aria-label={label}
      >
        <div class={running.value ? 'tx-column tx-running' : 'tx-column'} ref={scroll.column}>
          {head}
          <div class="tx-space" ref={scroll.space} style={{ height: `${range.above}px` }} />
          {visible.map(row => (
            <RowBox key={row.key} row={row} />
          ))}
          <div class="tx-space" style={{ height: `${range.below}px` }} />
          {tail}
          {running.value && showUsage && <UsageFacts usage={null} />}
        </div>
      </section>
      {leftAt !== null && (
        <button
          type="button"
          class="tx-new"
          aria-label={t(hasNew ? 'tx.new.full' : 'tx.new.label')}
          onClick={() => scroll.jumpToEnd()}
        >
          <Icon name="arrow-down" />
          {hasNew && t('tx.new')}
        </button>
      )}
    </div>
  )
}

/** Memoized: an unchanged row object is not rendered again. */
function RowBox({ row }: { row: TranscriptRow }) {
  const { actions } = useTranscript()
  const isCurrent = useComputed(() => actions.place?.value?.row === row.key).value
  const body = useMemo(
    () => (
      <>
        <StepMark row={row} />
        <RowView row={row} />
      </>
    ),
    [row],
  )
  return (
    <div
      class={`tx-row tx-row-${row.kind}`}
      data-key={row.key}
      aria-current={isCurrent ? 'location' : undefined}
    >
      {body}
    </div>
  )
}
