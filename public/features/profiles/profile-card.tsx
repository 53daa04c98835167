/** The card of a profile: its model, contents, and actions. */
import { type ComponentChildren, Fragment } from 'preact'
import type { Profile } from '../../../lib/schema/profile.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { t } from './strings.ts'

export type ProfileCardProps = {
  profile: Profile
  active: boolean
  onSwitch: () => void
  onClone: () => void
  onDelete: () => void
}

const Fact = ({ label, children }: { label: string; children: ComponentChildren }) => (
  <div class="profile-fact">
    <dt>{label}</dt>
    <dd>{children}</dd>
  </div>
)

/** Lets long paths wrap at their slashes. */
const breakable = (path: string): ComponentChildren =>
  path.split(/(?<=\/)/).map((part, at) => (
    <Fragment key={at}>
      {part}
      <wbr />
    </Fragment>
  ))

/** A value that is not set, in fainter text. */
const Absent = ({ children }: { children: ComponentChildren }) => (
  <span class="faint">{children}</span>
)

export const ProfileCard = ({ profile, active, onSwitch, onClone, onDelete }: ProfileCardProps) => {
  const { name, model, provider } = profile
  return (
    <li class={`profile-card${active ? ' profile-active' : ''}`}>
      <header class="profile-head">
        <h2>{name}</h2>
        {profile.is_default && <span class="badge">{t('profiles.default')}</span>}
        {active && <span class="badge badge-on">{t('profiles.active')}</span>}
      </header>
      <dl class="profile-facts">
        <Fact label={t('profiles.model')}>
          {model ?? <Absent>{t('profiles.model.none')}</Absent>}
        </Fact>
        <Fact label={t('profiles.provider')}>
          {provider ?? <Absent>{t('profiles.provider.none')}</Absent>}
        </Fact>
        <Fact label={t('profiles.skills')}>{profile.skill_count}</Fact>
        <Fact label={t('profiles.keys')}>
          {profile.has_env ? t('profiles.keys.yes') : <Absent>{t('profiles.keys.no')}</Absent>}
        </Fact>
        {profile.gateway_running && (
          <Fact label={t('profiles.gateway')}>{t('profiles.gateway.on')}</Fact>
        )}
        <Fact label={t('profiles.path')}>
          <code class="profile-path">{breakable(profile.path)}</code>
        </Fact>
      </dl>
      <footer class="profile-foot">
        {!active && (
          <Button aria-label={t('profiles.enter.label', { name })} onClick={onSwitch}>
            {t('profiles.enter')}
          </Button>
        )}
        <Button
          kind="quiet"
          aria-label={t('profiles.clone.label', { name })}
          asks="POST /api/profile/create"
          onClick={onClone}
        >
          {t('profiles.clone')}
        </Button>
        {!profile.is_default && (
          <IconButton
            class="profile-delete"
            icon="trash"
            asks="POST /api/profile/delete"
            label={t('profiles.delete.label', { name })}
            onClick={onDelete}
          />
        )}
      </footer>
    </li>
  )
}
