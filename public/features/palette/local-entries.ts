/** What the palette finds without the server: actions, views, settings, loaded chats, models, themes, commands. */
import type { App } from '../../app.ts'
import { may } from '../../parts/may.ts'
import { sessionTitle } from '../sessions/sessions.ts'
import { formatAgo } from '../../parts/relative-time.ts'
import { t as ts } from '../settings/strings.ts'
import { THEMES } from '../settings/settings.ts'
import { t as themeText } from '../settings/theme-strings.ts'
import { actionEntries } from './action-entries.ts'
import type { PaletteEntry } from './search-palette.ts'
import { putIntoMessage } from '../composer/put-into-message.ts'
import { openSections } from '../settings-view/sections.ts'
import { revealSetting, settingEntries } from '../settings-view/settings-index.ts'
import { t } from './strings.ts'
import { isWordsKey, words } from './words-strings.ts'
import { slashCommands } from '../../../lib/base/slash-commands.ts'
import { mayRun } from '../composer/slash-routes.ts'
import { t as tc } from '../composer/slash-strings.ts'

/** A command without its argument is put into the message. */
const runSlash = async (app: App, name: string, argument = ''): Promise<void> => {
  if (argument.startsWith('<')) {
    putIntoMessage(app, `/${name} `)
    return
  }
  const { commands } = await import('../composer/slash-commands.ts')
  const message = await commands.find(command => command.name === name)?.run(app, '')
  if (message) app.shell.toasts.show(message)
}

/** Those that only a slash command does. */
const SLASH = new Set(
  'retry undo rollback status queue steer interrupt btw background plan yolo compact usage personality'.split(
    ' ',
  ),
)

const slashEntries = (app: App): PaletteEntry[] =>
  slashCommands
    .filter(({ name }) => SLASH.has(name) && mayRun(name))
    .map(({ name, args_hint }) => ({
      id: `command:${name}`,
      section: t('palette.commands'),
      icon: 'terminal',
      label: `/${name}`,
      hint: tc(name),
      words: tc(name),
      searchOnly: true,
      run: () => runSlash(app, name, args_hint),
    }))

const settings = ({ shell: { route } }: App): PaletteEntry[] => {
  const section = t('palette.settings')
  return [
    ...openSections().map(
      (name): PaletteEntry => ({
        id: `settings:${name}`,
        section,
        icon: 'settings',
        label: ts(`settings.${name}`),
        searchOnly: name !== 'general',
        words: `${ts('settings.title')} ${isWordsKey(name) ? words(name) : ''}`,
        run: () => route.go({ view: 'settings', section: name }),
      }),
    ),
    ...settingEntries().map(
      (one): PaletteEntry => ({
        id: `setting:${one.section}:${one.label}`,
        section,
        icon: 'settings',
        label: one.label,
        hint: ts(`settings.${one.section}`),
        words: `${one.hint} ${one.words}`,
        searchOnly: true,
        run() {
          route.go({ view: 'settings', section: one.section })
          revealSetting(one.label)
        },
      }),
    ),
  ]
}

const chats = (app: App): PaletteEntry[] =>
  app.sessions.profileRows.value.map(row => ({
    id: `chat:${row.session_id}`,
    section: t('palette.sessions'),
    label: sessionTitle(row),
    hint: formatAgo(row.updated_at, app.sessions.now.value),
    searchOnly: row.archived,
    run: () => app.shell.route.openSession(row.session_id),
    runAside: () => app.shell.route.openBeside(row.session_id),
  }))

const commands = (app: App): PaletteEntry[] =>
  [...app.composer.skillCommands.list.value, ...app.composer.skillCommands.more.value].map(
    command => ({
      id: `command:${command.name}`,
      section: t('palette.commands'),
      icon: 'terminal',
      label: `/${command.name}`,
      hint: command.summary,
      words: command.summary,
      searchOnly: true,
      run: () => putIntoMessage(app, `/${command.name} `),
    }),
  )

const models = (app: App): PaletteEntry[] =>
  app.models.all.value.map(model => ({
    id: `model:${model.id}`,
    section: t('palette.models'),
    icon: 'model',
    label: model.label,
    hint: model.provider,
    words: `${model.id} ${model.provider}`,
    searchOnly: true,
    run: () => app.chat.choices.chooseModel(model.id),
  }))

const themes = (app: App): PaletteEntry[] =>
  THEMES.map(name => ({
    id: `theme:${name}`,
    section: t('palette.themes'),
    icon: 'sun',
    label: t('palette.theme', { name: themeText(`theme.${name}`) }),
    words: `${words('themes')} ${isWordsKey(name) ? words(name) : ''}`,
    searchOnly: true,
    run: () => app.settings.save('theme', name),
  }))

/** Chats first, as they are without a query. */
export const localEntries = (app: App): PaletteEntry[] => [
  ...chats(app),
  ...actionEntries(app),
  ...settings(app),
  ...slashEntries(app),
  ...(may('POST /api/chat/start') ? commands(app) : []),
  ...(may('POST /api/session/update') ? models(app) : []),
  ...themes(app),
]
