/** What the palette finds without the server: actions, views, settings, loaded chats, models, themes, commands. */
import type { App } from '../../app.ts'
import type { IconName } from '../../parts/icon.tsx'
import { type PlainKey, t as ta } from '../../strings/t.ts'
import { titleOf } from '../sessions/sessions.ts'
import { saveAsCommand } from '../own-files/save-as-command.ts'
import { formatAgo } from '../sessions/relative-time.ts'
import { t as ts } from '../settings/strings.ts'
import { THEMES } from '../settings/settings.ts'
import { formatKeys } from '../shell/keys.ts'
import { type Route, SECTIONS } from '../shell/route.ts'
import type { Entry } from './search-palette.ts'
import { putIntoMessage } from '../composer/put-into-message.ts'
import { revealSetting, settingEntries } from '../settings/settings-index.ts'
import { t } from './strings.ts'

const VIEWS: readonly { id: string; icon: IconName; label: PlainKey; route: Route }[] = [
  { id: 'inbox', icon: 'inbox', label: 'nav.inbox', route: { view: 'inbox' } },
  { id: 'tasks', icon: 'clock', label: 'nav.tasks', route: { view: 'tasks', task: null } },
  {
    id: 'skills',
    icon: 'skill',
    label: 'nav.skills',
    route: { view: 'skills', skill: null, query: '' },
  },
  { id: 'memory', icon: 'brain', label: 'nav.memory', route: { view: 'memory' } },
  { id: 'usage', icon: 'chart', label: 'nav.usage', route: { view: 'usage', days: 30 } },
  { id: 'profiles', icon: 'user', label: 'profiles.manage', route: { view: 'profiles' } },
]

const OWN = ['commands', 'subagents'] as const

const actions = (app: App): Entry[] => {
  const { layout, route, sessions, panel } = app
  const keys = (text: string) => formatKeys(text, layout.mac)
  const row = sessions.row(route.sessionId.value)
  const section = t('palette.actions')
  const action = (
    id: string,
    icon: IconName,
    label: string,
    run: () => unknown,
    more: Partial<Entry> = {},
  ): Entry => ({ id: `action:${id}`, section, icon, label, run, ...more })
  const id = row?.session_id ?? ''
  return [
    action('new', 'plus', ta('chat.new'), app.newChat, { keys: keys('mod+shift+o') }),
    action('new-beside', 'panel', t('palette.beside.new'), () => route.openBeside(''), {
      searchOnly: true,
    }),
    ...(row
      ? [
          action('rename', 'edit', ta('row.rename'), () => {
            layout.renamingRow.value = id
          }),
          action('pin', 'pin', ta(row.pinned ? 'row.unpin' : 'row.pin'), () =>
            sessions.pin(id, !row.pinned),
          ),
          action('archive', 'archive', ta(row.archived ? 'row.unarchive' : 'row.archive'), () =>
            app.archive(id, !row.archived),
          ),
          action('move', 'folder', ta('projects.move'), () => app.openMoveDialog(id), {
            searchOnly: true,
          }),
          action('branch', 'branch', ta('row.branch'), () => app.branch(id), { searchOnly: true }),
          action('duplicate', 'duplicate', ta('row.duplicate'), () => app.duplicate(id), {
            searchOnly: true,
          }),
          ...(['md', 'json', 'html'] as const).map(format =>
            action(
              `export-${format}`,
              'download',
              ta(`row.export.${format}`),
              () => app.exportAs(id, format),
              { searchOnly: true },
            ),
          ),
          action('delete', 'trash', ta('row.delete'), () => app.remove(id), { searchOnly: true }),
        ]
      : []),
    action('panel', 'panel', ta('keys.panel'), () => panel.toggle(), {
      keys: keys('mod+shift+e'),
    }),
    action('sidebar', 'sidebar', ta('keys.sidebar'), () => layout.toggleSidebar(), {
      keys: keys('mod+b'),
      searchOnly: true,
    }),
    action('project', 'folder', ta('projects.new'), () => app.openProjectDialog(null), {
      searchOnly: true,
    }),
    action(
      'keys',
      'info',
      ta('keys.title'),
      () => {
        layout.shortcutsOpen.value = true
      },
      { keys: '?', searchOnly: true },
    ),
    ...(app.composer.text.value.trim()
      ? [
          action(
            'save-command',
            'terminal',
            t('palette.command.save'),
            () => saveAsCommand(app, app.composer.text.value.trim()),
            { searchOnly: true },
          ),
        ]
      : []),
    ...OWN.map(tab =>
      action(
        tab,
        tab === 'commands' ? 'terminal' : 'user',
        t(`palette.${tab}`),
        () => route.go({ view: 'skills', tab, skill: null, query: '' }),
        { searchOnly: true },
      ),
    ),
    ...VIEWS.map(view =>
      action(view.id, view.icon, ta(view.label), () => route.go(view.route), { searchOnly: true }),
    ),
  ]
}

const settings = ({ route }: App): Entry[] => {
  const section = t('palette.settings')
  return [
    ...SECTIONS.map(
      (name): Entry => ({
        id: `settings:${name}`,
        section,
        icon: 'settings',
        label: ts(`settings.${name}`),
        searchOnly: name !== 'general',
        words: ts('settings.title'),
        run: () => route.go({ view: 'settings', section: name }),
      }),
    ),
    ...settingEntries().map(
      (one): Entry => ({
        id: `setting:${one.section}:${one.label}`,
        section,
        icon: 'settings',
        label: one.label,
        hint: ts(`settings.${one.section}`),
        words: one.hint,
        searchOnly: true,
        run() {
          route.go({ view: 'settings', section: one.section })
          revealSetting(one.label)
        },
      }),
    ),
  ]
}

const chats = (app: App): Entry[] =>
  app.sessions.profileRows.value.map(row => ({
    id: `chat:${row.session_id}`,
    section: t('palette.sessions'),
    label: titleOf(row),
    hint: formatAgo(row.updated_at, app.sessions.now.value),
    searchOnly: row.archived,
    run: () => app.route.openSession(row.session_id),
    runAside: () => app.route.openBeside(row.session_id),
  }))

const commands = (app: App): Entry[] =>
  [...app.skillCommands.list.value, ...app.skillCommands.more.value].map(command => ({
    id: `command:${command.name}`,
    section: t('palette.commands'),
    icon: 'terminal',
    label: `/${command.name}`,
    hint: command.summary,
    words: command.summary,
    searchOnly: true,
    run: () => putIntoMessage(app, `/${command.name} `),
  }))

const models = (app: App): Entry[] =>
  app.models.all.value.map(model => ({
    id: `model:${model.id}`,
    section: t('palette.models'),
    icon: 'model',
    label: model.label,
    hint: model.provider,
    words: `${model.id} ${model.provider}`,
    searchOnly: true,
    run: () => app.chooseModel(model.id),
  }))

const themes = (app: App): Entry[] =>
  THEMES.map(name => ({
    id: `theme:${name}`,
    section: t('palette.themes'),
    icon: 'sun',
    label: t('palette.theme', { name: ta(`theme.${name}`) }),
    searchOnly: true,
    run: () => app.settings.save('theme', name),
  }))

/** Chats first, as they are without a query. */
export const localEntries = (app: App): Entry[] => [
  ...chats(app),
  ...actions(app),
  ...settings(app),
  ...commands(app),
  ...models(app),
  ...themes(app),
]
