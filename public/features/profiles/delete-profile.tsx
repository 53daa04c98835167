/** Deleting a profile is permanent, so its name has to be typed. */
import { useSignal } from '@preact/signals'
import type { Profile } from '../../../lib/schema/profile.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { FormActions, TextField } from '../../parts/form.tsx'
import { t } from './strings.ts'
import { useProfiles } from '../../contexts.ts'

export const DeleteProfile = ({ profile, onClose }: { profile: Profile; onClose: () => void }) => {
  const profiles = useProfiles()
  const typed = useSignal('')
  const error = useSignal('')
  const busy = useSignal(false)
  const { name } = profile

  const submit = async (event: Event) => {
    event.preventDefault()
    if (typed.value !== name) return
    busy.value = true
    try {
      await profiles.remove(name)
      onClose()
    } catch (refused) {
      error.value = refused instanceof Error ? refused.message : String(refused)
      busy.value = false
    }
  }

  return (
    <Dialog
      title={t('profiles.delete.title', { name })}
      closeLabel={t('app.close')}
      onClose={onClose}
    >
      <form class="form" onSubmit={event => void submit(event)}>
        <p class="dialog-text">{t('profiles.delete.text')}</p>
        <TextField
          label={t('profiles.delete.type', { name })}
          autofocus
          value={typed.value}
          onInput={text => {
            typed.value = text
          }}
        />
        <FormActions error={error.value}>
          <Button onClick={onClose}>{t('app.cancel')}</Button>
          <Button kind="danger" type="submit" disabled={busy.value || typed.value !== name}>
            {t('profiles.delete.confirm')}
          </Button>
        </FormActions>
      </form>
    </Dialog>
  )
}
