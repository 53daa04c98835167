/** The settings view: the list of sections and the open one. Every change is saved at once. */
import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Section as SectionName } from '../shell/route.ts'
import { t } from '../settings/strings.ts'
import { type Lazy, lazy } from '../../parts/lazy.tsx'
import { SettingsSearch } from './settings-search.tsx'
import { Appearance } from './appearance.tsx'
import { General } from './general.tsx'
import { mayOpen, openParts, openSections, type SettingsPart } from './sections.ts'
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

const Activity = lazy(async () => (await import('../identity/activity.tsx')).Activity)

const parts: Record<SettingsPart, ComponentType & Partial<Pick<Lazy<object>, 'preload'>>> = {
  rows: General,
  appearance: Appearance,
  models: lazy(async () => (await import('../models/models-view.tsx')).ModelSettings),
  tools: lazy(async () => (await import('../tools/tools-view.tsx')).ToolSettings),
  mcp: lazy(async () => (await import('../mcp/mcp-view.tsx')).McpSettings),
  hooks: lazy(async () => (await import('./safety.tsx')).Hooks),
  commands: lazy(async () => (await import('./command-place.tsx')).CommandSettings),
  safety: lazy(async () => (await import('./safety.tsx')).SafetySettings),
  account: lazy(async () => (await import('./account.tsx')).Account),
  people: lazy(async () => (await import('../people/people-view.tsx')).PeopleSettings),
  programs: lazy(async () => (await import('./api-access.tsx')).ProgramAccess),
  activity: () => (useSettings().password.value === 'none' ? null : <Activity />),
  notifications: lazy(async () => (await import('../notifications/view.tsx')).Notifications),
  budgets: lazy(async () => (await import('./budgets.tsx')).BudgetSettings),
  backups: lazy(async () => (await import('../backups/backups-view.tsx')).BackupSettingsView),
  updates: lazy(async () => (await import('../updates/updates-view.tsx')).UpdateSettings),
  about: About,
}

/** The parts that have no headings of their own. */
const TITLED = ['appearance', 'mcp', 'people', 'budgets', 'backups', 'updates', 'about'] as const
const titleOf = (part: SettingsPart): string => {
  const titled = TITLED.find(name => name === part)
  return titled ? t(`settings.${titled}`) : ''
}

const PartView = ({ part }: { part: SettingsPart }) => {
  const Body = parts[part]
  const title = titleOf(part)
  return title ? (
    <section class="settings-part" aria-label={title}>
      <h3 class="settings-part-title">{title}</h3>
      <Body />
    </section>
  ) : (
    <Body />
  )
}

const QUIET_MS = 120
/** For the code of the parts, and then for replies, of which one may need another server. */
const CODE_MS = 4_000
const REPLIES_MS = 1_500

/**
 * The parts of a page load one by one, and what has grown would push those below while they are read: they are shown together,
 * once their code is there, every request was replied to, and nothing has changed for a moment.
 */
const Parts = ({ section }: { section: SectionName }) => {
  const { clock, awaited } = useShell().platform
  const ref = useRef<HTMLDivElement>(null)
  const isLate = useSignal(true)
  useLayoutEffect(() => {
    let cancel = () => {}
    let hasCode = false
    let stop = () => {}
    const show = () => {
      isLate.value = false
    }
    const wait = () => {
      cancel()
      if (hasCode && awaited.peek() === 0) cancel = clock.timer(QUIET_MS, show)
    }
    const codes = openParts(section).map(part => parts[part].preload?.())
    void Promise.allSettled(codes).then(() => {
      hasCode = true
      stop()
      stop = isLate.peek() ? clock.timer(REPLIES_MS, show) : () => {}
      wait()
    })
    stop = clock.timer(CODE_MS, show)
    const unsubscribe = awaited.subscribe(wait)
    const observer = new MutationObserver(wait)
    observer.observe(ref.current!, { childList: true, subtree: true })
    return () => {
      observer.disconnect()
      unsubscribe()
      cancel()
      stop()
    }
  }, [])
  return (
    <div ref={ref} data-late={isLate.value ? '' : undefined}>
      {openParts(section).map(part => (
        <PartView key={part} part={part} />
      ))}
    </div>
  )
}

export const SettingsView = ({ section }: { section: SectionName }) => {
  const { route } = useShell()
  const current = useRef<HTMLAnchorElement>(null)
  useLayoutEffect(() => {
    current.current?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [section])
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
                ref={name === section ? current : undefined}
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
        {mayOpen(section) ? <Parts key={section} section={section} /> : <RoleNote />}
      </section>
    </View>
  )
}
