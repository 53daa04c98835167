/** Changes: branch, distance from upstream, changed files with diffs, and changes by turn. */
import { visibleName } from '../../../lib/base/visible.ts'
import { directoryOf, fileName } from '../../parts/file-kind.ts'
import { Button } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { GitChange, GitStatus } from '../workspace/git-changes.ts'
import { t } from '../workspace/strings.ts'
import { useGitActions } from './git-context.ts'
import { BranchName, BranchTools, GitMore, GitTools } from './git-tools.tsx'
import { t as gitText } from '../git/strings.ts'
import { useWorkspacePanel } from './context.ts'
import { MarkView } from './tree-row.tsx'
import { TurnChangesView } from './turn-changes-view.tsx'
import { ChangeActions, ChangeDiff } from './change.tsx'
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

const ChangeView = ({ change }: { change: GitChange }) => {
  const { changes, review } = useWorkspacePanel()
  const isWide = useWide()
  const { key, path, from, mark } = change
  const open = changes.openKeys.value.has(key)
  const isShown = isWide && review.current.value?.key === key
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
            <bdi>{visibleName(fileName(path))}</bdi>
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

const Group = ({ title, list }: { title: string; list: readonly GitChange[] }) => {
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
  const list = (
    <div class="changes-view">
      <GitChanges />
      <TurnChangesView />
    </div>
  )
  if (!isWide) return list
  return (
    <div class="review-columns">
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
