/** Takes the place of a row while its name is edited. */
import { useSignal } from '@preact/signals'
import { useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { FormActions, TextField } from '../../parts/form.tsx'
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
  const submit = async (event: Event) => {
    event.preventDefault()
    await attempt(async () => {
      await save(text.value)
      onDone()
    })
  }
  return (
    <form class="form" onSubmit={event => void submit(event)}>
      <TextField
        label={t('devices.name')}
        hint={hint}
        maxLength={60}
        autofocus
        value={text.value}
        onInput={value => {
          text.value = value
        }}
      />
      <FormActions>
        <Button onClick={onDone}>{t('app.cancel')}</Button>
        <Button kind="primary" type="submit">
          {t('devices.save')}
        </Button>
      </FormActions>
    </form>
  )
}
