/** The worktrees of the open repository, and the chat's move into one and back. */
import { joinSentences } from '../../strings/join-sentences.ts'
import { signal } from '@preact/signals'
import { asObject } from '../../../lib/base/json.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import type { ApiError, ApiCall } from '../../api.ts'
import type { Api } from '../../../router.ts'
import type { ResponseOrder } from '../../parts/response-order.ts'
import type { Confirmation } from '../shell/layout.ts'
import { formatBytes } from '../../parts/file-kind.ts'
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

export class Worktrees {
  readonly #options: WorktreesOptions
  readonly list = signal<readonly Worktree[]>([])

  constructor(options: WorktreesOptions) {
    this.#options = options
  }

  async load(): Promise<void> {
    const { newest, api, session } = this.#options
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
    const { run, api, session, chooseWorkspace } = this.#options
    return run('worktree', async () => {
      const { path } = await api('POST /api/git/worktree/create', { ...session, branch, carry })
      await chooseWorkspace(path)
    })
  }

  open(path: string): Promise<boolean> {
    const { run, chooseWorkspace } = this.#options
    return run('worktree', () => chooseWorkspace(path))
  }

  update(base: string): Promise<boolean> {
    const { run, api, session } = this.#options
    return run(
      'worktree',
      () => api('POST /api/git/worktree/update', session),
      t('git.tree.updated', { base }),
    )
  }

  merge({ base }: Worktree): Promise<boolean> {
    const { run, api, session } = this.#options
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
      this.#options.ask({
        title: t(isWork ? 'git.tree.lose.title' : 'git.tree.lose.files'),
        text: joinSentences(...sentences),
        confirm: t('git.tree.lose.run'),
        danger: true,
        run: () => void this.#removeNow(tree, true),
      })
    }
  }

  #removeNow(tree: Worktree, force: boolean): Promise<boolean> {
    const { run, api, session, chooseWorkspace } = this.#options
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
