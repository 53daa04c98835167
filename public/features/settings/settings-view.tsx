/** The settings view: the list of sections and the open one. Every change is saved at once. */
import type { ComponentType } from 'preact'
import { SECTIONS, type Section } from '../shell/route.ts'
import { t } from './strings.ts'
import { lazy } from '../../parts/lazy.tsx'
import { SettingsSearch } from './settings-search.tsx'
import { About } from './about.tsx'
import { Appearance } from './appearance.tsx'
import { General } from './general.tsx'
import { Security } from './security.tsx'
import { useShell } from '../../contexts.ts'
import { ViewHead } from '../shell/view-head.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'

const views: Record<Section, ComponentType> = {
  general: General,
  models: lazy(async () => (await import('../models/models-view.tsx')).ModelSettings),
  tools: lazy(async () => (await import('../tools/tools-view.tsx')).ToolSettings),
  mcp: lazy(async () => (await import('../mcp/mcp-view.tsx')).McpSettings),
  appearance: Appearance,
  security: Security,
  budgets: lazy(async () => (await import('./budgets.tsx')).BudgetSettings),
  updates: lazy(async () => (await import('../updates/updates-view.tsx')).UpdateSettings),
  about: About,
}

export const SettingsView = ({ section }: { section: Section }) => {
  const { route } = useShell()
  const View = views[section]
  return (
    <>
      <ViewHead title={t('settings.title')} />
      <ScrollBox class="settings-scroll" label={t('settings.title')}>
        <div class="settings">
          <div class="settings-side">
            <SettingsSearch />
            <nav class="settings-nav" aria-label={t('settings.sections')}>
              {SECTIONS.map(name => (
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
          <section class="settings-body" aria-labelledby="settings-section">
            <h2 id="settings-section">{t(`settings.${section}`)}</h2>
            <View />
          </section>
        </div>
      </ScrollBox>
    </>
  )
}
