/** The settings view: the list of sections and the open one. Every change is saved at once. */
import type { ComponentType } from 'preact'
import { IconButton } from '../../parts/button.tsx'
import { formatKeys } from '../shell/keys.ts'
import { SECTIONS, type Section } from '../shell/route.ts'
import { t } from './strings.ts'
import { lazy } from '../../parts/lazy.tsx'
import { About } from './about.tsx'
import { Appearance } from './appearance.tsx'
import { General } from './general.tsx'
import { Security } from './security.tsx'
import { useShell } from '../../contexts.ts'

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
  const { layout, route } = useShell()
  const View = views[section]
  const shut = layout.narrow.value ? !layout.drawer.value : !layout.sidebar.value
  return (
    <>
      <header class="head">
        {shut && (
          <IconButton
            icon={layout.narrow.value ? 'menu' : 'sidebar'}
            label={t('app.sidebar.show')}
            keys={formatKeys('mod+b', layout.mac)}
            onClick={() => layout.toggleSidebar()}
          />
        )}
        <div class="head-title">
          <h1>{t('settings.title')}</h1>
        </div>
        <IconButton icon="close" label={t('settings.back')} onClick={() => route.backToChat()} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <div class="settings-scroll" tabIndex={0}>
        <div class="settings">
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
          <section class="settings-body" aria-labelledby="settings-section">
            <h2 id="settings-section">{t(`settings.${section}`)}</h2>
            <View />
          </section>
        </div>
      </div>
    </>
  )
}
