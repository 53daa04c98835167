/** Search field of the settings: finds a setting of any section by its name and jumps to it. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { fuzzyMatches } from '../../../lib/base/fuzzy.ts'
import { Icon } from '../../parts/icon.tsx'
import { Marked } from '../../parts/marked.tsx'
import { useSettings, useShell } from '../../contexts.ts'
import { revealSetting, settingEntries } from './settings-index.ts'
import { t } from '../settings/strings.ts'

const MAX_RESULTS = 8

export const SettingsSearch = () => {
  const { route } = useShell()
  const query = useSignal('')
  // Another role has other sections.
  const { person } = useSettings()
  const entries = useMemo(() => settingEntries(), [person.value])
  const text = query.value.trim()
  const results = fuzzyMatches(
    entries.map(({ label, hint, words }) => `${label} ${hint} ${words}`),
    text,
  ).slice(0, MAX_RESULTS)
  const open = (at: number) => {
    const entry = entries[at]!
    query.value = ''
    route.go({ view: 'settings', section: entry.section })
    revealSetting(entry.label)
  }
  return (
    <search class="settings-search">
      <div class="settings-search-field">
        <Icon name="search" size={16} />
        <input
          type="text"
          aria-label={t('settings.search')}
          placeholder={t('settings.search.short')}
          autocomplete="off"
          value={query.value}
          onInput={event => {
            query.value = event.currentTarget.value
          }}
          onKeyDown={event => {
            if (event.key === 'Escape') query.value = ''
            if (event.key === 'Enter' && results[0]) open(results[0].at)
          }}
        />
      </div>
      {text && (
        <>
          <p class="sr-only" role="status">
            {results.length > 0 ? t('list.results', { count: results.length }) : t('app.nothing')}
          </p>
          <ul class="settings-found">
            {results.map(({ at, ranges }) => {
              const { label, section } = entries[at]!
              return (
                <li key={label}>
                  <button type="button" class="settings-hit" onClick={() => open(at)}>
                    <span>
                      <Marked
                        text={label}
                        ranges={ranges.filter((_, n) => (ranges[n | 1] ?? 0) <= label.length)}
                      />
                    </span>
                    <span class="faint">{t(`settings.${section}`)}</span>
                  </button>
                </li>
              )
            })}
            {results.length === 0 && <li class="faint settings-none">{t('app.nothing')}</li>}
          </ul>
        </>
      )}
    </search>
  )
}
