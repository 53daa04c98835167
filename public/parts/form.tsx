/** The fields of a form, each with label, control, help, and error, and the row of its buttons. A settings row is in field.tsx. */
import type { ComponentChildren, Ref } from 'preact'
import { useId } from 'preact/hooks'

export type FieldIds = { id: string; describedBy: string | undefined; isInvalid: boolean }

export type FieldProps = {
  label: string
  hint?: ComponentChildren
  /** Replaces the help while it is not empty. */
  error?: string | undefined
  /** The label is for screen readers only: a title above already says it. */
  bare?: boolean
  /** The control is a group of controls: the label names the group. */
  group?: boolean
  /** Receives what connects the control to its label and texts. */
  control: (ids: FieldIds) => ComponentChildren
}

export const Field = ({ label, bare, hint, error, group, control }: FieldProps) => {
  const id = useId()
  const text = error || hint
  const body = (
    <>
      {control({ id, describedBy: text ? `${id}-text` : undefined, isInvalid: Boolean(error) })}
      {text && (
        <p
          id={`${id}-text`}
          class={error ? 'form-error' : 'field-hint'}
          role={error ? 'alert' : undefined}
        >
          {text}
        </p>
      )}
    </>
  )
  return group ? (
    <fieldset class="form-field">
      <legend>{label}</legend>
      {body}
    </fieldset>
  ) : (
    <div class="form-field">
      <label for={id} class={bare ? 'sr-only' : undefined}>
        {label}
      </label>
      {body}
    </div>
  )
}

type Native = {
  type?: 'text' | 'password' | 'url'
  autocomplete?: 'off' | 'new-password' | 'current-password' | 'one-time-code'
  autofocus?: boolean
  dir?: 'ltr'
  maxLength?: number
  placeholder?: string
  onChange?: () => void
}

export type TextFieldProps = Native &
  Omit<FieldProps, 'control' | 'group'> & {
    value: string
    onInput: (text: string) => void
    /** Suggested values. */
    options?: readonly string[]
    inputRef?: Ref<HTMLInputElement>
  }

/** A one-line field, without autocompletion and corrections unless asked for. */
export const TextField = (props: TextFieldProps) => {
  const { label, bare, hint, error, value, onInput, options, inputRef, ...rest } = props
  return (
    <Field
      label={label}
      {...(bare && { bare })}
      hint={hint}
      error={error}
      control={({ id, describedBy, isInvalid }) => (
        <>
          <input
            type="text"
            autocomplete="off"
            autocapitalize="off"
            spellcheck={false}
            // The type of the attributes depends on the value of `type`, which is only known here as a union.
            {...(rest as { type?: 'text' })}
            ref={inputRef ?? null}
            id={id}
            class="input"
            {...(options && { list: `${id}-list` })}
            aria-describedby={describedBy}
            aria-invalid={isInvalid}
            value={value}
            onInput={event => onInput(event.currentTarget.value)}
          />
          {options && (
            <datalist id={`${id}-list`}>
              {options.map(name => (
                <option key={name} value={name} />
              ))}
            </datalist>
          )}
        </>
      )}
    />
  )
}

export type FormActionsProps = {
  /** Why the form was not saved. */
  error?: string | null
  /** Buttons, the primary one last. */
  children: ComponentChildren
}

export const FormActions = ({ error, children }: FormActionsProps) => (
  <>
    <p class="form-error" role="alert">
      {error}
    </p>
    <div class="form-actions">{children}</div>
  </>
)
