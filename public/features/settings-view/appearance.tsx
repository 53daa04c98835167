/** Settings → Appearance: themes and accents shown in their own colors, text size, density, reading font. */
import { ACCENTS, DENSITIES, FONT_SIZES, READING_FONTS } from '../../../lib/base/appearance.ts'
import { Choice } from '../../parts/choice.tsx'
import { isTheme, type Settings, THEMES } from '../settings/settings.ts'
import { t } from '../settings/strings.ts'
import { SavedRow } from '../settings/saved-row.tsx'
import { t as themeText } from '../settings/theme-strings.ts'
import { useSettings } from '../../contexts.ts'

const Themes = () => {
  const settings = useSettings()
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

const Accents = () => {
  const settings = useSettings()
  const { theme, accent } = settings.current.value
  return (
    <SavedRow
      name="accent"
      label={t('settings.accent')}
      hint={t('settings.accent.hint')}
      group
      control={ids => (
        <div class="accents" role="radiogroup" aria-labelledby={ids.label}>
          {ACCENTS.map(name => (
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
      )}
    />
  )
}

type ChoiceRowProps<K extends 'font_size' | 'density' | 'reading_font'> = {
  name: K
  label: string
  hint: string
  options: readonly (readonly [value: Settings[K], label: string])[]
}

const ChoiceRow = <K extends 'font_size' | 'density' | 'reading_font'>(
  props: ChoiceRowProps<K>,
) => {
  const settings = useSettings()
  const { name, options, ...texts } = props
  return (
    <SavedRow
      {...texts}
      name={name}
      group
      control={ids => (
        <Choice
          name={name}
          labelledBy={ids.label}
          value={settings.current.value[name]}
          options={options}
          onChange={value => void settings.save(name, value)}
        />
      )}
    />
  )
}

export const Appearance = () => (
  <>
    <Themes />
    <div class="rows">
      <Accents />
      <ChoiceRow
        name="font_size"
        label={t('settings.font_size')}
        hint={t('settings.font_size.hint')}
        options={FONT_SIZES.map(value => [value, t(`font_size.${value}`)])}
      />
      <ChoiceRow
        name="density"
        label={t('settings.density')}
        hint={t('settings.density.hint')}
        options={DENSITIES.map(value => [value, t(`density.${value}`)])}
      />
      <ChoiceRow
        name="reading_font"
        label={t('settings.reading_font')}
        hint={t('settings.reading_font.hint')}
        options={READING_FONTS.map(value => [value, t(`reading_font.${value}`)])}
      />
    </div>
  </>
)
