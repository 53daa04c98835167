/** Sections of rows: label, hint, control and save status. */
import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

export type RowProps = {
  label: ComponentChildren
  hint?: ComponentChildren
  status?: string | undefined
  failed?: boolean
  /** The control is several radio buttons: the label names the group. */
  group?: boolean
  /** Receives the ids for the control, its label, and its description. */
  control: (ids: { control: string; label: string; hint: string | undefined }) => ComponentChildren
}

export const Row = ({ label, hint, status, failed, group, control }: RowProps) => {
  const id = useId()
  const hintId = hint ? `${id}-hint` : undefined
  return (
    <div class="field">
      <div class="field-text">
        {group ? (
          <span id={`${id}-label`} class="field-label">
            {label}
          </span>
        ) : (
          <label for={id}>{label}</label>
        )}
        {hint && (
          <p id={hintId} class="field-hint">
            {hint}
          </p>
        )}
      </div>
      <div class="field-control">
        <span class={`field-status${failed ? ' field-failed' : ''}`} role="status">
          {status}
        </span>
        {control({ control: id, label: `${id}-label`, hint: hintId })}
      </div>
    </div>
  )
}

export type SwitchProps = {
  id: string
  describedBy: string | undefined
  checked: boolean
  disabled?: boolean
  onChange: (checked: boolean) => void
}

export const Switch = ({ id, describedBy, checked, disabled, onChange }: SwitchProps) => (
  <input
    id={id}
    type="checkbox"
    role="switch"
    aria-checked={checked}
    class="switch"
    aria-describedby={describedBy}
    checked={checked}
    disabled={disabled}
    onChange={event => onChange(event.currentTarget.checked)}
  />
)

export type SelectProps<V extends string> = {
  options: readonly (readonly [value: V, label: string])[]
} & (
  | { /** Holds the choice. */ choice: Signal<V> }
  | { choice?: never; value: V; onChange: (value: V) => void }
)
type Ids = { id: string; describedBy: string | undefined }

export const Select = <V extends string>({ id, describedBy, ...props }: SelectProps<V> & Ids) => {
  const { options, choice } = props
  const value = choice ? choice.value : props.value
  return (
    <select
      id={id}
      class="select"
      aria-describedby={describedBy}
      value={value}
      onChange={event => {
        // It has no other values than those of its options.
        const next = event.currentTarget.value as V
        if (choice) choice.value = next
        else props.onChange(next)
      }}
    >
      {options.map(([key, label]) => (
        <option key={key} value={key} selected={key === value}>
          {label}
        </option>
      ))}
    </select>
  )
}

type Texts = Pick<RowProps, 'label' | 'hint'>

export const SwitchRow = ({
  label,
  hint,
  ...rest
}: Texts & Omit<SwitchProps, 'id' | 'describedBy'>) => (
  <Row
    label={label}
    hint={hint}
    control={ids => <Switch id={ids.control} describedBy={ids.hint} {...rest} />}
  />
)

export const SelectRow = <V extends string>({ label, hint, ...rest }: Texts & SelectProps<V>) => (
  <Row
    label={label}
    hint={hint}
    control={ids => <Select id={ids.control} describedBy={ids.hint} {...rest} />}
  />
)

export type SectionProps = {
  title: string
  /** A sentence below the title. */
  lead?: string
  class?: string
  children: ComponentChildren
}

/** A part of a page of settings. */
export const Section = ({ title, lead, class: own, children }: SectionProps) => (
  <section class={`view-part rows ${own ?? ''}`} aria-label={title}>
    <h3>{title}</h3>
    {lead && <p class="field-hint">{lead}</p>}
    {children}
  </section>
)
