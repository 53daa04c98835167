/** The actions of the palette: views, the open chat, the page. Each is found by its label and by other words for it. */
import type { App } from '../../app.ts'
import type { IconName } from '../../parts/icon.tsx'
import { may, type Route } from '../../parts/may.ts'
import { type PlainKey, t as ta } from '../../strings/t.ts'
import { openOutline } from '../outline/open-outline.ts'
import { saveAsCommand } from '../own-files/save-as-command.ts'
import { isHostSession } from '../sessions/host-session.ts'
import { chatItems, exportItems } from '../sessions/session-menu.ts'
import { formatKeys } from '../shell/keys.ts'
import type { Route as View } from '../shell/route.ts'
import type { Tab } from '../panel/panel.ts'
import { t as tw } from '../workspace/strings.ts'
import type { PaletteEntry } from './search-palette.ts'
import { t } from './strings.ts'
import { isWordsKey, type WordsKey, words } from './words-strings.ts'

type Action = Pick<PaletteEntry, 'label' | 'run'> &
  Partial<PaletteEntry> & {
    id: WordsKey | `export-${string}` | 'save-command'
    /** The route that it calls: it is left out when the person's role refuses it. */
    asks?: Route
  }

const VIEWS: readonly {
  id: WordsKey
  icon: IconName
  label: PlainKey
  route: View
  asks?: Route
}[] = [
  { id: 'inbox', icon: 'inbox', label: 'nav.inbox', route: { view: 'inbox' } },
  { id: 'tasks', icon: 'clock', label: 'nav.tasks', route: { view: 'tasks', task: null } },
  {
    id: 'skills',
    icon: 'skill',
    label: 'nav.skills',
    route: { view: 'skills', skill: null, query: '' },
  },
  {
    id: 'memory',
    icon: 'brain',
    label: 'nav.memory',
    route: { view: 'memory' },
    asks: 'GET /api/memory',
  },
  { id: 'usage', icon: 'chart', label: 'nav.usage', route: { view: 'usage', days: 30 } },
  { id: 'profiles', icon: 'user', label: 'profiles.manage', route: { view: 'profiles' } },
]

const ofChat = (app: App): Action[] => {
  const { layout, route } = app.shell
  const { transcript: chat } = app.chat
  const row = app.sessions.row(route.sessionId.value)
  if (!row) return []
  const items = chatItems(app, row, () => {
    layout.renamingRow.value = row.session_id
  })
  const keys = (text: string) => formatKeys(text, layout.mac)
  const actionsOf = (...ids: readonly (keyof typeof items)[]) =>
    ids.map((id): Action => {
      const { label, icon, run, ...rest } = items[id]
      return { id, label, icon, run, ...('asks' in rest && { asks: rest.asks }) }
    })
  const more: Action[] = [
    ...actionsOf('move', 'tags', 'branch', 'duplicate'),
    ...exportItems(app, row.session_id).map(
      ({ format, ...item }): Action => ({
        ...item,
        id: `export-${format}`,
        words: words('export'),
      }),
    ),
    ...(isHostSession(row) ? [] : actionsOf('share', 'mute', 'clear')),
    ...actionsOf('delete', 'erase'),
  ]
  if (chat.chat.value.messages.length > 0)
    more.push(
      { id: 'find', ...items.find },
      {
        id: 'outline',
        icon: 'list',
        label: ta('keys.outline'),
        keys: keys('mod+j'),
        run() {
          route.backToChat()
          openOutline(app)
        },
      },
    )
  return [
    ...(chat.busy.value
      ? ([
          {
            id: 'stop',
            icon: 'stop',
            label: ta('keys.stop'),
            asks: 'POST /api/chat/cancel',
            keys: keys('mod+.'),
            run: () => app.chat.turns.stop(),
          },
        ] as const)
      : []),
    ...actionsOf('rename', 'pin', 'archive'),
    ...more.map(action => ({ ...action, searchOnly: true })),
  ]
}

