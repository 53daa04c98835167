/** The profiles view: all profiles as cards. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Profile } from '../../../lib/schema/profile.ts'
import { Button } from '../../parts/button.tsx'
import { t } from './strings.ts'
import { View } from '../shell/view.tsx'
import { ProfileCard } from './profile-card.tsx'
import { ProfileForm } from './profile-form.tsx'
import { useProfiles, useShell } from '../../contexts.ts'
import { LoadNote } from '../../parts/view-state.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Form, TextField } from '../../parts/form.tsx'

const DeleteProfile = ({ profile, onClose }: { profile: Profile; onClose: () => void }) => {
  const profiles = useProfiles()
  const typed = useSignal('')
  const { name } = profile
  const submit = async () => {
    await profiles.remove(name)
    onClose()
  }
  return (
    <Dialog
      title={t('profiles.delete.title', { name })}
      closeLabel={t('app.close')}
      onClose={onClose}
    >
      <Form
        submit={t('profiles.delete.confirm')}
        danger
        isIncomplete={typed.value !== name}
        onSubmit={submit}
        onCancel={onClose}
      >
        <p class="dialog-text">{t('profiles.delete.text')}</p>
        <TextField label={t('profiles.delete.type', { name })} autofocus text={typed} />
      </Form>
    </Dialog>
  )
}

type Open = { what: 'new' | 'clone' | 'delete'; profile: Profile | null }

const Cards = ({ onOpen }: { onOpen: (open: Open) => void }) => {
  const profiles = useProfiles()
  const { attempt } = useShell()
  const { list, state, active } = profiles
  if (state.value === 'failed' || list.value.length === 0) {
    return (
      <LoadNote
        state={state.value}
        failed={t('profiles.failed')}
        onRetry={() => void attempt(() => profiles.refresh())}
      />
    )
  }
  return (
    <ul class="profiles-grid" aria-label={t('profiles.list')}>
      {list.value.map(profile => (
        <ProfileCard
          key={profile.name}
          profile={profile}
          active={profile.name === active.value}
          onSwitch={() => void profiles.switchTo(profile.name, 'profiles')}
          onClone={() => onOpen({ what: 'clone', profile })}
          onDelete={() => onOpen({ what: 'delete', profile })}
        />
      ))}
    </ul>
  )
}

export const ProfilesView = () => {
  const { attempt } = useShell()
  const profiles = useProfiles()
  const open = useSignal<Open | null>(null)
  useEffect(() => void attempt(() => profiles.refresh()), [])
  const close = () => {
    open.value = null
  }
  const { what, profile } = open.value ?? {}
  return (
    <>
      <View
        title={t('profiles.title')}
        lead={t('profiles.lead')}
        actions={
          <Button
            asks="POST /api/profile/create"
            icon="plus"
            onClick={() => {
              open.value = { what: 'new', profile: null }
            }}
          >
            {t('profiles.new')}
          </Button>
        }
      >
        <Cards
          onOpen={name => {
            open.value = name
          }}
        />
      </View>
      {(what === 'new' || what === 'clone') && (
        <ProfileForm source={profile ?? null} onClose={close} />
      )}
      {what === 'delete' && profile && <DeleteProfile profile={profile} onClose={close} />}
    </>
  )
}
