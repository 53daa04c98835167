/** A form, its fields, each with label, control, help, and error, and the row of its buttons. A settings row is in field.tsx. */
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren, Ref } from 'preact'
import { useId } from 'preact/hooks'
import { t } from '../strings/t.ts'
import { Button } from './button.tsx'
import { Select, type SelectProps } from './field.tsx'

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
    /** Suggested values. */
    options?: readonly string[]
    inputRef?: Ref<HTMLInputElement>
  } & (
    | { /** Holds what is written. */ text: Signal<string> }
    | { text?: never; value: string; onInput: (text: string) => void }
  )

/** A one-line field, without autocompletion and corrections unless asked for. */
export const TextField = (props: TextFieldProps) => {
  const { label, bare, hint, error, options, inputRef, text, ...rest } = props
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
            value={text ? text.value : props.value}
            onInput={({ currentTarget: { value } }) => {
              if (text) text.value = value
              else props.onInput(value)
            }}
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

/** A choice from a list, as a field of a form. */
export const SelectField = <V extends string>({
  label,
  hint,
  bare,
  ...rest
}: Omit<FieldProps, 'control' | 'group' | 'error'> & SelectProps<V>) => (
  <Field
    label={label}
    hint={hint}
    {...(bare && { bare })}
    control={({ id, describedBy }) => <Select id={id} describedBy={describedBy} {...rest} />}
  />
)

export type FormProps = {
  label?: string
  class?: string
  /** The text of the button that sends it, and the one while it is sent. */
  submit: string
  sending?: string
  danger?: boolean
  /** Nothing can be sent yet. */
  isIncomplete?: boolean
  /** A rejection is shown above the buttons. */
  onSubmit: () => unknown
  onCancel?: () => void
  /** Buttons before these. */
  actions?: ComponentChildren
  children: ComponentChildren
}

/** Sends its fields once at a time. */
export const Form = (props: FormProps) => {
  const { label, submit, sending = submit, isIncomplete = false, onCancel, actions } = props
  const isBusy = useSignal(false)
  const problem = useSignal('')
  const send = async (event: Event) => {
    event.preventDefault()
    if (isIncomplete || isBusy.value) return
    isBusy.value = true
    problem.value = ''
    try {
      await props.onSubmit()
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error)
    }
    isBusy.value = false
  }
  return (
    <form
      class={`form ${props.class ?? ''}`}
      aria-label={label}
      onSubmit={event => void send(event)}
    >
      {props.children}
      <FormActions error={problem.value}>
        {actions}
        {onCancel && <Button onClick={onCancel}>{t('app.cancel')}</Button>}
        <Button
          kind={props.danger ? 'danger' : 'primary'}
          type="submit"
          disabled={isIncomplete || isBusy.value}
        >
          {isBusy.value ? sending : submit}
        </Button>
      </FormActions>
    </form>
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
