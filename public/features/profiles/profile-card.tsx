/** One profile: what it would answer with, what it holds, and what can be done with it. */
import { type ComponentChildren, Fragment } from 'preact'
import type { Profile } from '../../../lib/schema/profile.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { tf } from './strings.ts'

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

/** Long paths break at their slashes. */
const breakable = (path: string): ComponentChildren =>
  path.split(/(?<=\/)/).map((part, at) => (
    <Fragment key={at}>
      {part}
      <wbr />
    </Fragment>
  ))

/** What is not there is said, and quieter than what is. */
const Absent = ({ children }: { children: ComponentChildren }) => (
  <span class="faint">{children}</span>
)

export const ProfileCard = ({ profile, active, onSwitch, onClone, onDelete }: ProfileCardProps) => {
  const { name, model, provider } = profile
  return (
    <li class={`profile-card${active ? ' profile-active' : ''}`}>
      <header class="profile-head">
        <h2>{name}</h2>
        {profile.is_default && <span class="badge">{tf('profiles.default')}</span>}
        {active && <span class="badge badge-on">{tf('profiles.active')}</span>}
      </header>
      <dl class="profile-facts">
        <Fact label={tf('profiles.model')}>
          {model ?? <Absent>{tf('profiles.model.none')}</Absent>}
        </Fact>
        <Fact label={tf('profiles.provider')}>
          {provider ?? <Absent>{tf('profiles.provider.none')}</Absent>}
        </Fact>
        <Fact label={tf('profiles.skills')}>{profile.skill_count}</Fact>
        <Fact label={tf('profiles.keys')}>
          {profile.has_env ? tf('profiles.keys.yes') : <Absent>{tf('profiles.keys.no')}</Absent>}
        </Fact>
        {profile.gateway_running && (
          <Fact label={tf('profiles.gateway')}>{tf('profiles.gateway.on')}</Fact>
        )}
        <Fact label={tf('profiles.path')}>
          <code class="profile-path">{breakable(profile.path)}</code>
        </Fact>
      </dl>
      <footer class="profile-foot">
        {!active && (
          <Button aria-label={tf('profiles.enter.label', { name })} onClick={onSwitch}>
            {tf('profiles.enter')}
          </Button>
        )}
        <Button kind="quiet" aria-label={tf('profiles.clone.label', { name })} onClick={onClone}>
          {tf('profiles.clone')}
        </Button>
        {!profile.is_default && (
          <IconButton
            class="profile-delete"
            icon="trash"
            label={tf('profiles.delete.label', { name })}
            onClick={onDelete}
          />
        )}
      </footer>
    </li>
  )
}
