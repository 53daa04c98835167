/** Button that opens a menu; the menu itself is loaded after the first view. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useCallback, useRef } from 'preact/hooks'
import { IconButton } from './button.tsx'
import type { IconName } from './icon.tsx'
import { lazy } from './lazy.tsx'
import type { Route } from './may.ts'

const Menu = lazy(async () => (await import('./menu.tsx')).Menu, true)

export type MenuItem =
  | 'line'
  | {
      label: string
      /** A sentence below the label. */
      hint?: string
      icon?: IconName
      keys?: string
      danger?: boolean
      /** State of a radio item. */
      checked?: boolean
      /** The route that it calls: it is left out when the person's role refuses it. */
      asks?: Route | undefined
      run: () => void
    }
  | {
      label: string
      icon?: IconName
      /** Replaces the menu by these, with a way back. */
      items: readonly MenuItem[]
    }

export type MenuButtonProps = {
  label: string
  icon?: IconName
  class?: string
  tabIndex?: number
  /** Where the menu opens if there is room. */
  side?: 'above' | 'below'
  disabled?: boolean
  /** Instead of an icon; the menu then begins where the button does. */
  children?: ComponentChildren
  /** The route that all of its items call. */
  asks?: Route
  /** A promise: they are loaded when the menu is opened. It must not reject; null: it stays closed. */
  items: () => readonly MenuItem[] | Promise<readonly MenuItem[] | null>
}

/** For the `contextmenu` event of a row: opens the menu of its button at the pointer. */
export const openMenuAt = (event: MouseEvent, button: Element | null): void => {
  if (!button || (event.target as Element).closest('.popover, input')) return
  event.preventDefault()
  const { clientX, clientY } = event
  button.dispatchEvent(new MouseEvent('contextmenu', { cancelable: true, clientX, clientY }))
}

export const MenuButton = (props: MenuButtonProps) => {
  const { label, icon = 'more', items, children, asks, side, ...rest } = props
  const open = useSignal<readonly MenuItem[] | null>(null)
  const anchor = useRef<HTMLButtonElement>(null)
  const place = useRef<DOMRect | null>(null)
  const close = useCallback(() => {
    open.value = null
  }, [])
  const show = (at: DOMRect | null) => {
    place.current = at
    const menu = items()
    if (menu instanceof Promise)
      void menu.then(next => {
        open.value = next
      })
    else open.value = menu
  }
  const button = {
    ...rest,
    'aria-haspopup': 'menu',
    'aria-expanded': open.value !== null,
    onClick(event: Event) {
      event.preventDefault()
      event.stopPropagation()
      if (open.value) close()
      else show(null)
    },
    // Of what the button belongs to, sent here by `openMenuAt`.
    onContextMenu(event: MouseEvent) {
      event.preventDefault()
      event.stopPropagation()
      show(new DOMRect(event.clientX, event.clientY))
    },
  } as const
  return (
    <>
      {children ? (
        <button type="button" {...button} ref={anchor} aria-label={label}>
          {children}
        </button>
      ) : (
        <IconButton
          {...button}
          {...(asks && { asks })}
          icon={icon}
          label={label}
          buttonRef={anchor}
        />
      )}
      {open.value && (
        <Menu
          anchor={anchor}
          label={label}
          items={open.value}
          side={side}
          at={place.current}
          {...((children || place.current || side) && { align: 'start' as const })}
          onClose={close}
        />
      )}
    </>
  )
}
