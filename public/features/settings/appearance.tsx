/** Settings → Appearance: the themes, each previewed in its own colors. */
import { isTheme, THEMES } from './settings.ts'
import { t } from './strings.ts'
import { useSettings } from '../../contexts.ts'

export const Appearance = () => {
  const { settings } = useSettings()
  const chosen = settings.theme.value
  const current = isTheme(chosen) ? chosen : 'dark'
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
          <span class="theme-picture" data-theme={name} aria-hidden="true">
            <span class="theme-side" />
            <span class="theme-lines">
              <span class="theme-line" />
              <span class="theme-line theme-line-dim" />
              <span class="theme-line theme-line-accent" />
            </span>
          </span>
          <span class="theme-name">{t(`theme.${name}`)}</span>
        </label>
      ))}
    </fieldset>
  )
}
