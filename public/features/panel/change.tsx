/** One changed file, in the list or beside it: its actions, and its diff. */
import { visibleName } from '../../../lib/base/visible.ts'
import { usePanel, useShell } from '../../contexts.ts'
import { IconButton } from '../../parts/button.tsx'
import { MenuButton, type MenuItem } from '../../parts/menu-button.tsx'
import { t as gitText } from '../git/strings.ts'
import type { GitChange } from '../workspace/git-changes.ts'
import { t } from '../workspace/strings.ts'
import { useWorkspacePanel } from './context.ts'
import { useGitActions } from './git-context.ts'
import { HunkDiff } from './hunk-diff.tsx'
import { LoadedDiffView } from './loaded-diff.tsx'

/** What else can be done with a changed file. */
const menuOf = (
  change: GitChange,
  {
    panel,
    actions,
    copy,
  }: {
    panel: ReturnType<typeof usePanel>
    actions: ReturnType<typeof useGitActions>
    copy: (text: string) => Promise<void>
  },
): MenuItem[] => {
  const { path, kind, mark } = change
  const canDiscard = kind === 'unstaged' && mark !== 'conflict'
  return [
    ...(mark === 'deleted'
      ? []
      : [
          {
            label: t('git.open'),
            icon: 'file' as const,
            run: () => {
              panel.openFile(path)
            },
          },
        ]),
    { label: t('files.copy.path'), icon: 'copy', run: () => void copy(path) },
    ...(canDiscard
      ? ([
          'line',
          {
            label: gitText('git.discard.short'),
            icon: 'undo',
            asks: 'POST /api/git/discard',
            danger: true,
            run: () => void actions.discard(change),
          },
        ] as const)
      : []),
  ]
}

/** Stages or unstages the file; the rest is in its menu, so that every row has the same columns. */
export const ChangeActions = ({ change }: { change: GitChange }) => {
  const panel = usePanel()
  const { copy } = useShell()
  const actions = useGitActions()
  const { path, kind } = change
  const name = visibleName(path)
  return (
    <>
      <IconButton
        class="change-open"
        asks="POST /api/git/stage"
        icon={kind === 'staged' ? 'close' : 'plus'}
        size={14}
        label={gitText(kind === 'staged' ? 'git.unstage' : 'git.stage', { name })}
        disabled={actions.busy.value !== ''}
        onClick={() => void actions.move(change)}
      />
      <MenuButton
        class="change-open"
        label={t('files.menu', { name })}
        items={() => menuOf(change, { panel, actions, copy })}
      />
    </>
  )
}

export const ChangeDiff = ({ change }: { change: GitChange }) => {
  const diff = useWorkspacePanel().changes.diffs.value.get(change.key)
  return diff?.id && change.mark !== 'conflict' ? (
    <HunkDiff change={change} diff={diff} />
  ) : (
    <LoadedDiffView path={change.path} diff={diff} />
  )
}
