/** The Git tools of the Changes tab: branch and remotes, commit, history. */
import { useSignal } from '@preact/signals'
import { pageLocale } from '../../strings/t.ts'
import { useEffect, useRef } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { parseDiff } from '../../parts/diff.ts'
import { Diff } from '../../parts/diff-view.tsx'
import { Form, FormActions, TextField } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { MenuButton, type MenuItem } from '../../parts/menu-button.tsx'
import { formatKeys } from '../shell/keys.ts'
import type { GitChange, GitStatus } from '../workspace/git-changes.ts'
import { usePanel, useShell } from '../../contexts.ts'
import { useWorkspacePanel } from './context.ts'
import { useGitActions } from './git-context.ts'
import type { LogEntry } from '../git/git-history.ts'
import { t } from '../git/strings.ts'
import { t as worktreeText } from '../git/worktree-strings.ts'
import { NewWorktree, WorktreeBar, WorktreeList } from './worktree-tools.tsx'

/** More are found with the terminal. */
const MAX_BRANCHES = 40
const SUBJECT_CHARS = 72

const NewBranch = ({ onClose }: { onClose: () => void }) => {
  const actions = useGitActions()
  const name = useSignal('')
  return (
    <Dialog title={t('git.branch.title')} onClose={onClose} closeLabel={t('app.close')}>
      <Form
        submit={t('git.branch.create')}
        isIncomplete={!name.value.trim()}
        onSubmit={() => {
          onClose()
          void actions.createBranch(name.value.trim())
        }}
        onCancel={onClose}
      >
        <TextField label={t('git.branch.name')} dir="ltr" autofocus text={name} />
      </Form>
    </Dialog>
  )
}

const HookDialog = () => {
  const { hookQuestion } = useGitActions()
  const question = hookQuestion.value
  if (!question) return null
  return (
    <Dialog
      title={t('git.hooks.title')}
      onClose={() => question.go('cancel')}
      closeLabel={t('app.cancel')}
    >
      <p class="dialog-text">{t('git.hooks.text', { names: question.names })}</p>
      <FormActions>
        <Button onClick={() => question.go('skip')}>{t('git.hooks.skip')}</Button>
        {/* Hooks run outside the sandbox: a member commits without them. */}
        <Button asks="POST /api/permissions" kind="primary" onClick={() => question.go('run')}>
          {t('git.hooks.run')}
        </Button>
      </FormActions>
    </Dialog>
  )
}

const BranchMenu = ({ name }: { name: string }) => {
  const actions = useGitActions()
  const isNaming = useSignal(false)
  const items = async (): Promise<MenuItem[]> => {
    if (!actions.overview.value) await actions.load()
    const all = actions.overview.value?.branches ?? []
    const followed = new Set(all.map(({ upstream }) => upstream))
    const branches = all.filter(branch => !branch.remote || !followed.has(branch.name))
    return [
      {
        label: t('git.branch.new'),
        icon: 'plus',
        run: () => {
          isNaming.value = true
        },
      },
      'line',
      ...branches.slice(0, MAX_BRANCHES).map(branch => ({
        label: visibleName(branch.name),
        icon: 'check' as const,
        checked: branch.current,
        run: () => {
          if (!branch.current) void actions.switchTo(branch.name, branch.remote)
        },
      })),
    ]
  }
  return (
    <>
      <MenuButton
        class="branch-name branch-button"
        label={t('git.branch.menu', { name })}
        items={items}
      >
        <bdi>{visibleName(name)}</bdi>
        <Icon name="chevron-down" size={14} />
      </MenuButton>
      {isNaming.value && (
        <NewBranch
          onClose={() => {
            isNaming.value = false
          }}
        />
      )}
    </>
  )
}

/** Beside the branch's name and its distance from the remote. */
export const BranchTools = ({ status }: { status: GitStatus }) => {
  const actions = useGitActions()
  const { upstream, ahead, behind } = status
  const isNewTree = useSignal(false)
  const items = (): MenuItem[] => [
    {
      label: t('git.fetch'),
      icon: 'refresh',
      asks: 'POST /api/git/fetch',
      run: () => void actions.fetch(),
    },
    ...(upstream
      ? [
          {
            label: t('git.pull'),
            icon: 'download' as const,
            asks: 'POST /api/git/pull' as const,
            run: () => void actions.pull(upstream),
          },
        ]
      : []),
    {
      label: t('git.push'),
      icon: 'upload',
      asks: 'POST /api/git/push',
      run: () => void actions.push(),
    },
    'line',
    {
      label: worktreeText('menu'),
      icon: 'branch',
      asks: 'POST /api/git/worktree/create',
      run: () => {
        isNewTree.value = true
      },
    },
    { label: t('git.log'), icon: 'clock', run: () => void actions.history.load(true) },
  ]
  const isBusy = actions.busy.value !== ''
  return (
    <span class="branch-tools">
      {upstream && behind > 0 && (
        <IconButton
          icon="download"
          asks="POST /api/git/pull"
          size={16}
          label={t('git.pull')}
          disabled={isBusy}
          onClick={() => void actions.pull(upstream)}
        />
      )}
      {(ahead > 0 || !upstream) && (
        <IconButton
          icon="upload"
          asks="POST /api/git/push"
          size={16}
          label={t('git.push')}
          disabled={isBusy}
          onClick={() => void actions.push()}
        />
      )}
      <MenuButton label={t('git.more')} items={items} />
      {isNewTree.value && (
        <NewWorktree
          isDirty={status.files.length > 0}
          onClose={() => {
            isNewTree.value = false
          }}
        />
      )}
    </span>
  )
}

