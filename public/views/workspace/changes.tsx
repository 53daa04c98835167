/** The Changes tab: branch, how far it is from its upstream, and every changed file with its diff. */
import { useMemo } from 'preact/hooks'
import { directoryOf, nameOf } from '../../file-kind.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { parseDiff } from '../../parts/diff.ts'
import { Diff, DiffCounts } from '../../parts/diff-view.tsx'
import { Icon } from '../../parts/icon.tsx'
import type { Change, GitStatus } from '../../state/changes.ts'
import { tw } from '../../strings/workspace.ts'
import { useApp } from '../context.ts'
import { useRooms } from './rooms-context.ts'
import { MarkView } from './tree-row.tsx'

const Branch = ({ status }: { status: GitStatus }) => {
  const { branch, upstream, ahead, behind } = status
  return (
    <div class="branch">
      <Icon name="branch" size={14} />
      <span class="branch-name">
        {status.detached ? tw('git.detached', { commit: branch ?? '' }) : branch}
      </span>
      {upstream && (ahead > 0 || behind > 0) && (
        <span class="branch-away" title={tw('git.upstream', { name: upstream })}>
          {ahead > 0 && (
            <span>
              <span aria-hidden="true">↑{ahead}</span>
              <span class="sr-only">{tw('git.ahead', { count: ahead })}</span>
            </span>
          )}
          {behind > 0 && (
            <span>
              <span aria-hidden="true">↓{behind}</span>
              <span class="sr-only">{tw('git.behind', { count: behind })}</span>
            </span>
          )}
        </span>
      )}
    </div>
  )
}

const DiffPlace = ({ change }: { change: Change }) => {
  const { changes } = useRooms()
  const loaded = changes.diffs.value.get(change.key)
  const files = useMemo(() => parseDiff(loaded?.diff ?? ''), [loaded?.diff])
  if (!loaded || loaded.state === 'loading') {
    return <p class="panel-note panel-late">{tw('git.diff.loading')}</p>
  }
  if (loaded.state === 'failed') return <p class="panel-note">{tw('git.diff.failed')}</p>
  if (loaded.binary) return <p class="panel-note">{tw('git.diff.binary')}</p>
  const shown = files.filter(({ lines }) => lines.length > 0)
  if (shown.length === 0) return <p class="panel-note">{tw('git.diff.none')}</p>
  return (
    <>
      {shown.map((file, index) => (
        <div key={index}>
          <p class="change-counts">
            <DiffCounts added={file.added} removed={file.removed} />
          </p>
          <Diff file={file} />
        </div>
      ))}
      {loaded.truncated && <p class="panel-note">{tw('git.diff.cut')}</p>}
    </>
  )
}

const ChangeView = ({ change }: { change: Change }) => {
  const { panel } = useApp()
  const { changes } = useRooms()
  const { key, path, from, mark } = change
  const open = changes.opened.value.has(key)
  return (
    <li class="change">
      <div class="change-line">
        <button
          type="button"
          class="change-head"
          aria-expanded={open}
          title={from ? `${path} ${tw('git.from', { path: from })}` : path}
          onClick={() => changes.toggle(change)}
        >
          <Icon name={open ? 'chevron-down' : 'chevron-right'} size={14} />
          <span class={mark === 'deleted' ? 'change-name change-gone' : 'change-name'}>
            {nameOf(path)}
          </span>
          <span class="change-dir">{directoryOf(path)}</span>
          <MarkView mark={mark} />
        </button>
        {mark !== 'deleted' && (
          <IconButton
            class="change-open"
            icon="file"
            size={14}
            label={`${tw('git.open')}: ${path}`}
            onClick={() => panel.openFile(path)}
          />
        )}
      </div>
      {open && <DiffPlace change={change} />}
    </li>
  )
}

const Group = ({ title, list }: { title: string; list: readonly Change[] }) =>
  list.length === 0 ? null : (
    <section class="change-group">
      <h3>
        {title} <span class="panel-count">{list.length}</span>
      </h3>
      <ul>
        {list.map(change => (
          <ChangeView key={change.key} change={change} />
        ))}
      </ul>
    </section>
  )

const Blank = ({ title, text }: { title: string; text: string }) => (
  <div class="panel-blank">
    <h3>{title}</h3>
    <p>{text}</p>
  </div>
)

export const ChangesView = () => {
  const { changes } = useRooms()
  const status = changes.status.value
  const state = changes.state.value
  if (!status) {
    if (state !== 'failed') {
      return (
        <p class="panel-note panel-late" role="status">
          {tw('git.loading')}
        </p>
      )
    }
    return (
      <div class="panel-blank" role="alert">
        <p>{tw('git.failed')}</p>
        <p class="faint">{changes.error.value}</p>
        <Button icon="refresh" onClick={() => void changes.load()}>
          {tw('files.again')}
        </Button>
      </div>
    )
  }
  if (!status.is_git) return <Blank title={tw('git.none')} text={tw('git.none.hint')} />
  const { staged, unstaged } = changes.lines.value
  return (
    <div class="changes-view">
      <Branch status={status} />
      <Group title={tw('git.staged')} list={staged} />
      <Group title={tw('git.unstaged')} list={unstaged} />
      {status.truncated && <p class="panel-note">{tw('git.cut')}</p>}
      {changes.count.value === 0 && <Blank title={tw('git.clean')} text={tw('git.clean.hint')} />}
    </div>
  )
}
