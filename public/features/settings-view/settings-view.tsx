/** The settings view: the list of sections and the open one. Every change is saved at once. */
import type { ComponentType } from 'preact'
import type { Section as SectionName } from '../shell/route.ts'
import { t } from '../settings/strings.ts'
import { lazy } from '../../parts/lazy.tsx'
import { SettingsSearch } from './settings-search.tsx'
import { About } from './about.tsx'
import { Appearance } from './appearance.tsx'
import { General } from './general.tsx'
import { Security } from './security.tsx'
import { RoleNote } from './role-note.tsx'
import { mayOpen, openSections } from './sections.ts'
import { useShell } from '../../contexts.ts'
import { View } from '../shell/view.tsx'

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
