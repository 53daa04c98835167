/** The form for a new or cloned profile. */
import { useSignal } from '@preact/signals'
import type { Profile } from '../../../lib/schema/profile.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, SelectField, TextField } from '../../parts/form.tsx'
import { isProfileName } from './profiles.ts'
import { t } from './strings.ts'
import { useProfiles, useShell } from '../../contexts.ts'

/** An empty name is not reported as an error. */
const nameProblem = (name: string, profiles: readonly Profile[]): string | undefined => {
  if (name === '') return undefined
  if (!isProfileName(name)) return t('profiles.form.name.bad')
  return profiles.some(profile => profile.name === name) ? t('profiles.form.name.taken') : undefined
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
  const problem = nameProblem(name.value, list)
  const badUrl = url.value !== '' && !/^https?:\/\/./.test(url.value)

  const submit = async () => {
    const newName = name.value
    await profiles.create({
      name: newName,
      ...(from.value ? { clone_from: from.value } : {}),
      ...(model.value.trim() ? { model: model.value.trim() } : {}),
      ...(url.value.trim() ? { base_url: url.value.trim() } : {}),
      ...(key.value.trim() ? { api_key: key.value.trim() } : {}),
    })
    onClose()
    toasts.show(t('profiles.created', { name: newName }), {
      action: { label: t('profiles.enter'), run: () => void profiles.switchTo(newName) },
    })
  }

  return (
    <Dialog
      title={source ? t('profiles.form.clone', { name: source.name }) : t('profiles.new')}
      closeLabel={t('app.close')}
      onClose={onClose}
    >
      <Form
        class="profile-form"
        submit={t('profiles.form.create')}
        isIncomplete={name.value === '' || problem !== undefined || badUrl}
        onSubmit={submit}
        onCancel={onClose}
      >
        <TextField
          label={t('profiles.form.name')}
          hint={t('profiles.form.name.hint')}
          text={name}
          error={problem}
          maxLength={64}
          autofocus
        />
        <SelectField
          label={t('profiles.form.source')}
          choice={from}
          options={[
            ['', t('profiles.form.source.empty')],
            ...list.map(
              profile =>
                [profile.name, t('profiles.form.source.of', { name: profile.name })] as const,
            ),
          ]}
        />
        <details class="profile-own">
          <summary>{t('profiles.form.own')}</summary>
          <TextField
            label={t('profiles.form.model')}
            hint={t('profiles.form.model.hint')}
            text={model}
          />
          <TextField
            label={t('profiles.form.url')}
            hint={t('profiles.form.url.hint')}
            text={url}
            error={badUrl ? t('profiles.form.url.bad') : undefined}
          />
          <TextField
            label={t('profiles.form.key')}
            hint={t('profiles.form.key.hint')}
            text={key}
            type="password"
            autocomplete="new-password"
          />
        </details>
      </Form>
    </Dialog>
  )
}
