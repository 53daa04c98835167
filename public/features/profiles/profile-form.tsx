/** The form for a new or cloned profile. */
import { useSignal } from '@preact/signals'
import type { Profile } from '../../../lib/schema/profile.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Select } from '../../parts/field.tsx'
import { Field, FormActions, TextField } from '../../parts/form.tsx'
import { isProfileName } from './profiles.ts'
import { t } from './strings.ts'
import { useProfiles, useShell } from '../../contexts.ts'

/** An empty name is not reported as an error. */
const nameProblem = (name: string, taken: readonly Profile[]): string | undefined => {
  if (name === '') return undefined
  if (!isProfileName(name)) return t('profiles.form.name.bad')
  return taken.some(profile => profile.name === name) ? t('profiles.form.name.taken') : undefined
}

export const ProfileForm = ({
  source,
  onClose,
}: {
  source: Profile | null
  onClose: () => void
}) => {
  const profiles = useProfiles()
  const { toasts } = useShell()
  const list = profiles.list.value
  const name = useSignal('')
  const from = useSignal(source?.name ?? '')
  const model = useSignal('')
  const url = useSignal('')
  const key = useSignal('')
  const error = useSignal('')
  const busy = useSignal(false)
  const problem = nameProblem(name.value, list)
  const badUrl = url.value !== '' && !/^https?:\/\/./.test(url.value)

  const submit = async (event: Event) => {
    event.preventDefault()
    busy.value = true
    error.value = ''
    const made = name.value
    try {
      await profiles.create({
        name: made,
        ...(from.value ? { clone_from: from.value } : {}),
        ...(model.value.trim() ? { model: model.value.trim() } : {}),
        ...(url.value.trim() ? { base_url: url.value.trim() } : {}),
        ...(key.value.trim() ? { api_key: key.value.trim() } : {}),
      })
      onClose()
      toasts.show(t('profiles.created', { name: made }), {
        action: { label: t('profiles.enter'), run: () => void profiles.switchTo(made) },
      })
    } catch (refused) {
      error.value = refused instanceof Error ? refused.message : String(refused)
      busy.value = false
    }
  }

  return (
    <Dialog
      title={source ? t('profiles.form.clone', { name: source.name }) : t('profiles.new')}
      closeLabel={t('app.close')}
      onClose={onClose}
    >
      <form class="form profile-form" onSubmit={event => void submit(event)}>
        <TextField
          label={t('profiles.form.name')}
          hint={t('profiles.form.name.hint')}
          value={name.value}
          onInput={text => {
            name.value = text
          }}
          error={problem}
          maxLength={64}
          autofocus
        />
        <Field
          label={t('profiles.form.source')}
          control={({ id, describedBy }) => (
            <Select
              id={id}
              describedBy={describedBy}
              value={from.value}
              options={[
                ['', t('profiles.form.source.empty')],
                ...list.map(
                  profile =>
                    [profile.name, t('profiles.form.source.of', { name: profile.name })] as const,
                ),
              ]}
              onChange={value => {
                from.value = value
              }}
            />
          )}
        />
        <details class="profile-own">
          <summary>{t('profiles.form.own')}</summary>
          <TextField
            label={t('profiles.form.model')}
            hint={t('profiles.form.model.hint')}
            value={model.value}
            onInput={text => {
              model.value = text
            }}
          />
          <TextField
            label={t('profiles.form.url')}
            hint={t('profiles.form.url.hint')}
            value={url.value}
            onInput={text => {
              url.value = text
            }}
            error={badUrl ? t('profiles.form.url.bad') : undefined}
          />
          <TextField
            label={t('profiles.form.key')}
            hint={t('profiles.form.key.hint')}
            value={key.value}
            onInput={text => {
              key.value = text
            }}
            type="password"
            autocomplete="new-password"
          />
        </details>
        <FormActions error={error.value}>
          <Button onClick={onClose}>{t('app.cancel')}</Button>
          <Button
            kind="primary"
            type="submit"
            disabled={busy.value || name.value === '' || problem !== undefined || badUrl}
          >
            {t('profiles.form.create')}
          </Button>
        </FormActions>
      </form>
    </Dialog>
  )
}
