/** A node of the spine: a link to its row. */
import { useComputed } from '@preact/signals'
import { t } from '../../strings/transcript-strings.ts'
import type { Row } from './rows.ts'
import { nodeOf } from './spine.ts'
import { useTranscript } from '../messages/transcript-context.ts'

export function SpineNode({ row }: { row: Row }) {
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
