/** Deleting a profile is permanent, so its name has to be typed. */
import { useSignal } from '@preact/signals'
import { useId } from 'preact/hooks'
import type { Profile } from '../../../lib/schema/profile.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { t } from './strings.ts'
import { useProfiles } from '../../contexts.ts'

export const DeleteProfile = ({ profile, onClose }: { profile: Profile; onClose: () => void }) => {
  const { deleteProfile } = useProfiles()
  const id = useId()
  const typed = useSignal('')
  const error = useSignal('')
  const busy = useSignal(false)
  const { name } = profile

  const submit = async (event: Event) => {
    event.preventDefault()
    if (typed.value !== name) return
    busy.value = true
    try {
      await deleteProfile(name)
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
        <label for={`${id}-typed`}>{t('profiles.delete.type', { name })}</label>
        <input
          id={`${id}-typed`}
          class="input"
          type="text"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          autofocus
          aria-describedby={`${id}-error`}
          value={typed.value}
          onInput={event => {
            typed.value = event.currentTarget.value
          }}
        />
        <p id={`${id}-error`} class="form-error" role="alert">
          {error.value}
        </p>
        <div class="form-actions">
          <Button onClick={onClose}>{t('app.cancel')}</Button>
          <Button kind="danger" type="submit" disabled={busy.value || typed.value !== name}>
            {t('profiles.delete.confirm')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
