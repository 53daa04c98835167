/** Changes: branch, distance from upstream, changed files with diffs, and changes by turn. */
import { visibleName } from '../../../lib/base/visible.ts'
import { directoryOf, nameOf } from '../../parts/file-kind.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { Change, GitStatus } from '../workspace/git-changes.ts'
import { t } from '../workspace/strings.ts'
import { LoadedDiffView } from './loaded-diff.tsx'
import { useGitActions } from './git-context.ts'
import { BranchName, BranchTools, GitMore, GitTools } from './git-tools.tsx'
import { HunkDiff } from './hunk-diff.tsx'
import { t as gitText } from '../git/strings.ts'
import { useWorkspacePanel } from './context.ts'
import { MarkView } from './tree-row.tsx'
import { TurnChangesView } from './turn-changes-view.tsx'
import { MenuButton, type MenuItem } from '../../parts/menu-button.tsx'
import { usePanel, useShell } from '../../contexts.ts'
import { ReviewPane } from './review-pane.tsx'
import { useWide } from './use-wide.ts'

const Branch = ({ status }: { status: GitStatus }) => {
  const { branch, upstream, ahead, behind } = status
  return (
    <div class="branch">
      <Icon name="branch" size={14} />
      {status.detached ? (
        <span class="branch-name">{t('git.detached', { commit: branch ?? '' })}</span>
      ) : (
        <BranchName status={status} />
      )}
      {upstream && (ahead > 0 || behind > 0) && (
        <span class="branch-away" title={t('git.upstream', { name: upstream })}>
          {ahead > 0 && (
            <span>
              <span aria-hidden="true">↑{ahead}</span>
              <span class="sr-only">{t('git.ahead', { count: ahead })}</span>
            </span>
          )}
          {behind > 0 && (
            <span>
              <span aria-hidden="true">↓{behind}</span>
              <span class="sr-only">{t('git.behind', { count: behind })}</span>
            </span>
          )}
        </span>
      )}
      <BranchTools status={status} />
    </div>
  )
}

/** What else can be done with a changed file. */
const menuOf = (
  change: Change,
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
export const ChangeActions = ({ change }: { change: Change }) => {
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

const ChangeView = ({ change }: { change: Change }) => {
  const { changes, review } = useWorkspacePanel()
  const isWide = useWide()
  const { key, path, from, mark } = change
  const open = changes.opened.value.has(key)
  const isShown = isWide && review.shown.value?.key === key
  return (
    <li class="change">
      <div class="change-line">
        <button
          type="button"
          class="change-head"
          {...(isWide ? { 'aria-current': isShown } : { 'aria-expanded': open })}
          title={from ? `${visibleName(path)} ${t('git.from', { path: from })}` : visibleName(path)}
          onClick={() => (isWide ? review.choose(key) : changes.toggle(change))}
        >
          {!isWide && <Icon name={open ? 'chevron-down' : 'chevron-right'} size={14} />}
          <span class={mark === 'deleted' ? 'change-name change-gone' : 'change-name'} dir="auto">
            <bdi>{visibleName(nameOf(path))}</bdi>
          </span>
          <span class="change-dir" dir="auto">
            {visibleName(directoryOf(path))}
          </span>
          <MarkView mark={mark} />
        </button>
        <ChangeActions change={change} />
      </div>
      {open && !isWide && <ChangeDiff change={change} />}
    </li>
  )
}

export const ChangeDiff = ({ change }: { change: Change }) => {
  const loaded = useWorkspacePanel().changes.diffs.value.get(change.key)
  return loaded?.id && change.mark !== 'conflict' ? (
    <HunkDiff change={change} loaded={loaded} />
  ) : (
    <LoadedDiffView path={change.path} loaded={loaded} />
  )
}

const Group = ({ title, list }: { title: string; list: readonly Change[] }) => {
  const actions = useGitActions()
  if (list.length === 0) return null
  return (
    <section class="change-group">
      <div class="change-group-head">
        <h3>
          {title} <span class="panel-count">{list.length}</span>
        </h3>
        <Button
          kind="quiet"
          asks="POST /api/git/stage"
          disabled={actions.busy.value !== ''}
          onClick={() => void actions.moveAll(list)}
        >
          {gitText(list[0]?.kind === 'staged' ? 'git.unstage.all' : 'git.stage.all')}
        </Button>
      </div>
      <ul>
        {list.map(change => (
          <ChangeView key={change.key} change={change} />
        ))}
      </ul>
    </section>
  )
}

const Blank = ({ title, text }: { title: string; text: string }) => (
  <div class="panel-blank">
    <h3>{title}</h3>
    <p>{text}</p>
  </div>
)

/** Changes by turn are shown with or without a Git repository. */
export const ChangesView = () => {
  const isWide = useWide()
  const { review } = useWorkspacePanel()
  const list = (
    <div class="changes-view">
      <GitChanges />
      <TurnChangesView />
    </div>
  )
  if (!isWide) return list
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons in the head of the diff do the same
    <div
      class="review-columns"
      onKeyDown={event => {
        const isTyping = (event.target as Element).closest('input, textarea, select')
        if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
        const by = { n: 1, p: -1 }[event.key] as 1 | -1 | undefined
        if (!by) return
        event.preventDefault()
        review.step(by)
      }}
    >
      {list}
      <ReviewPane />
    </div>
  )
}

const GitChanges = () => {
  const { changes, turns } = useWorkspacePanel()
  const status = changes.status.value
  const state = changes.state.value
  if (!status) {
    if (state !== 'failed') {
      return (
        <p class="panel-note panel-late" role="status">
          {t('git.loading')}
        </p>
      )
    }
    return (
      <div class="panel-blank" role="alert">
        <p>{t('git.failed')}</p>
        <p class="faint">{changes.error.value}</p>
        <Button icon="refresh" onClick={() => void changes.load()}>
          {t('list.retry')}
        </Button>
      </div>
    )
  }
  if (!status.is_git) {
    return turns.list.value.length > 0 ? null : (
      <Blank title={t('git.none')} text={t('git.none.hint')} />
    )
  }
  const { staged, unstaged } = changes.lines.value
  return (
    <>
      <Branch status={status} />
      <GitTools staged={staged} unstaged={unstaged} isCut={status.truncated} />
      <Group title={t('git.staged')} list={staged} />
      <Group title={t('git.unstaged')} list={unstaged} />
      {status.truncated && <p class="panel-note">{t('git.cut')}</p>}
      {changes.count.value === 0 && <Blank title={t('git.clean')} text={t('git.clean.hint')} />}
      <GitMore />
    </>
  )
}
