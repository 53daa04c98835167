/** Safeguards of a home: those this server does not support, which were accepted, the hooks that run, permission rules, and the sandbox. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { CommandPlace, SandboxChange } from '../lib/schema/command-place.ts'
import { GuardsOut } from '../lib/schema/guard.ts'
import { HookRow } from '../lib/schema/hook.ts'
import { hookRows } from '../lib/turns/context/turn-hooks.ts'
import {
  changePermissions,
  checkPermission,
  PermissionChange,
  PermissionCheck,
  PermissionOutcome,
  PermissionsOut,
  showPermissions,
} from '../lib/turns/context/permissions/settings.ts'
import { controlPathsOf } from '../lib/turns/context/control-files.ts'
import { isCovered } from '../lib/turns/context/grants.ts'
import { recorded } from '../lib/people/audit.ts'

const show = (ctx: Ctx): z.output<typeof GuardsOut> => ({
  profile: ctx.home.name,
  guards: ctx.app.guards.list(ctx.home),
  changed: ctx.app.settingChanges.of(ctx.home),
})

export const list = endpoint({
  access: 'own',
  summary: 'Unsupported safeguards of the profile, and what each one blocks',
  output: GuardsOut,
  run: show,
})

export const accept = endpoint({
  access: 'own',
  audit: recorded('settings', () => 'safeguards'),
  summary: 'Accept an unsupported safeguard while its value stays the same, or withdraw that',
  input: z.object({
    key: z.string().min(1).max(200),
    value_id: z.string().min(1).max(100),
    accepted: z.boolean(),
  }),
  output: GuardsOut,
  run: (ctx, { key, value_id, accepted }) => {
    ctx.app.guards.accept(ctx.home, key, value_id, accepted)
    return show(ctx)
  },
})

export const settleChanges = endpoint({
  access: 'own',
  audit: recorded(
    'settings',
    ({ accept: isAccepted }: { accept: boolean }) =>
      `changes of config.yaml ${isAccepted ? 'accepted' : 'restored'}`,
  ),
  summary:
    'Accept what something else than a person in the page changed in guarded settings of config.yaml, or restore the values in force',
  input: z.object({ change_id: z.string().min(1).max(100), accept: z.boolean() }),
  output: GuardsOut,
  run: (ctx, { change_id, accept: isAccepted }) => {
    ctx.app.settingChanges.settle(ctx.home, change_id, isAccepted)
    return show(ctx)
  },
})

export const hooks = endpoint({
  access: 'own',
  summary: 'Hooks of the profile, and what each has done since the service started',
  output: z.object({ profile: z.string(), hooks: z.array(HookRow) }),
  run: ctx => ({ profile: ctx.home.name, hooks: hookRows(ctx.home, ctx.app.hooks) }),
})

export const permissions = endpoint({
  access: 'own',
  summary:
    'Permission rules of the profile: what never runs, what is asked about, what runs without asking',
  output: PermissionsOut,
  run: ctx => showPermissions(ctx.home),
})

export const changePermission = endpoint({
  access: 'own',
  audit: recorded('settings', () => 'permissions'),
  summary: 'Add, replace, or remove one permission rule',
  input: PermissionChange,
  output: PermissionsOut,
  run: (ctx, input) => {
    changePermissions(ctx.home, input)
    return showPermissions(ctx.home)
  },
})

export const tryPermissions = endpoint({
  access: 'own',
  summary:
    'What the permission rules would do with a command, path, address, or tool; runs nothing',
  input: PermissionCheck,
  output: PermissionOutcome,
  run: (ctx, input) => {
    const { app, home } = ctx
    const workspace =
      input.session_id === undefined
        ? app.settings.get().default_workspace
        : app.sessions.require(input.session_id).workspace
    return checkPermission(home, input, {
      workspace,
      controlPaths: controlPathsOf(app.config, home, workspace),
      guards: app.guards.of(home),
      runner: app.runners.runnerFor({ home, workspace, owner: input.session_id ?? 'try' }),
      outsideSandbox: app.config.outsideSandbox,
      isRemembered: ask => isCovered(ask, workspace, ids => app.grants.has(home.name, ids)),
    })
  },
})

export const commandPlace = endpoint({
  access: 'own',
  summary:
    'Where commands run: on this computer, in the sandbox, or in a container, and if not, why',
  cache: 'no-store',
  output: CommandPlace,
  run: ctx => ctx.app.commandPlaces.show(ctx.home),
})

export const changeSandbox = endpoint({
  access: 'own',
  audit: recorded('settings', () => 'sandbox'),
  summary: 'Choose in config.yaml when commands run in the sandbox, and whether with network',
  input: SandboxChange,
  output: CommandPlace,
  run: async (ctx, input) => {
    await ctx.app.commandPlaces.change(ctx.home, input)
    return ctx.app.commandPlaces.show(ctx.home)
  },
})
