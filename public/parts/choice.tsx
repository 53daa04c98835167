/** A choice of a few short options beside each other: radio buttons that look like one control. */
export type ChoiceProps<V extends string> = {
  name: string
  /** Id of the visible label. */
  labelledBy: string
  value: V
  options: readonly (readonly [value: V, label: string])[]
  onChange: (value: V) => void
}

export const Choice = <V extends string>({
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
