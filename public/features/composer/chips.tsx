/** Chips of the composer: the model, and how freely the agent works. The folder's chip is in the header of the chat. */
import type { ComponentChildren } from 'preact'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import { Icon, type IconName } from '../../parts/icon.tsx'
import type { Picker } from '../shell/layout.ts'
import { t } from '../../strings/t.ts'
import { firstContent } from '../../parts/first-content.ts'
import { lazy } from '../../parts/lazy.tsx'
import { may } from '../../parts/may.ts'
import { lateBar } from './late-bar.ts'
import { useChat, useComposer, useModels, useShell } from '../../contexts.ts'

const ChipPopover = lazy(async () => (await import('./pickers.tsx')).ChipPopover, true)
const AgentChip = lazy(
  async () => (await import('../external-agent/agent-chip.tsx')).AgentChip,
  true,
)
const ModeChip = lazy(
  lateBar(parts => parts.ModeChip),
  true,
  false,
)

type ChipProps = {
  picker: Picker
  /** Others that open at this chip. */
  others?: readonly Picker[]
  icon: IconName
  name: string
  value: string
  title?: string
  /** The option marked as selected in the list. */
  selected?: string
  /** After the value. */
  children?: ComponentChildren
}

export const Chip = (props: ChipProps) => {
  const { picker, others = [], icon, name, value, title = name, selected = '', children } = props
  const { layout } = useShell()
  const anchor = useRef<HTMLButtonElement>(null)
  const openPicker = [picker, ...others].find(each => each === layout.picker.value)
  const close = useCallback(() => {
    layout.picker.value = null
  }, [])
  return (
    <>
      <button
        ref={anchor}
        type="button"
        class={`chip chip-${picker}`}
        aria-label={`${name}: ${value}`}
        aria-haspopup="listbox"
        aria-expanded={openPicker !== undefined}
        title={title}
        onClick={() => {
          layout.picker.value = openPicker ? null : picker
        }}
      >
        <Icon name={icon} size={14} />
        <span class="chip-value" dir="auto">
          {value}
        </span>
        {children}
      </button>
      {openPicker && (
        <ChipPopover
          picker={openPicker}
          anchor={anchor}
          selected={openPicker === picker ? selected : ''}
          onClose={close}
          onDone={() => {
            close()
            layout.composerFocus.value += 1
          }}
        />
      )}
    </>
  )
}

export const Chips = () => {
  const models = useModels()
  const { personalities, reasoning } = useComposer()
  const {
    transcript: chat,
    choices: { choice },
  } = useChat()
  const { layout, attempt } = useShell()
  const details = chat.details.value
  const session = chat.sessionId.value
  const has = session !== ''
  const model = has ? (details?.model ?? '') : choice.value.model
  const personality = has ? (details?.personality ?? '') : choice.value.personality

  // The options may have changed since the page was loaded.
  const picker = layout.picker.value
  useEffect(() => {
    if (picker === 'personality') void attempt(() => personalities.load())
  }, [picker])
  useEffect(() => {
    let isStale = false
    void firstContent.then(() => {
      if (!isStale && may('POST /api/reasoning')) return attempt(() => reasoning.loadOffered(model))
    })
    return () => {
      isStale = true
    }
  }, [model])

  return (
    <div class="chips">
      <Chip
        picker="model"
        others={personality ? ['effort'] : ['effort', 'personality']}
        icon="model"
        name={t('chip.model')}
        value={models.labelOf(model) || t('chip.model.none')}
        selected={model || models.defaultId.value}
      />
      {has && models.isExternalAgent(model) && <AgentChip id={session} />}
      {may('POST /api/session/mode') && <ModeChip />}
      {personality && (
        <Chip
          picker="personality"
          icon="user"
          name={t('chip.personality')}
          value={personality}
          selected={personality}
        />
      )}
    </div>
  )
}