export const BranchName = ({ status }: { status: GitStatus }) =>
  may('POST /api/git/switch') ? (
    <BranchMenu name={status.branch ?? ''} />
  ) : (
    <span class="branch-name">
      <bdi>{visibleName(status.branch ?? '')}</bdi>
    </span>
  )

const Operation = () => {
  const actions = useGitActions()
  const operation = actions.overview.value?.operation
  if (!operation) return null
  const name = t(`git.operation.${operation}`)
  return (
    <div class="git-operation" role="status">
      <p>{t('git.operation', { name })}</p>
      <Button asks="POST /api/git/abort" onClick={() => actions.abort(name)}>
        {t('git.abort', { name })}
      </Button>
    </div>
  )
}

type ToolsProps = {
  staged: readonly GitChange[]
  unstaged: readonly GitChange[]
  /** There are more changes than the list has. */
  isCut: boolean
}

const CommitBox = ({ staged, unstaged, isCut }: ToolsProps) => {
  const actions = useGitActions()
  const panel = usePanel()
  const { layout } = useShell()
  const field = useRef<HTMLTextAreaElement>(null)
  const { message, busy, overview } = actions
  const subject = message.value.split('\n', 1)[0]!.length
  // With nothing staged all of it is meant; what is in conflict, or not in the list, is not committed unseen.
  const hasConflict = unstaged.some(({ mark }) => mark === 'conflict')
  const all = staged.length === 0 && !hasConflict && !isCut ? unstaged : []
  const isReady =
    message.value.trim() !== '' &&
    (staged.length > 0 || all.length > 0 || Boolean(overview.value?.operation))
  const commit = () => void actions.commit(all)
  const focusCount = panel.commitFocus.value
  useEffect(() => {
    if (focusCount === 0) return
    panel.commitFocus.value = 0
    field.current?.focus()
  }, [focusCount])
  return (
    <form
      class="git-commit"
      onSubmit={event => {
        event.preventDefault()
        commit()
      }}
    >
      <textarea
        ref={field}
        class="input git-message"
        dir="auto"
        rows={message.value.includes('\n') ? 4 : 1}
        aria-label={t('git.message')}
        placeholder={
          layout.narrow.value
            ? t('git.message')
            : t('git.message.keys', { keys: formatKeys('mod+enter', layout.mac) })
        }
        value={message.value}
        onInput={event => {
          message.value = event.currentTarget.value
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          if (isReady && busy.value === '') commit()
        }}
      />
      <div class="git-commit-row">
        {message.value && (
          <span
            class={subject > SUBJECT_CHARS ? 'git-count git-count-long' : 'git-count'}
            title={subject > SUBJECT_CHARS ? t('git.subject.long', { count: subject }) : undefined}
          >
            {t('git.subject', { count: subject })}
          </span>
        )}
        <Button kind="primary" type="submit" disabled={!isReady || busy.value !== ''}>
          {staged.length > 0
            ? t('git.commit.staged', { count: staged.length })
            : all.length > 0
              ? t('git.commit.all', { count: all.length })
              : t('git.commit')}
        </Button>
      </div>
    </form>
  )
}

const CommitRow = ({ commit }: { commit: LogEntry }) => {
  const actions = useGitActions()
  const { id, author, message, committed_at } = commit
  const diff = actions.history.diffs.value.get(id)
  const when = new Date(committed_at * 1_000)
  const [subject = ''] = message.split('\n', 1)
  return (
    <li class="change">
      <button
        type="button"
        class="change-head"
        aria-expanded={diff !== undefined}
        onClick={() => void actions.history.toggle(id)}
      >
        <Icon name={diff === undefined ? 'chevron-right' : 'chevron-down'} size={14} />
        <span class="change-name" dir="auto">
          <bdi>{visibleName(subject)}</bdi>
        </span>
        <span class="change-dir" title={when.toLocaleString(pageLocale())}>
          {id.slice(0, 7)} · {visibleName(author)} · {when.toLocaleDateString(pageLocale())}
        </span>
      </button>
      {diff !== undefined && typeof diff === 'object' && (
        <div class="git-commit-diff">
          {message.includes('\n') && <p class="git-body">{message.slice(subject.length).trim()}</p>}
          {parseDiff(diff.diff).map((file, index) => (
            <div key={index}>
              <p class="change-counts">{visibleName(file.path)}</p>
              {file.lines.length > 0 && <Diff file={file} />}
            </div>
          ))}
        </div>
      )}
    </li>
  )
}

const History = () => {
  const actions = useGitActions()
  const log = actions.history.list.value
  if (!log) return null
  return (
    <section class="change-group">
      <h3 class="git-head">
        {t('git.log')}
        <IconButton
          icon="close"
          size={14}
          label={t('git.log.close')}
          onClick={() => actions.history.reset()}
        />
      </h3>
      {log.commits.length === 0 && <p class="panel-note">{t('git.log.none')}</p>}
      <ul>
        {log.commits.map(commit => (
          <CommitRow key={commit.id} commit={commit} />
        ))}
      </ul>
      {log.more && (
        <Button kind="quiet" onClick={() => void actions.history.load()}>
          {t('git.log.more')}
        </Button>
      )}
    </section>
  )
}

/** Loads the overview with the status, and again whenever that changes. */
export const GitTools = (props: ToolsProps) => {
  const actions = useGitActions()
  const { changes } = useWorkspacePanel()
  const status = changes.status.value
  useEffect(() => {
    void actions.load()
    if (status?.is_git) void actions.worktrees.load()
  }, [status])
  return (
    <>
      <WorktreeBar />
      <Operation />
      {may('POST /api/git/commit') && <CommitBox {...props} />}
      <HookDialog />
    </>
  )
}

/** Below the changed files. */
export const GitMore = () => (
  <>
    <WorktreeList />
    <History />
  </>
)
