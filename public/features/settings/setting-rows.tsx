/** The rows of a section, made from the table of the settings: each has the control of its type, or one of its own. */
import type { ComponentType } from 'preact'
import { type SettingName, settingOf } from '../../../lib/base/settings.ts'
import { type RowProps, Select, Switch } from '../../parts/field.tsx'
import { SavedRow } from './saved-row.tsx'
import type { Settings } from './settings.ts'
import { hintOf, labelOf, settingText } from './shown-settings.ts'
import { useSettings, useShell } from '../../contexts.ts'

type ChoiceProps<V extends string> = {
  name: string
  /** Id of the visible label. */
  labelledBy: string
  value: V
  options: readonly (readonly [value: V, label: string])[]
  onChange: (value: V) => void
}

/** A choice of a few short options beside each other: radio buttons that look like one control. */
const Choice = <V extends string>({
  name,
  labelledBy,
  value,
  options,
  onChange,
}: ChoiceProps<V>) => (
  <div class="choice" role="radiogroup" aria-labelledby={labelledBy}>
    {options.map(([key, label]) => (
      <label key={key} class="choice-option">
        <input
          type="radio"
          class="sr-only"
          name={name}
          value={key}
          checked={key === value}
          onChange={() => onChange(key)}
        />
        <span class="choice-label">{label}</span>
      </label>
    ))}
  </div>
)

export type ControlProps = { ids: Parameters<RowProps['control']>[0] }

export type SettingRowsProps = {
  names: readonly SettingName[]
  /** Controls that are not those of the type. */
  controls?: Partial<Record<SettingName, ComponentType<ControlProps>>>
  /** What a switch does besides being saved. */
  switches?: Partial<Record<SettingName, (on: boolean) => Promise<void>>>
}

const Control = ({
  name,
  ids,
  switches = {},
}: ControlProps & Pick<SettingRowsProps, 'switches'> & { name: SettingName }) => {
  const settings = useSettings()
  const { attempt } = useShell()
  const setting = settingOf(name)
  const value = settings.current.value[name]
  const save = (to: Settings[SettingName]): void => void settings.save(name, to)
  if (setting.type === 'flag') {
    const set = (on: boolean) => switches[name]?.(on) ?? settings.save(name, on)
    return (
      <Switch
        id={ids.control}
        describedBy={ids.hint}
        checked={value === true}
        onChange={on => void attempt(async () => set(on))}
      />
    )
  }
  if (setting.type === 'text')
    return (
      <input
        id={ids.control}
        class="input"
        aria-describedby={ids.hint}
        maxLength={64}
        value={String(value)}
        onChange={event => save(event.currentTarget.value)}
      />
    )
  const { values = name } = setting
  const options = setting.choices.map(
    choice => [choice, settingText(`${values}.${choice}`)] as const,
  )
  return setting.control === 'buttons' ? (
    <Choice
      name={name}
      labelledBy={ids.label}
      value={String(value)}
      options={options}
      onChange={save}
    />
  ) : (
    <Select
      id={ids.control}
      describedBy={ids.hint}
      value={String(value)}
      options={options}
      onChange={save}
    />
  )
}

export const SettingRows = ({ names, controls = {}, switches }: SettingRowsProps) => (
  <div class="rows">
    {names.map(name => {
      const Own = controls[name]
      const setting = settingOf(name)
      return (
        <SavedRow
          key={name}
          name={name}
          label={labelOf(name)}
          hint={hintOf(name)}
          group={setting.type === 'choice' && setting.control === 'buttons'}
          control={ids =>
            Own ? <Own ids={ids} /> : <Control name={name} ids={ids} switches={switches} />
          }
        />
      )
    })}
  </div>
)
