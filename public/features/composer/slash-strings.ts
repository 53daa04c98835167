/** Descriptions and arguments of the slash commands in the language of the page; English is in `lib/base/slash-commands.ts`. */
import { type SlashCommandName, slashCommands } from '../../../lib/base/slash-commands.ts'
import { translator } from '../../strings/t.ts'

type Catalog = Record<SlashCommandName | `${SlashCommandName}.arguments`, string>

export const t = translator(
  'composer.slash',
  Object.fromEntries(
    slashCommands.flatMap(({ name, description, args_hint = '' }) => [
      [name, description],
      ...(args_hint ? [[`${name}.arguments`, args_hint]] : []),
    ]),
  ) as Catalog,
)
