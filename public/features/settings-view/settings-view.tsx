/** The settings view: the list of sections and the open one. Every change is saved at once. */
import type { ComponentType } from 'preact'
import type { Section as SectionName } from '../shell/route.ts'
import { t } from '../settings/strings.ts'
import { lazy } from '../../parts/lazy.tsx'
import { SettingsSearch } from './settings-search.tsx'
import { Appearance } from './appearance.tsx'
import { General } from './general.tsx'
import { Security } from './security.tsx'
import { mayOpen, openSections } from './sections.ts'
import { useShell, useProfiles, useSettings } from '../../contexts.ts'
import { View } from '../shell/view.tsx'
import { Button } from '../../parts/button.tsx'

const RoleNote = () => {
  const { route } = useShell()
  const { person } = useSettings()
  if (!person.value || person.value.role === 'owner') return null
  const { role, profiles } = person.value
  return (
    <>
      <p class="view-lead">{t('settings.owner')}</p>
      <p>{profiles?.length ? t(`settings.role.${role}`, { profiles }) : t('settings.role.none')}</p>
      <p>{t('settings.role.yours')}</p>
      <ul class="settings-yours">
        {openSections().map(name => (
          <li key={name}>
            <a href={route.hrefOf({ view: 'settings', section: name })}>{t(`settings.${name}`)}</a>
          </li>
        ))}
      </ul>
    </>
  )
}

const Fact = ({ name, value }: { name: string; value: string }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
)

const About = () => {
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

const sections: Record<SectionName, ComponentType> = {
  general: General,
  models: lazy(async () => (await import('../models/models-view.tsx')).ModelSettings),
  tools: lazy(async () => (await import('../tools/tools-view.tsx')).ToolSettings),
  mcp: lazy(async () => (await import('../mcp/mcp-view.tsx')).McpSettings),
  appearance: Appearance,
  notifications: lazy(async () => (await import('../notifications/view.tsx')).Notifications),
  import: lazy(async () => (await import('../imports/imports-view.tsx')).ImportView),
  security: Security,
  people: lazy(async () => (await import('../people/people-view.tsx')).PeopleSettings),
  budgets: lazy(async () => (await import('./budgets.tsx')).BudgetSettings),
  backups: lazy(async () => (await import('../backups/backups-view.tsx')).BackupSettingsView),
  updates: lazy(async () => (await import('../updates/updates-view.tsx')).UpdateSettings),
  about: About,
}

export const SettingsView = ({ section }: { section: SectionName }) => {
  const { route } = useShell()
  const Section = sections[section]
  return (
    <View
      title={t('settings.title')}
      side={
        <div class="settings-side">
          <SettingsSearch />
          <nav class="settings-nav" aria-label={t('settings.sections')}>
            {openSections().map(name => (
              <a
                key={name}
                class="settings-link"
                href={route.hrefOf({ view: 'settings', section: name })}
                aria-current={name === section ? 'page' : undefined}
              >
                {t(`settings.${name}`)}
              </a>
            ))}
          </nav>
        </div>
      }
    >
      <section class="settings-body" aria-labelledby="settings-section">
        <h2 id="settings-section" class="view-title">
          {t(`settings.${section}`)}
        </h2>
        {mayOpen(section) ? <Section /> : <RoleNote />}
      </section>
    </View>
  )
}
