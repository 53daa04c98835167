/** What the person does with the repository: stage, commit, branches, remotes; and the history. */
import { signal } from '@preact/signals'
import { type ApiCall, ApiError } from '../../api.ts'
import type { Api } from '../../../router.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Confirmation } from '../shell/layout.ts'
import type { Toasts } from '../shell/toast.ts'
import type { Shell } from '../shell/shell-state.ts'
import type { GitChange, GitChanges, LoadedDiff } from '../workspace/git-changes.ts'
import { fileName } from '../../parts/file-kind.ts'
import { GitHistory } from './git-history.ts'
import { Worktrees } from './git-worktrees.ts'
import { t } from './strings.ts'

export type Overview = Api['GET /api/git/overview']['output']
/** Hooks that wait for the person's decision, and what continues with it. */
export type HookQuestion = { names: readonly string[]; go: (choice: string) => void }

type Hooks = { names: string[]; id: string }

export class GitActions {
  readonly api: ApiCall
  readonly session: { session_id: string }
  readonly ask: (question: Confirmation) => void
  /** Moves the chat to another workspace. */
  readonly chooseWorkspace: (path: string) => Promise<void>
  readonly newest = createResponseOrder()
  readonly overview = signal<Overview | null>(null)
  readonly message = signal('')
  /** The action that runs. */
  readonly busy = signal('')
  readonly hookQuestion = signal<HookQuestion | null>(null)
  readonly history: GitHistory
  readonly worktrees: Worktrees
  readonly #toasts: Toasts
  readonly #changes: GitChanges
  /** How often the workspace was replaced by another one. */
  #resets = 0

  constructor(
    shell: Shell,
    sessionId: string,
    changes: GitChanges,
    ask: (question: Confirmation) => void,
    chooseWorkspace: (path: string) => Promise<void>,
  ) {
    this.api = shell.api
    this.#toasts = shell.toasts
    this.session = { session_id: sessionId }
    this.#changes = changes
    this.ask = ask
    this.chooseWorkspace = chooseWorkspace
    this.history = new GitHistory(shell, this.session)
    this.worktrees = new Worktrees(this)
  }

  /** Changes the repository, one at a time: git locks the index. False when it failed, which is shown. */
  readonly run = async (
    name: string,
    work: () => Promise<unknown>,
    done = '',
  ): Promise<boolean> => {
    if (this.busy.value) return false
    this.busy.value = name
    const isDone = await this.#attempt(work)
    // What is said to be done is also what the list shows.
    if (isDone && done) this.#toasts.show(done)
    return isDone
  }

