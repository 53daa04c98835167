/** Chips below the composer: model, reasoning effort, workspace, personality. */
import { useCallback, useEffect, useRef } from 'preact/hooks'
import { Icon, type IconName } from '../../parts/icon.tsx'
import type { Picker } from '../shell/layout.ts'
import { t } from '../../strings/t.ts'
import { firstContent } from '../../parts/first-content.ts'
import { lazy } from '../../parts/lazy.tsx'
import { may } from '../../parts/may.ts'
import { lateBar } from './late-bar.ts'
import { useChat, useComposer, useModels, useShell, useWorkspaces } from '../../contexts.ts'

const ChipPopover = lazy(async () => (await import('./pickers.tsx')).ChipPopover, true)
const AgentChip = lazy(
  async () => (await import('../external-agent/agent-chip.tsx')).AgentChip,
  true,
)
const PlanChip = lazy(
  lateBar(parts => parts.PlanChip),
  true,
  false,
)

type ChipProps = {
  picker: Picker
  icon: IconName
  name: string
  value: string
  /** The option marked as selected in the list. */
  selected?: string
}

const Chip = ({ picker, icon, name, value, selected = '' }: ChipProps) => {
  const { layout } = useShell()
  const anchor = useRef<HTMLButtonElement>(null)
  const open = layout.picker.value === picker
  const close = useCallback(() => {
    if (layout.picker.value === picker) layout.picker.value = null
  }, [])
  return (
    <>
      <button
        ref={anchor}
        type="button"
        class={`chip chip-${picker}`}
        aria-label={`${name}: ${value}`}
        aria-haspopup="listbox"
        aria-expanded={open}
        title={name}
        onClick={() => {
          layout.picker.value = open ? null : picker
        }}
      >
        <Icon name={icon} size={14} />
        <span class="chip-value" dir="auto">
          {value}
        </span>
      </button>
      {open && (
        <ChipPopover
          picker={picker}
          anchor={anchor}
          selected={selected}
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
  const workspaces = useWorkspaces()
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
  const workspace = has
    ? (details?.workspace ?? '')
    : choice.value.workspace || workspaces.last.value
  const personality = has ? (details?.personality ?? '') : choice.value.personality

  // The options may have changed since the page was loaded.
  const picker = layout.picker.value
  useEffect(() => {
    if (picker === 'workspace') void attempt(() => workspaces.load())
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
        icon="model"
        name={t('chip.model')}
        value={models.labelOf(model) || t('chip.model.none')}
        selected={model || models.defaultId.value}
      />
      {has && models.isExternalAgent(model) && <AgentChip id={session} />}
      {may('POST /api/reasoning') && reasoning.offered.value.length > 0 && (
        <Chip
          picker="effort"
          icon="brain"
          name={t('chip.effort')}
          value={t(`effort.${reasoning.effort.value}`)}
        />
      )}
      <PlanChip />
      {workspace && (
        <Chip
          picker="workspace"
          icon="folder"
          name={t('chip.workspace')}
          value={workspaces.nameOf(workspace)}
          selected={workspace}
        />
      )}
      {(personality || personalities.list.value.length > 0) && (
        <Chip
          picker="personality"
          icon="user"
          name={t('chip.personality')}
          value={personality || t('chip.personality.none')}
          selected={personality}
        />
      )}
    </div>
  )
}
