/** Menu button: arrow keys move, letters jump, Escape returns to the button. */
import type { RefObject } from 'preact'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { IconButton } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'
import { Popover } from './popover.tsx'

export type MenuItem =
  | 'line'
  | {
      label: string
      icon?: IconName
      keys?: string
      danger?: boolean
      /** State of a radio item. */
      checked?: boolean
      run: () => void
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

export type MenuProps = {
  anchor: RefObject<HTMLElement | null>
  label: string
  items: readonly MenuItem[]
  align?: 'start' | 'end'
  onClose: () => void
}

export const Menu = ({ anchor, label, items, align = 'end', onClose }: MenuProps) => {
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => itemsOf(ref.current)[0]?.focus(), [])

  return (
    <Popover anchor={anchor} onClose={onClose} align={align} class="menu">
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
          if (to < 0) return
          event.preventDefault()
          all[to]?.focus()
        }}
      >
        {items.map((item, index) =>
          item === 'line' ? (
            <hr key={`line-${index}`} />
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
              <span>{item.label}</span>
              {item.keys && <kbd>{item.keys}</kbd>}
            </button>
          ),
        )}
      </div>
    </Popover>
  )
}

export type MenuButtonProps = {
  label: string
  icon?: IconName
  class?: string
  tabIndex?: number
  items: () => readonly MenuItem[]
}

export const MenuButton = ({ label, icon = 'more', items, ...rest }: MenuButtonProps) => {
  const [open, setOpen] = useState(false)
  const anchor = useRef<HTMLButtonElement>(null)
  const close = useCallback(() => setOpen(false), [])
  return (
    <>
      <IconButton
        {...rest}
        icon={icon}
        label={label}
        buttonRef={anchor}
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={event => {
          event.preventDefault()
          event.stopPropagation()
          setOpen(!open)
        }}
      />
      {open && <Menu anchor={anchor} label={label} items={items()} onClose={close} />}
    </>
  )
}
