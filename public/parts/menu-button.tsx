/** Button that opens a menu; the menu itself is loaded after the first view. */
import { useSignal } from '@preact/signals'
import { useCallback, useRef } from 'preact/hooks'
import { IconButton } from './button.tsx'
import type { IconName } from './icon.tsx'
import { lazy } from './lazy.tsx'
import type { Route } from './may.ts'

export const Menu = lazy(async () => (await import('./menu.tsx')).Menu, true)

export type MenuItem =
  | 'line'
  | {
      label: string
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
  /** The route that all of its items call. */
  asks?: Route
  /** A promise: they are loaded when the menu is opened. It must not reject; null: it stays closed. */
  items: () => readonly MenuItem[] | Promise<readonly MenuItem[] | null>
}

export const MenuButton = ({ label, icon = 'more', items, ...rest }: MenuButtonProps) => {
  const open = useSignal<readonly MenuItem[] | null>(null)
  const anchor = useRef<HTMLButtonElement>(null)
  const close = useCallback(() => {
    open.value = null
  }, [])
  const show = () => {
    const made = items()
    if (made instanceof Promise)
      void made.then(next => {
        open.value = next
      })
    else open.value = made
  }
  return (
    <>
      <IconButton
        {...rest}
        icon={icon}
        label={label}
        buttonRef={anchor}
        aria-haspopup="menu"
        aria-expanded={open.value !== null}
        onClick={event => {
          event.preventDefault()
          event.stopPropagation()
          if (open.value) close()
          else show()
        }}
      />
      {open.value && <Menu anchor={anchor} label={label} items={open.value} onClose={close} />}
    </>
  )
}
