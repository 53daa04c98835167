/** Text button and icon button; an icon button always has a label. */
import type { ButtonHTMLAttributes, ComponentChildren, Ref } from 'preact'
import { Icon, type IconName } from './icon.tsx'

type Native = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'icon' | 'label' | 'size'>
export type ButtonProps = Native & {
  kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  icon?: IconName
  children: ComponentChildren
  buttonRef?: Ref<HTMLButtonElement>
}

export const Button = ({ kind = 'plain', icon, children, buttonRef, ...rest }: ButtonProps) => (
  <button type="button" {...rest} ref={buttonRef ?? null} class={`button button-${kind}`}>
    {icon && <Icon name={icon} size={16} />}
    {children}
  </button>
)

export type IconButtonProps = Native & {
  icon: IconName
  label: string
  /** Shortcut shown in the tooltip. */
  keys?: string
  size?: number
  round?: boolean
  buttonRef?: Ref<HTMLButtonElement>
}

export const IconButton = (props: IconButtonProps) => {
  const { icon, label, keys, size = 18, round, buttonRef, class: extra, ...rest } = props
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
