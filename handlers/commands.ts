/** The slash commands and callable skills. */
import { z } from 'zod'
import { listCommands } from '../lib/profiles/slash-commands.ts'
import { ownCommands } from '../lib/profiles/skills/own-commands.ts'
import { endpoint } from '../lib/context.ts'

export const list = endpoint({
  access: 'read',
  summary:
    'Slash commands, also those of the user, and the skills of the profile that can be called like one',
  output: z.object({
    commands: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        category: z.string(),
        aliases: z.array(z.string()),
        args_hint: z.string(),
        subcommands: z.array(z.string()),
        cli_only: z.boolean(),
        gateway_only: z.boolean(),
      }),
    ),
  }),
  run: ctx => ({
    commands: listCommands(ctx.app.skills.list(ctx.home), ownCommands(ctx.home)),
  }),
})
