/** The one list to pick a model from: of the composer, of forms, and of settings. */
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { ModelOption } from '../../../lib/schema/model.ts'
import { useModels } from '../../contexts.ts'
import { formatTokens } from '../../parts/amounts.ts'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { Picker, type PickerGroup, type PickerOption } from '../../parts/picker.tsx'
import { Popover } from '../../parts/popover.tsx'
import { t } from '../composer/picker-strings.ts'
import { matchModels } from './match-models.ts'
import { bareId, type Model } from './models.ts'

/** Not an id. */
const CONNECT = '?connect'

const nameIn = ({ provider, label }: Model): string => `${provider}\n${label}`

/** Two of one provider may have the same label: their ids tell them apart. */
const optionsOf = (models: readonly Model[], all: readonly Model[]): PickerOption[] => {
  const seen = Map.groupBy(all, nameIn)
  return models.map(model => {
    const size = model.context_length ? formatTokens(model.context_length) : ''
    return {
      id: model.id,
      label: (seen.get(nameIn(model))?.length ?? 0) > 1 ? bareId(model.id) : model.label,
      hint: model.provider,
      title: bareId(model.id),
      ...(size && { note: size, noteTitle: t('model.size', { size }) }),
    }
  })
}

/** Recent ones first, unless something is searched for. What is typed can be the id of a model that no list has. */
export const modelGroups = (
  all: readonly Model[],
  recent: readonly Model[],
  query: string,
): PickerGroup[] => {
  const typed = query.trim()
  const first = typed ? [] : recent
  const rest = matchModels(all, typed).filter(model => !first.includes(model))
  const isListed = all.some(({ id }) => id === typed || bareId(id) === typed)
  const isId = typed.length > 1 && !/\s/.test(typed) && !isListed
  return [
    { label: t('chip.model.recent'), options: optionsOf(first, all) },
    { label: first.length > 0 ? t('model.all') : '', options: optionsOf(rest, all) },
    {
      label: '',
      options: isId ? [{ id: typed, label: t('model.use', { id: typed }), icon: 'plus' }] : [],
    },
  ]
}

export type ModelListProps = {
  label: string
  selected: string
  /** What stands above all models. */
  first?: readonly PickerOption[] | undefined
  /** Of one provider; absent: all that are connected, and the way to connect another. */
  offered?: readonly ModelOption[] | undefined
  onPick: (id: string) => void
}

export const ModelList = ({ label, selected, first = [], offered, onPick }: ModelListProps) => {
  const models = useModels()
  const query = useSignal('')
  const all = offered?.map(model => ({ ...model, provider: '' })) ?? models.all.value
  const recent = offered ? [] : models.recent.value
  const connects = !offered && may('POST /api/onboarding/setup')
  return (
    <Picker
      isTable
      label={label}
      placeholder={t('chip.model.search')}
      groups={[
        { label: '', options: query.value ? [] : first },
        ...modelGroups(all, recent, query.value),
        {
          label: '',
          options: connects ? [{ id: CONNECT, label: t('model.connect'), icon: 'plus' }] : [],
        },
      ]}
      selected={selected}
      empty={t(all.length > 0 ? 'app.nothing' : 'chip.model.empty')}
      query={query}
      onPick={id => {
        onPick(id === CONNECT ? selected : id)
        if (id === CONNECT) models.onboarding.open.value = true
      }}
    />
  )
}

export type ModelPickProps = ModelListProps & {
  id: string
  describedBy: string | undefined
  disabled?: boolean
}

/** The same as the control of a form: shows the chosen one, and opens the list. */
export const ModelPick = ({ id, describedBy, disabled, ...list }: ModelPickProps) => {
  const models = useModels()
  const anchor = useRef<HTMLButtonElement>(null)
  const isOpen = useSignal(false)
  const close = () => {
    isOpen.value = false
  }
  const { selected, first, offered } = list
  const label =
    [...(first ?? []), ...(offered ?? [])].find(option => option.id === selected)?.label ??
    (offered ? selected : models.labelOf(selected))
  return (
    <>
      <button
        ref={anchor}
        type="button"
        id={id}
        class="input picked"
        aria-label={`${list.label}: ${label || '—'}`}
        aria-haspopup="listbox"
        aria-expanded={isOpen.value}
        aria-describedby={describedBy}
        disabled={disabled}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        <span>
          <bdi>{label || '—'}</bdi>
        </span>
        <Icon name="chevron-down" size={16} />
      </button>
      {isOpen.value && (
        <Popover anchor={anchor} onClose={close} class="popover-picker">
          <ModelList
            {...list}
            onPick={picked => {
              close()
              anchor.current?.focus()
              if (picked !== selected) list.onPick(picked)
            }}
          />
        </Popover>
      )}
    </>
  )
}
