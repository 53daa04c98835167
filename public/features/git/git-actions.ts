/** What the person does with the repository: stage, commit, branches, remotes; and the history. */
import { signal } from '@preact/signals'
import { ApiError } from '../../api.ts'
import type { Api } from '../../../router.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
import type { Platform } from '../../platform.ts'
import type { Confirmation } from '../shell/layout.ts'
import type { Toasts } from '../shell/toast.ts'
import type { Change, GitChanges, LoadedDiff } from '../workspace/git-changes.ts'
import { nameOf } from '../workspace/file-kind.ts'
import { createHistory } from './git-history.ts'
import { createWorktrees } from './git-worktrees.ts'
import { t } from './strings.ts'

export type Overview = Api['GET /api/git/overview']['output']
/** Hooks that wait for the person's decision, and what continues with it. */
export type HookQuestion = { names: readonly string[]; go: (choice: string) => void }

export type GitActionsOptions = {
  platform: Pick<Platform, 'api'>
  sessionId: string
  toasts: Toasts
  ask: (question: Confirmation) => void
  changes: GitChanges
  chooseWorkspace: (path: string) => Promise<void>
}

type Hooks = { names: string[]; id: string }

/** Runs what changes the repository, and asks about its hooks. */
const createRunner = (toasts: Toasts, reload: () => Promise<void>) => {
  const busy = signal('')
  const hookQuestion = signal<HookQuestion | null>(null)
  /** How often the workspace was replaced by another one. */
  let resets = 0

  /** One at a time: git locks the index. False when it failed, which is shown. */
  const run = async (name: string, work: () => Promise<unknown>, done = ''): Promise<boolean> => {
    if (busy.value) return false
    busy.value = name
    try {
      await work()
      if (done) toasts.show(done)
      return true
    } catch (error) {
      // The caller asks the person.
      if (error instanceof ApiError && /^git_(?:hooks|unmerged)$/.test(error.code ?? ''))
        throw error
      toasts.showError(error)
      return false
    } finally {
      busy.value = ''
      await reload()
    }
  }

  /** Repeats the work with the person's decision when hooks would run. */
  const withHooks = async (
    name: string,
    work: (hooks: string | undefined) => Promise<unknown>,
    done: string,
    choice?: string,
  ): Promise<boolean> => {
    const begun = resets
    try {
      return await run(name, () => work(choice), done)
    } catch (error) {
      // The decision would run in another repository.
      if (begun !== resets) return false
      const { names, id } = (error as ApiError).body.hooks as Hooks
      return new Promise(resolve => {
        hookQuestion.value = {
          names,
          go(answer) {
            hookQuestion.value = null
            resolve(
              answer === 'cancel'
                ? false
                : withHooks(name, work, done, answer === 'run' ? id : 'skip'),
            )
          },
        }
      })
    }
  }

  return {
    busy,
    hookQuestion,
    run,
    withHooks,
    reset(): void {
      resets += 1
      hookQuestion.value?.go('cancel')
    },
  }
}

export const createGitActions = (options: GitActionsOptions) => {
  const { platform, sessionId, toasts, ask, changes } = options
  const { api } = platform
  const overview = signal<Overview | null>(null)
  const message = signal('')
  const session = { session_id: sessionId }
  const newest = createResponseOrder()
  const history = createHistory({ api, toasts, session, newest })

  const load = async (): Promise<void> => {
    const isNewest = newest('overview')
    if (!changes.status.value?.is_git) {
      if (isNewest()) overview.value = null
      return
    }
    try {
      const found = await api('GET /api/git/overview', session)
      if (isNewest()) overview.value = found
    } catch {
      // The list of changes reports that Git cannot be used; without this the tools are not shown.
      if (isNewest()) overview.value = null
    }
  }

  const reload = async (): Promise<void> => {
    await Promise.all([changes.load(), load(), worktrees.load()])
    if (history.list.value) await history.load(true)
  }

  const runner = createRunner(toasts, reload)
  const { busy, hookQuestion, run, withHooks } = runner
  const worktrees = createWorktrees({ ...options, api, session, newest, run })

  const selection = (
    { path }: Change,
    loaded: LoadedDiff | undefined,
    lines?: readonly number[],
  ) => ({
    ...session,
    path,
    ...(loaded?.id ? { id: loaded.id } : {}),
    ...(lines ? { lines: [...lines] } : {}),
  })
  const stageOne = (change: Change, loaded?: LoadedDiff, lines?: readonly number[]) =>
    change.kind === 'staged'
      ? api('POST /api/git/unstage', {
          ...selection(change, loaded, lines),
          ...(change.from ? { old_path: change.from } : {}),
        })
      : api('POST /api/git/stage', { ...selection(change, loaded, lines), kind: change.kind })

  return {
    overview,
    busy,
    message,
    hookQuestion,
    load,
    /** The session works in another workspace. What was written as a message is kept. */
    reset(): void {
      newest.dropPending()
      runner.reset()
      overview.value = null
      worktrees.list.value = []
      history.reset()
    },
    /** Stages a change, or unstages a staged one; only these lines of its diff when given. */
    move: (change: Change, loaded?: LoadedDiff, lines?: readonly number[]) =>
      run('stage', () => stageOne(change, loaded, lines)),
    moveAll: (list: readonly Change[]) =>
      run('stage', () => {
        const paths = list.map(({ path }) => path)
        if (list[0]?.kind !== 'staged') return api('POST /api/git/stage', { ...session, paths })
        const old = list.flatMap(({ from }) => from ?? [])
        return api('POST /api/git/unstage', { ...session, paths: [...paths, ...old] })
      }),
    async discard(change: Change, loaded?: LoadedDiff, lines?: readonly number[]): Promise<void> {
      await run('discard', async () => {
        const found = await api('POST /api/git/discard', selection(change, loaded, lines))
        const input = { ...session, ...found }
        toasts.show(t('git.discarded', { name: nameOf(change.path) }), {
          action: {
            label: t('git.undo'),
            run: () => void run('undo', () => api('POST /api/git/undo-discard', input)),
          },
        })
      })
    },
    async commit(): Promise<void> {
      const input = { ...session, message: message.value }
      const isDone = await withHooks(
        'commit',
        hooks => api('POST /api/git/commit', { ...input, ...(hooks ? { hooks } : {}) }),
        t('git.committed'),
      )
      if (!isDone) return
      // The next one may have been begun meanwhile.
      if (message.value === input.message) message.value = ''
    },
    switchTo: (name: string, remote: boolean) =>
      run('branch', () => api('POST /api/git/switch', { ...session, name, remote })),
    createBranch: (name: string) =>
      run('branch', () => api('POST /api/git/switch', { ...session, name, create: true })),
    fetch: () => run('fetch', () => api('POST /api/git/fetch', session), t('git.fetched')),
    pull: (name: string) =>
      run('pull', () => api('POST /api/git/pull', session), t('git.pulled', { name })),
    push: () =>
      withHooks(
        'push',
        hooks => api('POST /api/git/push', { ...session, ...(hooks ? { hooks } : {}) }),
        t('git.pushed'),
      ),
    abort(name: string): void {
      ask({
        title: t('git.abort.title', { name }),
        text: t('git.abort.text'),
        confirm: t('git.abort', { name }),
        danger: true,
        run: () => void run('abort', () => api('POST /api/git/abort', session)),
      })
    },
    history,
    worktrees,
  }
}

export type GitActions = ReturnType<typeof createGitActions>
