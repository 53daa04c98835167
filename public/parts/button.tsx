/** Text button and icon button; an icon button always has a label. */
import type { ButtonHTMLAttributes, ComponentChildren, Ref } from 'preact'
import { Icon, type IconName } from './icon.tsx'
import { may, type Route } from './may.ts'

/** The route that a control calls: it is left out when the person's role refuses it. */
type Asking = { asks?: Route | undefined }

type Native = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon' | 'label' | 'size'>
export type ButtonProps = Native &
  Asking & {
    kind?: 'plain' | 'primary' | 'danger' | 'quiet'
    icon?: IconName
    children: ComponentChildren
    buttonRef?: Ref<HTMLButtonElement>
  }

export const Button = (props: ButtonProps) => {
  const { kind = 'plain', icon, children, buttonRef, asks, ...rest } = props
  if (asks && !may(asks)) return null
  return (
    <button type="button" {...rest} ref={buttonRef ?? null} class={`button button-${kind}`}>
      {icon && <Icon name={icon} size={16} />}
      {children}
    </button>
  )
}

export type IconButtonProps = Native &
  Asking & {
    icon: IconName
    label: string
    /** Shortcut shown in the tooltip. */
    keys?: string
    size?: number
    round?: boolean
    buttonRef?: Ref<HTMLButtonElement>
  }

export const IconButton = (props: IconButtonProps) => {
  const { icon, label, keys, size = 18, round, buttonRef, asks, class: extra, ...rest } = props
  if (asks && !may(asks)) return null
  return (
    <button
      type="button"
      {...rest}
      ref={buttonRef ?? null}
      class={`icon-button${round ? ' icon-button-round' : ''}${extra ? ` ${String(extra)}` : ''}`}
      aria-label={label}
      title={keys ? `${label} (${keys})` : label}
    >
      <Icon name={icon} size={size} />
    </button>
  )
}
