/** Searchable list of grouped options, fully usable by keyboard. */
import { isComposing } from './composing.ts'
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'
import { Marked } from './marked.tsx'

export type PickerOption = {
  id: string
  label: string
  /** Offsets of the matched characters of `label`: start and end in turn. */
  ranges?: readonly number[]
  hint?: string
  /** A value at the end of the line that is never truncated, and its tooltip. */
  note?: string
  noteTitle?: string
  icon?: IconName
  keys?: string
  /** The tooltip of the line. */
  title?: string
}
export type PickerGroup = { label: string; options: readonly PickerOption[] }

export type PickerProps = {
  label: string
  placeholder?: string
  groups: readonly PickerGroup[]
  selected?: string
  empty: string
  /** Name, hint, and note stand in columns. */
  isTable?: boolean
  /** Status below the list, such as a search that is running. */
  note?: string
  /** Holds what is searched for; absent for a short list without a search field. */
  query?: Signal<string> | undefined
  /** Told what is written besides. */
  onQuery?: (query: string) => void
  /** `isAside`: with Alt+Enter, or a click with ⌘ or Ctrl. */
  onPick: (id: string, isAside: boolean) => void
}

export const Picker = (props: PickerProps) => {
  const { label, placeholder, groups, selected, empty, note, query, onQuery, onPick } = props
  const { isTable = false } = props
  const listId = useId()
  const field = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const options = groups.flatMap(group => group.options)
  const selectedIndex = Math.max(
    0,
    options.findIndex(({ id }) => id === selected),
  )
  /** By id, because results that arrive later move the others. Null: the first match, or the selected option. */
  const active = useSignal<string | null>(null)
  const activeIndex = options.findIndex(({ id }) => id === active.value)
  const at = activeIndex >= 0 ? activeIndex : query?.value ? 0 : selectedIndex
  const optionId = (index: number) => `${listId}-${index}`

  useEffect(() => (field.current ?? list.current)?.focus(), [])
  useEffect(() => {
    document.getElementById(optionId(at))?.scrollIntoView({ block: 'nearest' })
  }, [at, options.length])

  const onKeyDown = (event: KeyboardEvent) => {
    // The keys belong to the input method.
    if (isComposing(event)) return
    const count = options.length
    const moves: Record<string, number> = {
      ArrowDown: (at + 1) % count,
      ArrowUp: (at - 1 + count) % count,
      PageDown: Math.min(count - 1, at + 8),
      PageUp: Math.max(0, at - 8),
    }
    const to = moves[event.key]
    if (event.key === 'Enter' && options[at]) {
      event.preventDefault()
      onPick(options[at].id, event.altKey)
    } else if (to !== undefined && count > 0) {
      event.preventDefault()
      active.value = options[to]!.id
    }
  }

  const activeId = options.length > 0 ? optionId(at) : undefined
  let index = -1
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to the field and the list inside
    <div class={`picker${isTable ? ' picker-table' : ''}`} onKeyDown={onKeyDown}>
      {query && (
        <div class="picker-field">
          <Icon name="search" size={16} />
          <input
            ref={field}
            type="text"
            role="combobox"
            aria-label={label}
            aria-expanded={options.length > 0}
            aria-controls={listId}
            aria-activedescendant={activeId}
            aria-autocomplete="list"
            autocomplete="off"
            spellcheck={false}
            {...(placeholder && { placeholder })}
            value={query.value}
            onInput={event => {
              active.value = null
              query.value = event.currentTarget.value
              onQuery?.(query.value)
            }}
          />
        </div>
      )}
      {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: a list box and a group both have a name */}
      <div
        ref={list}
        id={listId}
        class="picker-list"
        // An empty listbox is none.
        role={options.length > 0 ? 'listbox' : 'group'}
        aria-label={label}
        tabIndex={query ? -1 : 0}
        aria-activedescendant={query ? undefined : activeId}
      >
        {groups.map((group, place) =>
          group.options.length === 0 ? null : (
            // biome-ignore lint/a11y/useSemanticElements: a group of options has no element of its own
            <div key={group.label || place} role="group" aria-label={group.label || label}>
              {group.label && (
                <div class="picker-head" aria-hidden="true">
                  <bdi>{group.label}</bdi>
                </div>
              )}
              {group.options.map(option => {
                index += 1
                const own = index
                return (
                  // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled above, by active descendant
                  <div
                    key={option.id}
                    id={optionId(own)}
                    role="option"
                    tabIndex={-1}
                    aria-selected={own === at}
                    class="picker-option"
                    title={option.title}
                    onMouseMove={() => {
                      if (own !== at) active.value = option.id
                    }}
                    onClick={event => onPick(option.id, event.ctrlKey || event.metaKey)}
                  >
                    {option.icon && <Icon name={option.icon} size={16} />}
                    <span class="picker-label">
                      <bdi>
                        <Marked text={option.label} ranges={option.ranges} />
                      </bdi>
                    </span>
                    {option.hint && (
                      <span class="picker-hint">
                        <bdi>{option.hint}</bdi>
                      </span>
                    )}
                    {option.note && (
                      <span class="picker-note" title={option.noteTitle}>
                        {option.note}
                      </span>
                    )}
                    {option.keys && <kbd>{option.keys}</kbd>}
                    {option.id === selected && <Icon name="check" size={16} />}
                  </div>
                )
              })}
            </div>
          ),
        )}
        {options.length === 0 && empty && <p class="picker-empty">{empty}</p>}
      </div>
      {query && (
        <p class="picker-status" role="status">
          {note}
        </p>
      )}
    </div>
  )
}
