/** Settings → Appearance: themes and accents shown in their own colors, text size, density, reading font. */
import { SETTINGS } from '../../../lib/base/settings.ts'
import { isTheme, THEMES } from './settings.ts'
import { t } from './strings.ts'
import { type ControlProps, SettingRows } from './setting-rows.tsx'
import { shownSettings } from './shown-settings.ts'
import { t as themeText } from './theme-strings.ts'
import { useSettings } from '../../contexts.ts'

const Themes = () => {
  const { settings } = useSettings()
  const { theme, accent } = settings.current.value
  const current = isTheme(theme) ? theme : 'dark'
  return (
    <fieldset class="themes">
      <legend class="sr-only">{t('settings.theme')}</legend>
      {THEMES.map(name => (
        <label key={name} class="theme">
          <input
            type="radio"
            class="sr-only"
            name="theme"
            value={name}
            checked={name === current}
            onChange={() => void settings.save('theme', name)}
          />
          <span class="theme-picture" data-theme={name} data-accent={accent} aria-hidden="true">
            <span class="theme-side" />
            <span class="theme-page">
              <span class="theme-title">Aa</span>
              <span class="theme-line" />
              <span class="theme-line theme-line-dim" />
              <span class="theme-marks">
                <span class="theme-mark theme-mark-accent" />
                <span class="theme-mark theme-mark-warn" />
                <span class="theme-mark theme-mark-bad" />
              </span>
            </span>
          </span>
          <span class="theme-name">{themeText(`theme.${name}`)}</span>
        </label>
      ))}
    </fieldset>
  )
}

const Accents = ({ ids }: ControlProps) => {
  const { settings } = useSettings()
  const { theme, accent } = settings.current.value
  return (
    <div class="accents" role="radiogroup" aria-labelledby={ids.label}>
      {SETTINGS.accent.choices.map(name => (
        <label key={name} class="accent" title={t(`accent.${name}`)}>
          <input
            type="radio"
            class="sr-only"
            name="accent"
            value={name}
            aria-label={t(`accent.${name}`)}
            checked={name === accent}
            onChange={() => void settings.save('accent', name)}
          />
          <span class="accent-dot" data-theme={theme} data-accent={name} aria-hidden="true" />
        </label>
      ))}
    </div>
  )
}

export const Appearance = () => (
  <>
    <Themes />
    <SettingRows
      names={shownSettings('appearance').filter(name => name !== 'theme')}
      controls={{ accent: Accents }}
    />
  </>
)
