/** What the chips of the composer open: lists of models, efforts, and personalities, and the dialog of folders. */
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { Picker } from '../../parts/picker.tsx'
import { Popover, type PopoverProps } from '../../parts/popover.tsx'
import type { Picker as PickerName } from '../shell/layout.ts'
import { ModelList } from '../models/model-list.tsx'
import { isEffortChoice } from './reasoning.ts'
import { t } from './picker-strings.ts'
import { FolderDialog } from './folder-dialog.tsx'
import { useChat, useComposer, useShell } from '../../contexts.ts'

type Props = { selected: string; onDone: () => void }

const ModelPicker = ({ selected, onDone }: Props) => {
  const { attempt, layout } = useShell()
  const { choices } = useChat()
  const { reasoning } = useComposer()
  return (
    <>
      <ModelList
        label={t('chip.model')}
        selected={selected}
        onPick={id => {
          onDone()
          if (id !== selected) void attempt(() => choices.chooseModel(id))
        }}
      />
      {may('POST /api/reasoning') && reasoning.offered.value.length > 0 && (
        <button
          type="button"
          class="menu-item picker-foot"
          onClick={() => {
            layout.picker.value = 'effort'
          }}
        >
          <span>{t('chip.effort')}</span>
          <span class="faint">{t(`effort.${reasoning.effort.value}`)}</span>
          <Icon name="chevron-right" size={16} />
        </button>
      )}
    </>
  )
}

const EffortPicker = ({ onDone }: Omit<Props, 'selected'>) => {
  const { reasoning } = useComposer()
  const { attempt } = useShell()
  const options = [
    { id: 'default', label: t('effort.') },
    ...reasoning.offered.value.map(id => ({ id, label: t(`effort.${id}`) })),
  ]
  return (
    <Picker
      label={t('chip.effort')}
      groups={[{ label: '', options }]}
      selected={reasoning.effort.value || 'default'}
      empty=""
      onPick={id => {
        onDone()
        if (isEffortChoice(id)) void attempt(() => reasoning.setEffort(id))
      }}
    />
  )
}

const PersonalityPicker = ({ selected, onDone }: Props) => {
  const { personalities } = useComposer()
  const { attempt } = useShell()
  const { choices } = useChat()
  const list = personalities.list.value
  return (
    <Picker
      label={t('chip.personality')}
      groups={[
        {
          label: '',
          options: [
            { id: '', label: t('chip.personality.none') },
            ...list.map(({ name, description }) => ({ id: name, label: name, hint: description })),
          ],
        },
      ]}
      selected={selected}
      empty=""
      onPick={name => {
        onDone()
        void attempt(() => choices.choosePersonality(name))
      }}
    />
  )
}

type ChipPopoverProps = Props & Pick<PopoverProps, 'anchor' | 'onClose'> & { picker: PickerName }

const lists = {
  model: ModelPicker,
  effort: EffortPicker,
  personality: PersonalityPicker,
} as const

export const ChipPopover = ({ picker, anchor, onClose, ...props }: ChipPopoverProps) => {
  if (picker === 'workspace') return <FolderDialog {...props} onClose={onClose} />
  const List = lists[picker]
  return (
    // Each list has a height of its own.
    <Popover key={picker} anchor={anchor} onClose={onClose} side="above" class="popover-picker">
      <List {...props} />
    </Popover>
  )
}
