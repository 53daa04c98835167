/** Menu: arrow keys move, letters jump, Escape returns to what opened it. */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'
import { may } from './may.ts'
import type { MenuItem } from './menu-button.tsx'
import { Popover } from './popover.tsx'

/** Without those that the person may not use, and the lines that then separate nothing. */
const offered = (items: readonly MenuItem[]): readonly MenuItem[] => {
  const entries = items.flatMap((item): MenuItem[] => {
    if (item === 'line') return [item]
    if ('items' in item) {
      const inner = offered(item.items)
      return inner.length > 0 ? [{ ...item, items: inner }] : []
    }
    return item.asks && !may(item.asks) ? [] : [item]
  })
  return entries.filter(
    (item, at) =>
      item !== 'line' || (at > 0 && at < entries.length - 1 && entries[at - 1] !== 'line'),
  )
}

const itemsOf = (menu: HTMLElement | null): HTMLElement[] => [
  ...(menu?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? []),
]

const nextIndex = (key: string, at: number, labels: readonly string[]): number => {
  const count = labels.length
  if (key === 'ArrowDown') return (at + 1) % count
  if (key === 'ArrowUp') return (at - 1 + count) % count
  if (key === 'Home') return 0
  if (key === 'End') return count - 1
  if (key.length !== 1) return -1
  const order = labels.map((_, step) => (at + 1 + step) % count)
  return order.find(index => labels[index]!.toLowerCase().startsWith(key.toLowerCase())) ?? -1
}

const isRtl = (element: Element | null): boolean =>
  element !== null && getComputedStyle(element).direction === 'rtl'

export type MenuProps = {
  anchor: RefObject<HTMLElement | null>
  label: string
  items: readonly MenuItem[]
  align?: 'start' | 'end'
  side?: 'above' | 'below' | undefined
  at?: DOMRect | null
  onClose: () => void
}

export const Menu = ({ anchor, label, items: all, side = 'below', ...props }: MenuProps) => {
  const { align = 'end', at = null, onClose } = props
  const top = offered(all)
  const ref = useRef<HTMLDivElement>(null)
  const open = useSignal<string | null>(null)
  const lastOpen = useRef<string | null>(null)
  const inner = top.find(item => item !== 'line' && 'items' in item && item.label === open.value)
  const items = inner && inner !== 'line' && 'items' in inner ? inner.items : top
  const leave = () => {
    lastOpen.current = open.value
    open.value = null
  }
  // Before the next key arrives: it would be handled with the focus elsewhere.
  useLayoutEffect(() => {
    const all = itemsOf(ref.current)
    // Back in the menu, the focus returns to the entry that was opened.
    const at = open.value ? 1 : all.findIndex(item => item.dataset.label === lastOpen.current)
    all[Math.max(0, at)]?.focus()
  }, [open.value])

  return (
    <Popover {...{ anchor, at, onClose, side, align }} class="menu">
      <div
        ref={ref}
        role="menu"
        aria-label={label}
        onKeyDown={event => {
          const all = itemsOf(ref.current)
          const at = all.indexOf(document.activeElement as HTMLElement)
          const labels = all.map(item => item.textContent ?? '')
          const to = event.ctrlKey || event.metaKey ? -1 : nextIndex(event.key, at, labels)
          if (event.key === 'Tab') onClose()
          const opens = all[at]?.ariaHasPopup === 'menu'
          const [into, back] = isRtl(ref.current)
            ? ['ArrowLeft', 'ArrowRight']
            : ['ArrowRight', 'ArrowLeft']
          if (event.key === into && opens) all[at]?.click()
          if (event.key === back && open.value) leave()
          if (to < 0) return
          event.preventDefault()
          all[to]?.focus()
        }}
      >
        {open.value && (
          <button
            type="button"
            role="menuitem"
            tabIndex={-1}
            class="menu-item menu-back"
            onClick={leave}
          >
            <Icon name="chevron-right" size={16} />
            <span>{open.value}</span>
          </button>
        )}
        {items.map((item, index) =>
          item === 'line' ? (
            <hr key={`line-${index}`} />
          ) : 'items' in item ? (
            <button
              key={item.label}
              type="button"
              role="menuitem"
              aria-haspopup="menu"
              data-label={item.label}
              tabIndex={-1}
              class="menu-item menu-more"
              onClick={() => {
                open.value = item.label
              }}
            >
              {item.icon && <Icon name={item.icon} size={16} />}
              <span>{item.label}</span>
              <Icon name="chevron-right" size={16} />
            </button>
          ) : (
            <button
              key={item.label}
              type="button"
              {...(item.checked === undefined
                ? { role: 'menuitem' }
                : { role: 'menuitemradio', 'aria-checked': item.checked })}
              tabIndex={-1}
              class={`menu-item${item.danger ? ' menu-danger' : ''}`}
              onClick={() => {
                onClose()
                anchor.current?.focus()
                item.run()
              }}
            >
              {item.icon && <Icon name={item.icon} size={16} />}
              <span>
                {item.label}
                {item.hint && <small>{item.hint}</small>}
              </span>
              {item.keys && <kbd>{item.keys}</kbd>}
            </button>
          ),
        )}
      </div>
    </Popover>
  )
}
