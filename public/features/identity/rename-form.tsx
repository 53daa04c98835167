/** Takes the place of a row while its name is edited. */
import { useSignal } from '@preact/signals'
import { useShell } from '../../contexts.ts'
import { Form, TextField } from '../../parts/form.tsx'
import { t } from './strings.ts'

type Props = {
  name: string
  hint?: string
  save: (name: string) => Promise<unknown>
  onDone: () => void
}

export const RenameForm = ({ name, hint, save, onDone }: Props) => {
  const { attempt } = useShell()
  const text = useSignal(name)
  const submit = () =>
    attempt(async () => {
      await save(text.value)
      onDone()
    })
  return (
    <Form submit={t('devices.save')} onSubmit={submit} onCancel={onDone}>
      <TextField label={t('devices.name')} hint={hint} maxLength={60} autofocus text={text} />
    </Form>
  )
}
