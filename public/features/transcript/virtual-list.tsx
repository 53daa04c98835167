/** Virtualized list of transcript rows: renders those around the viewport, keeps the reading position, follows the end. */
import { type ReadonlySignal, useSignal, useComputed } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../strings/transcript-strings.ts'
import { RowView } from './row-view.tsx'
import type { Row } from './rows.ts'
import { ScrollController } from './scroll-controller.ts'
import { nodeOf } from './spine.ts'
import { useTranscript } from '../messages/transcript-context.ts'

function SpineNode({ row }: { row: Row }) {
  const { chat, actions } = useTranscript()
  const isLive = 'live' in row ? row.live : row.kind === 'step' && chat.peek().live !== null
  const isWaiting = useComputed(() => isLive && chat.value.questions.length > 0).value
  const isCurrent = useComputed(() => actions.place?.value?.row === row.key).value
  const node = nodeOf(row, isWaiting)
  if (!node) return null
  const { kind, state } = node
  return (
    <a
      class={`node node-${kind} node-${state}`}
      href={actions.hrefOfPlace?.(row.key)}
      aria-current={isCurrent ? 'location' : undefined}
      // Requests are in the tab order; arrow keys reach the other nodes.
      tabIndex={kind === 'request' ? 0 : -1}
      onClick={event => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
        event.preventDefault()
        actions.jumpTo?.(row.key)
      }}
      onKeyDown={moveByArrow}
    >
      <span class="tx-sr">
        {t('node.label', { kind: t(`node.${kind}`), state: t(`node.state.${state}`) })}
      </span>
    </a>
  )
}

/** Arrow keys move the focus to the node above or below. */
const moveByArrow = (event: KeyboardEvent): void => {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key]
  const node = event.currentTarget as HTMLElement
  if (!step || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  const nodes = [...(node.closest('.tx-column')?.querySelectorAll<HTMLElement>('.node') ?? [])]
  const next = nodes[nodes.indexOf(node) + step]
  next?.focus({ preventScroll: true })
  next?.closest('.tx-row')?.scrollIntoView({ block: 'nearest' })
}

export type VirtualListProps = {
  label: string
  rows: ReadonlySignal<readonly Row[]>
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
  const range = scroll.beginRender(rows, onNearTop)
  useLayoutEffect(() => scroll.endRender())
  useEffect(() => scroll.mount(), [])

  // The foot of a running turn only reserves space. Questions, which belong to its last step, are above it.
  const end = list[range.end - 1]
  const foot = end?.kind === 'foot' && end.live ? end : null
  const drawn = list.slice(range.start, foot ? range.end - 1 : range.end)
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
        <div class="tx-column" ref={scroll.column}>
          {head}
          <div class="tx-space" ref={scroll.space} style={{ height: `${range.above}px` }} />
          {drawn.map(row => (
            <RowBox key={row.key} row={row} isFirst={row === list[0]} />
          ))}
          <div class="tx-space" style={{ height: `${range.below}px` }} />
          {tail}
          {foot && <RowBox row={foot} />}
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
function RowBox({ row, isFirst = false }: { row: Row; isFirst?: boolean }) {
  const body = useMemo(
    () => (
      <>
        <SpineNode row={row} />
        <RowView row={row} />
      </>
    ),
    [row],
  )
  const first = isFirst ? 'tx-row-first' : ''
  return (
    <div class={`tx-row tx-row-${row.kind} ${first}`} data-key={row.key}>
      {body}
    </div>
  )
}
