/** Choosing the folder of a chat: the ones used before, and all others by going from folder to folder. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { FolderList } from '../../../lib/schema/workspace.ts'
import { useChat, useShell, useWorkspaces } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { may } from '../../parts/may.ts'
import { Picker, type PickerOption } from '../../parts/picker.tsx'
import { workspaceFacts } from '../git/workspace-facts.ts'
import { t as worktreeText } from '../git/worktree-strings.ts'
import { useApp } from '../shell/context.ts'
import { t } from './picker-strings.ts'

/** These are no paths. A folder of the list is entered, so its id differs from that of the same folder used before. */
const NEW_WORKTREE = '?worktree'
const ENTER = '?enter '

const isPath = (text: string): boolean => /^[~/.]/.test(text)

/** What is written, split where the last name begins. */
const splitPath = (text: string): { folder: string; name: string } => {
  const cut = isPath(text) ? text.lastIndexOf('/') + 1 : 0
  return { folder: text.slice(0, cut), name: text.slice(cut).toLowerCase() }
}

/** Beside the folder of the chat are those that are likely next, unless the agent keeps it. */
const startAt = (selected: string): string =>
  selected.includes('/.') ? '~' : selected.slice(0, Math.max(0, selected.lastIndexOf('/')))

/** The folders inside of `path`, or of the one that is being written. */
const useFolders = (typedPath: string, start: string) => {
  const workspaces = useWorkspaces()
  const { attempt } = useShell()
  const path = useSignal(start)
  const list = useSignal<FolderList | null>(null)
  const directory = typedPath || path.value
  useEffect(() => {
    if (!may('GET /api/workspaces/folders')) return
    let isCurrent = true
    void attempt(async () => {
      const folders = await workspaces.folders(directory)
      if (isCurrent) list.value = folders
    })
    return () => {
      isCurrent = false
    }
  }, [directory])
  return { path, list: list.value }
}

const optionsOf = ({ parent, folders }: FolderList, name: string): PickerOption[] => [
  ...(parent === null || name
    ? []
    : [{ id: ENTER + parent, label: t('folder.up'), icon: 'arrow-up' as const }]),
  ...folders
    .filter(folder => folder.name.toLowerCase().includes(name))
    .map(folder => ({
      id: ENTER + folder.path,
      label: folder.name,
      icon: folder.is_repository ? ('branch' as const) : ('folder' as const),
      ...(folder.is_repository && { note: t('folder.repository') }),
    })),
]

/** Offered when the folder of the chat is a repository. */
const useWorktree = () => {
  const app = useApp()
  const isOffered = useSignal(false)
  useEffect(() => {
    if (!may('POST /api/git/worktree/create')) return
    workspaceFacts(app).then(
      ({ changed_files }) => {
        isOffered.value = changed_files !== null
      },
      // Without an answer it is not offered here; the Changes tab has it, too.
      () => undefined,
    )
  }, [])
  return isOffered.value
}

type Props = { selected: string; onDone: () => void; onClose: () => void }

export const FolderDialog = ({ selected, onDone, onClose }: Props) => {
  const app = useApp()
  const workspaces = useWorkspaces()
  const { attempt } = useShell()
  const { choices } = useChat()
  const query = useSignal('')
  const text = query.value.trim()
  const { folder, name } = splitPath(text)
  const { path, list } = useFolders(folder, startAt(selected))
  const worktree = useWorktree()
  const saved = workspaces.list.value.filter(
    each =>
      !isPath(text) && `${workspaces.nameOf(each.path)} ${each.path}`.toLowerCase().includes(name),
  )
  /** The one used last is the first. */
  const recent = saved.toSorted(
    (a, b) => Number(b.path === workspaces.last.value) - Number(a.path === workspaces.last.value),
  )
  const matches = list ? optionsOf(list, name) : []
  const mayAdd = may('POST /api/workspaces/add')
  const use = (path: string) => {
    onDone()
    void attempt(() => choices.chooseWorkspace(path))
  }
  const pick = (id: string, isAside: boolean) => {
    if (id === NEW_WORKTREE) {
      onDone()
      void attempt(async () => (await import('../git/new-worktree.tsx')).openNewWorktree(app))
    } else if (!id.startsWith(ENTER)) use(id)
    else if (isAside && id !== ENTER) use(id.slice(ENTER.length))
    else {
      path.value = id.slice(ENTER.length)
      query.value = ''
    }
  }
  return (
    <Dialog title={t('folder.title')} closeLabel={t('app.close')} onClose={onClose}>
      <Picker
        label={t('folder.title')}
        placeholder={t('chip.workspace.search')}
        groups={[
          {
            label: t('chip.workspace.saved'),
            options: recent.map(each => ({
              id: each.path,
              label: workspaces.nameOf(each.path),
              hint: each.path,
            })),
          },
          { label: list?.path || t('folder.places'), options: matches },
          {
            label: '',
            options:
              mayAdd && isPath(text) && matches.length === 0
                ? [{ id: text, label: t('chip.workspace.add', { path: text }), icon: 'plus' }]
                : [],
          },
          {
            label: '',
            options:
              worktree && !text
                ? [{ id: NEW_WORKTREE, label: worktreeText('menu'), icon: 'branch' }]
                : [],
          },
        ]}
        selected={selected}
        empty={t('app.nothing')}
        query={query}
        onPick={pick}
      />
      {mayAdd && list?.path && (
        <div class="folder-foot">
          <bdi class="folder-here">{list.path}</bdi>
          <Button kind="primary" onClick={() => use(list.path)}>
            {t('folder.use')}
          </Button>
        </div>
      )}
    </Dialog>
  )
}
