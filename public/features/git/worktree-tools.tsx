/** A chat's own worktree: begin one, bring it up to date, merge it back, remove it. */
import { useState } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { FormActions, TextField } from '../../parts/form.tsx'
import { useGitActions } from './context.ts'
import { t } from './strings.ts'

export const NewWorktree = ({ isDirty, onClose }: { isDirty: boolean; onClose: () => void }) => {
  const { worktrees } = useGitActions()
  const [branch, setBranch] = useState('')
  const [carry, setCarry] = useState(false)
  return (
    <Dialog title={t('git.tree.new')} onClose={onClose} closeLabel={t('app.close')}>
      <p class="dialog-text">{t('git.tree.text')}</p>
      <form
        class="form"
        onSubmit={event => {
          event.preventDefault()
          onClose()
          void worktrees.create(branch.trim(), carry)
        }}
      >
        <TextField
          label={t('git.branch.name')}
          dir="ltr"
          autofocus
          value={branch}
          onInput={setBranch}
        />
        {isDirty && (
          <label class="git-amend">
            <input
              type="checkbox"
              checked={carry}
              onChange={event => setCarry(event.currentTarget.checked)}
            />
            {t('git.tree.carry')}
          </label>
        )}
        <FormActions>
          <Button onClick={onClose}>{t('app.cancel')}</Button>
          <Button kind="primary" type="submit" disabled={!branch.trim()}>
            {t('git.tree.create')}
          </Button>
        </FormActions>
      </form>
    </Dialog>
  )
}

/** Above the changes of a chat that works in its own worktree. */
export const WorktreeBar = () => {
  const { worktrees, busy } = useGitActions()
  const found = worktrees.list.value.find(({ current }) => current)
  if (!found) return null
  const base = visibleName(found.base)
  const isBusy = busy.value !== ''
  return (
    <div class="git-tree" role="status">
      <p>
        {t('git.tree.here', { base })}
        {found.ahead > 0 && ` ${t('git.tree.ahead', { count: found.ahead })}`}
      </p>
      <div class="git-tree-row">
        {found.ahead > 0 && (
          <Button disabled={isBusy} onClick={() => void worktrees.merge(found)}>
            {t('git.tree.merge', { base })}
          </Button>
        )}
        {found.behind > 0 && (
          <Button disabled={isBusy} onClick={() => void worktrees.update(base)}>
            {t('git.tree.update', { base })}
          </Button>
        )}
        <Button kind="quiet" disabled={isBusy} onClick={() => void worktrees.remove(found)}>
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
            <Button kind="quiet" onClick={() => void worktrees.open(tree.path)}>
              {t('git.tree.open')}
            </Button>
            <Button kind="quiet" onClick={() => void worktrees.remove(tree)}>
              {t('git.tree.remove')}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}
