/** Slash commands in the palette. */
import { slashCommands } from '../../../lib/base/slash-commands.ts'
import type { App } from '../../app.ts'
import { putIntoMessage } from '../composer/put-into-message.ts'
import { mayRun } from '../composer/slash-routes.ts'
import { t as tc } from '../composer/slash-strings.ts'
import type { Entry } from './search-palette.ts'
import { t } from './strings.ts'

/** A command without its argument is put into the message. */
const runSlash = async (app: App, name: string, argument = ''): Promise<void> => {
  if (argument.startsWith('<')) {
    putIntoMessage(app, `/${name} `)
    return
  }
  const { commands } = await import('../composer/slash-commands.ts')
  const said = await commands.find(command => command.name === name)?.run(app, '')
  if (said) app.shell.toasts.show(said)
}

/** Those that only a slash command does. */
const SLASH = new Set(
  'retry undo rollback status queue steer interrupt btw background plan yolo compact usage personality'.split(
    ' ',
  ),
)

export const slashEntries = (app: App): Entry[] =>
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