  async #attempt(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      // The caller asks the person.
      if (error instanceof ApiError && /^git_(?:hooks|unmerged)$/.test(error.code ?? ''))
        throw error
      this.#toasts.showError(error)
      return false
    } finally {
      this.busy.value = ''
      await Promise.all([this.#changes.load(), this.load(), this.worktrees.load()])
      if (this.history.list.value) await this.history.load(true)
    }
  }

  /** Repeats the work with the person's decision when hooks would run. */
  async #withHooks(
    name: string,
    work: (hooks: { hooks?: string }) => Promise<unknown>,
    done: string,
    choice?: string,
  ): Promise<boolean> {
    const begun = this.#resets
    try {
      return await this.run(name, () => work(choice ? { hooks: choice } : {}), done)
    } catch (error) {
      // The decision would run in another repository.
      if (begun !== this.#resets) return false
      const { names, id } = (error as ApiError).body.hooks as Hooks
      return new Promise(resolve => {
        this.hookQuestion.value = {
          names,
          go: answer => {
            this.hookQuestion.value = null
            resolve(
              answer === 'cancel'
                ? false
                : this.#withHooks(name, work, done, answer === 'run' ? id : 'skip'),
            )
          },
        }
      })
    }
  }

  async load(): Promise<void> {
    const isNewest = this.newest('overview')
    if (!this.#changes.status.value?.is_git) {
      if (isNewest()) this.overview.value = null
      return
    }
    try {
      const overview = await this.api('GET /api/git/overview', this.session)
      if (isNewest()) this.overview.value = overview
    } catch {
      // The list of changes reports that Git cannot be used; without this the tools are not shown.
      if (isNewest()) this.overview.value = null
    }
  }

  /** The session works in another workspace. What was written as a message is kept. */
  reset(): void {
    this.newest.dropPending()
    this.#resets += 1
    this.hookQuestion.value?.go('cancel')
    this.overview.value = null
    this.worktrees.list.value = []
    this.history.reset()
  }

  /** Stages a change, or unstages a staged one; only these lines of its diff when given. */
  move(change: GitChange, diff?: LoadedDiff, lines?: readonly number[]): Promise<boolean> {
    return this.run('stage', () => this.#stageOne(change, diff, lines))
  }

  moveAll(list: readonly GitChange[]): Promise<boolean> {
    return this.run('stage', () => {
      const paths = list.map(({ path }) => path)
      if (list[0]?.kind !== 'staged')
        return this.api('POST /api/git/stage', { ...this.session, paths })
      const old = list.flatMap(({ from }) => from ?? [])
      return this.api('POST /api/git/unstage', { ...this.session, paths: [...paths, ...old] })
    })
  }

  async discard(change: GitChange, diff?: LoadedDiff, lines?: readonly number[]): Promise<void> {
    await this.run('discard', async () => {
      const result = await this.api('POST /api/git/discard', this.#selection(change, diff, lines))
      const input = { ...this.session, ...result }
      this.#toasts.show(t('git.discarded', { name: fileName(change.path) }), {
        action: {
          label: t('git.undo'),
          run: () => void this.run('undo', () => this.api('POST /api/git/undo-discard', input)),
        },
      })
    })
  }

  /** `all`: changes that are staged first. */
  async commit(all: readonly GitChange[] = []): Promise<void> {
    if (all.length > 0 && !(await this.moveAll(all))) return
    const input = { ...this.session, message: this.message.value }
    const isDone = await this.#withHooks(
      'commit',
      hooks =>
        this.api('POST /api/git/commit', {
          ...input,
          ...hooks,
        }),
      t('git.committed'),
    )
    if (!isDone) return
    // The next one may have been begun meanwhile.
    if (this.message.value === input.message) this.message.value = ''
  }

  switchTo(name: string, remote: boolean): Promise<boolean> {
    return this.run('branch', () =>
      this.api('POST /api/git/switch', { ...this.session, name, remote }),
    )
  }

  createBranch(name: string): Promise<boolean> {
    return this.run('branch', () =>
      this.api('POST /api/git/switch', { ...this.session, name, create: true }),
    )
  }

  fetch(): Promise<boolean> {
    return this.run('fetch', () => this.api('POST /api/git/fetch', this.session), t('git.fetched'))
  }

  pull(name: string): Promise<boolean> {
    return this.run(
      'pull',
      () => this.api('POST /api/git/pull', this.session),
      t('git.pulled', { name }),
    )
  }

  push(): Promise<boolean> {
    return this.#withHooks(
      'push',
      hooks =>
        this.api('POST /api/git/push', {
          ...this.session,
          ...hooks,
        }),
      t('git.pushed'),
    )
  }

  abort(name: string): void {
    this.ask({
      title: t('git.abort.title', { name }),
      text: t('git.abort.text'),
      confirm: t('git.abort', { name }),
      danger: true,
      run: () => void this.run('abort', () => this.api('POST /api/git/abort', this.session)),
    })
  }

  #selection({ path }: GitChange, diff: LoadedDiff | undefined, lines?: readonly number[]) {
    return {
      ...this.session,
      path,
      ...(diff?.id ? { id: diff.id } : {}),
      ...(lines ? { lines: [...lines] } : {}),
    }
  }

  #stageOne(change: GitChange, diff?: LoadedDiff, lines?: readonly number[]) {
    return change.kind === 'staged'
      ? this.api('POST /api/git/unstage', {
          ...this.#selection(change, diff, lines),
          ...(change.from ? { old_path: change.from } : {}),
        })
      : this.api('POST /api/git/stage', {
          ...this.#selection(change, diff, lines),
          kind: change.kind,
        })
  }
}
