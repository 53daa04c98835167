/** The profiles view: all profiles as cards. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Profile } from '../../../lib/schema/profile.ts'
import { Button } from '../../parts/button.tsx'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { ViewHead } from '../shell/view-head.tsx'
import { ProfileCard } from './profile-card.tsx'
import { DeleteProfile } from './delete-profile.tsx'
import { ProfileForm } from './profile-form.tsx'

type Open = { what: 'new' | 'clone' | 'delete'; profile: Profile | null }

const Cards = ({ onOpen }: { onOpen: (open: Open) => void }) => {
  const app = useApp()
  const { list, state, active } = app.profiles
  if (state.value === 'failed') {
    return (
      <div class="profiles-note" role="alert">
        <p>{t('profiles.failed')}</p>
        <Button icon="refresh" onClick={() => void app.attempt(() => app.profiles.refresh())}>
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
          onSwitch={() => void app.switchProfile(profile.name, 'profiles')}
          onClone={() => onOpen({ what: 'clone', profile })}
          onDelete={() => onOpen({ what: 'delete', profile })}
        />
      ))}
    </ul>
  )
}

export const ProfilesView = () => {
  const app = useApp()
  const open = useSignal<Open | null>(null)
  useEffect(() => void app.attempt(() => app.profiles.refresh()), [])
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
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <div class="settings-scroll" tabIndex={0}>
        <div class="profiles">
          <p class="settings-lead">{t('profiles.lead')}</p>
          <Cards
            onOpen={wanted => {
              open.value = wanted
            }}
          />
        </div>
      </div>
      {(what === 'new' || what === 'clone') && (
        <ProfileForm source={profile ?? null} onClose={close} />
      )}
      {what === 'delete' && profile && <DeleteProfile profile={profile} onClose={close} />}
    </>
  )
}
