/** The profiles view: all profiles as cards. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Profile } from '../../../lib/schema/profile.ts'
import { Button } from '../../parts/button.tsx'
import { t } from './strings.ts'
import { ViewHead } from '../shell/view-head.tsx'
import { ProfileCard } from './profile-card.tsx'
import { DeleteProfile } from './delete-profile.tsx'
import { ProfileForm } from './profile-form.tsx'
import { useProfiles, useShell } from '../../contexts.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'

type Open = { what: 'new' | 'clone' | 'delete'; profile: Profile | null }

const Cards = ({ onOpen }: { onOpen: (open: Open) => void }) => {
  const { profiles, switchProfile } = useProfiles()
  const { attempt } = useShell()
  const { list, state, active } = profiles
  if (state.value === 'failed') {
    return (
      <div class="profiles-note" role="alert">
        <p>{t('profiles.failed')}</p>
        <Button icon="refresh" onClick={() => void attempt(() => profiles.refresh())}>
          {t('list.retry')}
        </Button>
      </div>
    )
  }
  if (list.value.length === 0) {
    return (
      <p class="profiles-note" role="status">
        {t('app.loading')}
      </p>
    )
  }
  return (
    <ul class="profiles-grid" aria-label={t('profiles.list')}>
      {list.value.map(profile => (
        <ProfileCard
          key={profile.name}
          profile={profile}
          active={profile.name === active.value}
          onSwitch={() => void switchProfile(profile.name, 'profiles')}
          onClone={() => onOpen({ what: 'clone', profile })}
          onDelete={() => onOpen({ what: 'delete', profile })}
        />
      ))}
    </ul>
  )
}

export const ProfilesView = () => {
  const { attempt } = useShell()
  const { profiles } = useProfiles()
  const open = useSignal<Open | null>(null)
  useEffect(() => void attempt(() => profiles.refresh()), [])
  const close = () => {
    open.value = null
  }
  const { what, profile } = open.value ?? {}
  return (
    <>
      <ViewHead title={t('profiles.title')}>
        <Button
          icon="plus"
          onClick={() => {
            open.value = { what: 'new', profile: null }
          }}
        >
          {t('profiles.new')}
        </Button>
      </ViewHead>
      <ScrollBox class="settings-scroll" label={t('profiles.title')}>
        <div class="profiles">
          <p class="settings-lead">{t('profiles.lead')}</p>
          <Cards
            onOpen={wanted => {
              open.value = wanted
            }}
          />
        </div>
      </ScrollBox>
      {(what === 'new' || what === 'clone') && (
        <ProfileForm source={profile ?? null} onClose={close} />
      )}
      {what === 'delete' && profile && <DeleteProfile profile={profile} onClose={close} />}
    </>
  )
}
