/** Settings → About: version, profile, and connection. */
import { Button } from '../../parts/button.tsx'
import { t } from '../settings/strings.ts'
import { useProfiles, useSettings, useShell } from '../../contexts.ts'

const Fact = ({ name, value }: { name: string; value: string }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
)

export const About = () => {
  const settings = useSettings()
  const profiles = useProfiles()
  const { connection, layout } = useShell()
  const live = connection.state.value.kind === 'live'
  return (
    <>
      <dl class="facts">
        <Fact name={t('settings.version')} value={settings.version.value ?? '—'} />
        <Fact name={t('settings.profile')} value={profiles.active.value || '—'} />
        <Fact
          name={t('settings.connection')}
          value={t(live ? 'connection.live' : 'connection.connecting')}
        />
      </dl>
      <Button
        icon="command"
        onClick={() => {
          layout.shortcutsOpen.value = true
        }}
      >
        {t('settings.shortcuts')}
      </Button>
    </>
  )
}
