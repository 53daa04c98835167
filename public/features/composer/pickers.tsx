/** Pickers of the composer chips: model, effort, workspace, personality. */
import { formatTokens } from '../../parts/amounts.ts'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Picker, type PickerGroup, type PickerOption } from '../../parts/picker.tsx'
import { may } from '../../parts/may.ts'
import { Popover, type PopoverProps } from '../../parts/popover.tsx'
import type { Picker as PickerName } from '../shell/layout.ts'
import { type Model, matchModels } from '../models/models.ts'
import { isEffortChoice } from './reasoning.ts'
import { t } from './picker-strings.ts'
import { useApp } from '../shell/context.ts'
import { workspaceFacts } from '../git/workspace-facts.ts'
import { t as worktreeText } from '../git/worktree-strings.ts'
import { useChat, useComposer, useModels, useShell, useWorkspaces } from '../../contexts.ts'

type Props = { selected: string; onDone: () => void }

const toOption = (model: Model): PickerOption => ({
  id: model.id,
  label: model.label,
  hint: model.id,
  ...(model.context_length
    ? {
        note: formatTokens(model.context_length),
        noteTitle: t('model.size', { size: formatTokens(model.context_length) }),
      }
    : {}),
})

/** Recent models first, then the others by provider. While searching, matches by provider. */
const modelGroups = (
  all: readonly Model[],
  recent: readonly Model[],
  query: string,
): PickerGroup[] => {
  const found = matchModels(all, query)
  const first = query ? [] : recent
  const rest = found.filter(model => !first.includes(model))
  const groups = Map.groupBy(rest, model => model.provider)
  return [
    { label: t('chip.model.recent'), options: first.map(toOption) },
    ...[...groups].map(([label, models]) => ({ label, options: models.map(toOption) })),
  ]
}

const ModelPicker = ({ selected, onDone }: Props) => {
  const models = useModels()
  const { attempt } = useShell()
  const { choices } = useChat()
  const query = useSignal('')
  const { all, recent } = models
  return (
    <Picker
      label={t('chip.model')}
      placeholder={t('chip.model.search')}
      groups={modelGroups(all.value, recent.value, query.value)}
      selected={selected}
      empty={t(all.value.length > 0 ? 'app.nothing' : 'chip.model.empty')}
      query={query}
      onPick={id => {
        onDone()
        void attempt(() => choices.chooseModel(id))
      }}
    />
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

/** Not a path. */
const NEW_WORKTREE = '?worktree'

const WorkspacePicker = ({ selected, onDone }: Props) => {
  const app = useApp()
  const workspaces = useWorkspaces()
  const { attempt } = useShell()
  const { choices } = useChat()
  const query = useSignal('')
  const suggested = useSignal<readonly string[]>([])
  const text = query.value.trim()
  const looksLikePath = /^[~/.]/.test(text)

  useEffect(() => {
    if (!looksLikePath) {
      suggested.value = []
      return
    }
    const asking = new AbortController()
    const ask = async () => {
      try {
        suggested.value = await workspaces.suggest(text, asking.signal)
      } catch {
        // Aborted by further typing, or unreachable. The typed path can still be used.
      }
    }
    const cancel = app.shell.platform.clock.timer(120, () => void ask())
    return () => {
      cancel()
      asking.abort()
    }
  }, [text])

  const wanted = text.toLowerCase()
  const saved = workspaces.list.value
    .filter(({ name, path }) => looksLikePath || `${name} ${path}`.toLowerCase().includes(wanted))
    .filter(({ path }) => !looksLikePath || path.toLowerCase().startsWith(wanted))
  const known = new Set(saved.map(({ path }) => path))
  const others = suggested.value.filter(path => !known.has(path))
  const worktree = useSignal(false)
  const mayAdd = may('POST /api/workspaces/add')
  useEffect(() => {
    if (!may('POST /api/git/worktree/create')) return
    workspaceFacts(app).then(
      ({ changed_files }) => {
        worktree.value = changed_files !== null
      },
      // Without an answer it is not offered here; the Changes tab has it, too.
      () => undefined,
    )
  }, [])
  const typed = mayAdd && looksLikePath && !known.has(text) && !others.includes(text) ? [text] : []
  return (
    <Picker
      label={t('chip.workspace')}
      placeholder={t('chip.workspace.search')}
      groups={[
        {
          label: t('chip.workspace.saved'),
          options: saved.map(({ path, name }) => ({ id: path, label: name, hint: path })),
        },
        {
          label: t('chip.workspace.suggested'),
          options: [
            ...others.map(path => ({ id: path, label: path })),
            ...typed.map(path => ({ id: path, label: t('chip.workspace.add', { path }) })),
          ],
        },
        {
          label: '',
          options:
            worktree.value && !text
              ? [{ id: NEW_WORKTREE, label: worktreeText('menu'), icon: 'branch' }]
              : [],
        },
      ]}
      selected={selected}
      empty={t('app.nothing')}
      query={query}
      onPick={path => {
        onDone()
        void attempt(async () => {
          if (path !== NEW_WORKTREE) return choices.chooseWorkspace(path)
          return (await import('../git/new-worktree.tsx')).openNewWorktree(app)
        })
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
  workspace: WorkspacePicker,
  personality: PersonalityPicker,
} as const

export const ChipPopover = ({ picker, anchor, onClose, ...props }: ChipPopoverProps) => {
  const List = lists[picker]
  return (
    <Popover anchor={anchor} onClose={onClose} side="above" class="popover-picker">
      <List {...props} />
    </Popover>
  )
}
