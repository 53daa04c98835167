/** Stashed changes, below the changed files. */
import { visibleName } from '../../../lib/base/visible.ts'
import { Button } from '../../parts/button.tsx'
import { useGitActions } from './context.ts'
import { t } from './strings.ts'

export const Stashes = () => {
  const actions = useGitActions()
  const stashes = actions.overview.value?.stashes ?? []
  if (stashes.length === 0) return null
  return (
    <section class="change-group">
      <h3>
        {t('git.stashes')} <span class="panel-count">{stashes.length}</span>
      </h3>
      <ul>
        {stashes.map(({ id, message }) => (
          <li key={id} class="git-row">
            <span class="git-row-text">
              <bdi>{visibleName(message)}</bdi>
            </span>
            <Button
              asks="POST /api/git/stash/pop"
              kind="quiet"
              onClick={() => void actions.popStash(id)}
            >
              {t('git.stash.pop')}
            </Button>
            <Button
              asks="POST /api/git/stash/drop"
              kind="quiet"
              onClick={() => actions.dropStash(id, message)}
            >
              {t('git.stash.drop')}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}
