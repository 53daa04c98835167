/** The tabs of skills, commands, and subagents, and the search above each list. */
import type { Signal } from '@preact/signals'
import { useShell } from '../../contexts.ts'
import { Icon } from '../../parts/icon.tsx'
import { t } from './strings.ts'

const TABS = ['skills', 'commands', 'subagents'] as const

export const SkillTabs = ({ tab }: { tab: (typeof TABS)[number] }) => {
  const { route } = useShell()
  return (
    <nav class="segments skill-tabs" aria-label={t('skills.tabs')}>
      {TABS.map(name => (
        <a
          key={name}
          class="segment"
          href={route.hrefOf({
            view: 'skills',
            skill: null,
            query: '',
            ...(name !== 'skills' && { tab: name }),
          })}
          aria-current={name === tab ? 'page' : undefined}
        >
          {t(`skills.tab.${name}`)}
        </a>
      ))}
    </nav>
  )
}

export const ListSearch = ({ label, query }: { label: string; query: Signal<string> }) => (
  <search class="search view-search">
    <Icon name="search" size={16} />
    <input
      type="text"
      aria-label={label}
      placeholder={label}
      autocomplete="off"
      value={query.value}
      onInput={event => {
        query.value = event.currentTarget.value
      }}
      onKeyDown={event => {
        if (event.key !== 'Escape' || !query.value) return
        event.stopPropagation()
        query.value = ''
      }}
    />
  </search>
)
