/** The worktrees of the open repository, and the chat's move into one and back. */
import { joinSentences } from '../../strings/join-sentences.ts'
import { signal } from '@preact/signals'
import { asObject } from '../../../lib/base/json.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import type { ApiError, ApiCall } from '../../api.ts'
import type { Api } from '../../../router.ts'
import type { ResponseOrder } from '../../parts/response-order.ts'
import type { Confirmation } from '../shell/layout.ts'
import { formatBytes } from '../workspace/file-kind.ts'
import { t } from './strings.ts'

export type Worktree = Api['GET /api/git/worktrees']['output']['worktrees'][number]

export type WorktreesOptions = {
  api: ApiCall
  session: { session_id: string }
  newest: ResponseOrder
  ask: (question: Confirmation) => void
  /** One action at a time; false when it failed, which is shown. */
  run: (name: string, work: () => Promise<unknown>, done?: string) => Promise<boolean>
  /** Moves the chat to another workspace. */
  chooseWorkspace: (path: string) => Promise<void>
}

export const createWorktrees = (options: WorktreesOptions) => {
  const { api, session, newest, ask, run, chooseWorkspace } = options
  const list = signal<readonly Worktree[]>([])

  const removeNow = (tree: Worktree, force: boolean) =>
    run(
      'worktree',
      async () => {
        await api('POST /api/git/worktree/remove', { ...session, path: tree.path, force })
        if (tree.current) await chooseWorkspace(tree.main)
      },
      t('git.tree.removed'),
    )

  return {
    list,
    async load(): Promise<void> {
      const isNewest = newest('worktrees')
      try {
        const { worktrees } = await api('GET /api/git/worktrees', session)
        if (isNewest()) list.value = worktrees
      } catch {
        // The list of changes reports that Git cannot be used.
        if (isNewest()) list.value = []
      }
    },
    create: (branch: string, carry: boolean) =>
      run('worktree', async () => {
        const { path } = await api('POST /api/git/worktree/create', { ...session, branch, carry })
        await chooseWorkspace(path)
      }),
    open: (path: string) => run('worktree', () => chooseWorkspace(path)),
    update: (base: string) =>
      run(
        'worktree',
        () => api('POST /api/git/worktree/update', session),
        t('git.tree.updated', { base }),
      ),
    merge: ({ base }: Worktree) =>
      run(
        'worktree',
        () => api('POST /api/git/worktree/merge', session),
        t('git.tree.merged', { base }),
      ),
    async remove(tree: Worktree): Promise<void> {
      try {
        await removeNow(tree, false)
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
        ask({
          title: t(isWork ? 'git.tree.lose.title' : 'git.tree.lose.files'),
          text: joinSentences(...sentences),
          confirm: t('git.tree.lose.run'),
          danger: true,
          run: () => void removeNow(tree, true),
        })
      }
    },
  }
}