/** Of the open chat, or of the one that the first message will create. */
const choices = (app: App): Action[] => {
  const { route, layout } = app.shell
  const panel = app.panel
  const pick = (name: 'model' | 'effort' | 'workspace') => () => {
    route.backToChat()
    layout.picker.value = name
  }
  const tab = (name: Tab) => () => {
    route.backToChat()
    panel.choose(name)
    panel.show()
  }
  const worktree = async () => (await import('../git/new-worktree.tsx')).openNewWorktree(app)
  const effort: Action = {
    id: 'effort',
    icon: 'brain',
    label: ta('chip.effort'),
    asks: 'POST /api/reasoning',
    run: pick('effort'),
  }
  // The workspace of a chat that has begun stays.
  const workspace: Action = {
    id: 'workspace',
    icon: 'folder',
    label: t('palette.workspace'),
    asks: 'POST /api/session/update',
    run: pick('workspace'),
  }
  const list: Action[] = [
    {
      id: 'model',
      icon: 'model',
      label: t('palette.model'),
      asks: 'POST /api/session/update',
      run: pick('model'),
    },
    ...(app.composer.reasoning.offered.value.length > 0 ? [effort] : []),
    ...(app.chat.transcript.chat.value.messages.length > 0 ? [] : [workspace]),
    {
      id: 'worktree',
      icon: 'branch',
      label: t('palette.worktree'),
      asks: 'POST /api/git/worktree/create',
      run: worktree,
    },
    { id: 'files', icon: 'file', label: tw('panel.files'), run: tab('files') },
    { id: 'changes', icon: 'diff', label: tw('panel.changes'), run: tab('changes') },
    {
      id: 'terminal',
      icon: 'terminal',
      label: tw('panel.terminal'),
      asks: 'POST /api/terminal/open',
      keys: formatKeys('ctrl+`', layout.mac),
      run() {
        route.backToChat()
        layout.setDock('asked')
      },
    },
  ]
  return list.map(action => ({ ...action, searchOnly: true }))
}

const OWN = ['commands', 'subagents'] as const

const ofPage = (app: App): Action[] => {
  const { layout, route } = app.shell
  const panel = app.panel
  const { draft: composer } = app.composer
  const keys = (text: string) => formatKeys(text, layout.mac)
  const draftText = composer.text.value.trim()
  const more: Action[] = [
    {
      id: 'sidebar',
      icon: 'sidebar',
      label: ta('keys.sidebar'),
      keys: keys('mod+b'),
      run: () => layout.toggleSidebar(),
    },
    {
      id: 'search',
      icon: 'search',
      label: ta('keys.search'),
      keys: keys('mod+shift+f'),
      run: () => layout.focusSearch(),
    },
    {
      id: 'project',
      icon: 'folder',
      label: ta('projects.new'),
      asks: 'POST /api/projects/create',
      run: () => app.projects.openEdit(null),
    },
    {
      id: 'keys',
      icon: 'info',
      label: ta('keys.title'),
      keys: '?',
      run() {
        layout.shortcutsOpen.value = true
      },
    },
    ...(draftText
      ? ([
          {
            id: 'save-command',
            icon: 'terminal',
            label: t('palette.command.save'),
            asks: 'POST /api/own-files/save',
            run: () => saveAsCommand(app, draftText),
          },
        ] as const)
      : []),
    ...OWN.map(
      (tab): Action => ({
        id: tab,
        icon: tab === 'commands' ? 'terminal' : 'user',
        label: t(`palette.${tab}`),
        run: () => route.go({ view: 'skills', tab, skill: null, query: '' }),
      }),
    ),
    ...VIEWS.map(
      ({ id, icon, label, route: to, asks }): Action => ({
        id,
        icon,
        label: ta(label),
        ...(asks && { asks }),
        run: () => route.go(to),
      }),
    ),
  ]
  return [
    {
      id: 'panel',
      icon: 'panel',
      label: ta('keys.panel'),
      keys: keys('mod+shift+e'),
      run: () => panel.toggle(),
    },
    ...more.map(action => ({ ...action, searchOnly: true })),
  ]
}

export const actionEntries = (app: App): PaletteEntry[] => {
  const { layout, route } = app.shell
  const all: Action[] = [
    {
      id: 'new',
      icon: 'plus',
      label: ta('chat.new'),
      asks: 'POST /api/session/new',
      keys: formatKeys('mod+shift+o', layout.mac),
      run: () => app.pane.newChat(),
    },
    {
      id: 'new-beside',
      icon: 'panel',
      label: t('palette.beside.new'),
      asks: 'POST /api/session/new',
      searchOnly: true,
      run: () => route.openBeside(''),
    },
    ...ofChat(app),
    ...choices(app),
    ...ofPage(app),
  ]
  const section = t('palette.actions')
  const offered = all.filter(({ asks }) => !asks || may(asks))
  return offered.map(({ id, asks: _, ...action }) => ({
    section,
    words: isWordsKey(id) ? words(id) : '',
    ...action,
    id: `action:${id}`,
  }))
}
