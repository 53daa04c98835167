/** The worktrees of the open repository, and the chat's move into one and back. */
import { joinSentences } from '../../strings/join-sentences.ts'
import { signal } from '@preact/signals'
import { asObject } from '../../../lib/base/json.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import type { ApiError } from '../../api.ts'
import type { Api } from '../../../router.ts'
import { formatBytes } from '../../parts/file-kind.ts'
import type { GitActions } from './git-actions.ts'
import { t } from './strings.ts'

export type Worktree = Api['GET /api/git/worktrees']['output']['worktrees'][number]

export class Worktrees {
  readonly #git: GitActions
  readonly list = signal<readonly Worktree[]>([])

  constructor(git: GitActions) {
    this.#git = git
  }

  async load(): Promise<void> {
    const { newest, api, session } = this.#git
    const isNewest = newest('worktrees')
    try {
      const { worktrees } = await api('GET /api/git/worktrees', session)
      if (isNewest()) this.list.value = worktrees
    } catch {
      // The list of changes reports that Git cannot be used.
      if (isNewest()) this.list.value = []
    }
  }

  create(branch: string, carry: boolean): Promise<boolean> {
    const { run, api, session, chooseWorkspace } = this.#git
    return run('worktree', async () => {
      const { path } = await api('POST /api/git/worktree/create', { ...session, branch, carry })
      await chooseWorkspace(path)
    })
  }

  open(path: string): Promise<boolean> {
    const { run, chooseWorkspace } = this.#git
    return run('worktree', () => chooseWorkspace(path))
  }

  update(base: string): Promise<boolean> {
    const { run, api, session } = this.#git
    return run(
      'worktree',
      () => api('POST /api/git/worktree/update', session),
      t('git.tree.updated', { base }),
    )
  }

  merge({ base }: Worktree): Promise<boolean> {
    const { run, api, session } = this.#git
    return run(
      'worktree',
      () => api('POST /api/git/worktree/merge', session),
      t('git.tree.merged', { base }),
    )
  }

  async remove(tree: Worktree): Promise<void> {
    try {
      await this.#removeNow(tree, false)
    } catch (error) {
      const lost = (error as ApiError).body
      const [commits, changed, count] = [lost.commits, lost.changed, lost.ignored].map(Number)
      const { path, bytes } = asObject(lost.largest)
      const isWork = commits! + changed! > 0
      const sentences = [
        isWork &&
          t('git.tree.lose.text', {
            branch: tree.branch,
            commits: commits!,
            changed: changed!,
          }),
        count! > 0 &&
          t('git.tree.lose.ignored', {
            count: count!,
            path: visibleName(String(path)),
            size: formatBytes(Number(bytes)),
          }),
      ]
      this.#git.ask({
        title: t(isWork ? 'git.tree.lose.title' : 'git.tree.lose.files'),
        text: joinSentences(...sentences),
        confirm: t('git.tree.lose.run'),
        danger: true,
        run: () => void this.#removeNow(tree, true),
      })
    }
  }

  #removeNow(tree: Worktree, force: boolean): Promise<boolean> {
    const { run, api, session, chooseWorkspace } = this.#git
    return run(
      'worktree',
      async () => {
        await api('POST /api/git/worktree/remove', { ...session, path: tree.path, force })
        if (tree.current) await chooseWorkspace(tree.main)
      },
      t('git.tree.removed'),
    )
  }
}
