/** Which version runs, and how it is reached. */
import { Button } from '../../parts/button.tsx'
import { ts } from './strings.ts'
import { t } from '../../strings/t.ts'
import { useApp } from '../shell/context.ts'

const Fact = ({ name, value }: { name: string; value: string }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
)

export const About = () => {
  const { settings, profiles, connection, layout } = useApp()
  const live = connection.state.value.kind === 'live'
  return (
    <>
      <dl class="facts">
        <Fact name={ts('settings.version')} value={settings.version.value ?? '—'} />
        <Fact name={ts('settings.profile')} value={profiles.active.value || '—'} />
        <Fact
          name={ts('settings.connection')}
          value={t(live ? 'connection.live' : 'connection.connecting')}
        />
      </dl>
      <Button
        icon="command"
        onClick={() => {
          layout.shortcutsOpen.value = true
        }}
      >
        {ts('settings.shortcuts')}
      </Button>
    </>
  )
}
