/** A chat's own worktree: begin one, bring it up to date, merge it back, remove it. */
import { visibleName } from '../../../lib/base/visible.ts'
import { Button } from '../../parts/button.tsx'
import { useGitActions } from './git-context.ts'
import { NewWorktreeDialog } from '../git/new-worktree.tsx'
import { t } from '../git/strings.ts'

export const NewWorktree = ({ isDirty, onClose }: { isDirty: boolean; onClose: () => void }) => {
  const { worktrees } = useGitActions()
  return (
    <NewWorktreeDialog
      isDirty={isDirty}
      onClose={onClose}
      onCreate={(branch, carry) => void worktrees.create(branch, carry)}
    />
  )
}

/** Above the changes of a chat that works in its own worktree. */
export const WorktreeBar = () => {
  const { worktrees, busy } = useGitActions()
  const worktree = worktrees.list.value.find(({ current }) => current)
  if (!worktree) return null
  const base = visibleName(worktree.base)
  const isBusy = busy.value !== ''
  return (
    <div class="git-tree" role="status">
      <p>
        {t('git.tree.here', { base })}
        {worktree.ahead > 0 && ` ${t('git.tree.ahead', { count: worktree.ahead })}`}
      </p>
      <div class="git-tree-row">
        {worktree.ahead > 0 && (
          <Button
            asks="POST /api/git/worktree/merge"
            disabled={isBusy}
            onClick={() => void worktrees.merge(worktree)}
          >
            {t('git.tree.merge', { base })}
          </Button>
        )}
        {worktree.behind > 0 && (
          <Button
            asks="POST /api/git/worktree/update"
            disabled={isBusy}
            onClick={() => void worktrees.update(base)}
          >
            {t('git.tree.update', { base })}
          </Button>
        )}
        <Button
          asks="POST /api/git/worktree/remove"
          kind="quiet"
          disabled={isBusy}
          onClick={() => void worktrees.remove(worktree)}
        >
          {t('git.tree.remove')}
        </Button>
      </div>
    </div>
  )
}

/** In the main checkout: worktrees of other chats, also of deleted ones. */
export const WorktreeList = () => {
  const { worktrees } = useGitActions()
  const others = worktrees.list.value.filter(({ current }) => !current)
  if (others.length === 0) return null
  return (
    <section class="change-group">
      <h3>
        {t('git.tree.list')} <span class="panel-count">{others.length}</span>
      </h3>
      <ul>
        {others.map(tree => (
          <li key={tree.path} class="git-row">
            <span class="git-row-text" title={tree.path}>
              <bdi>{visibleName(tree.branch)}</bdi>
            </span>
            <Button
              asks="POST /api/session/new"
              kind="quiet"
              onClick={() => void worktrees.open(tree.path)}
            >
              {t('git.tree.open')}
            </Button>
            <Button
              asks="POST /api/git/worktree/remove"
              kind="quiet"
              onClick={() => void worktrees.remove(tree)}
            >
              {t('git.tree.remove')}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}
