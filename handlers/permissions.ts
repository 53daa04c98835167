/** Permission rules of the profile: list, change, and try out. */
import { endpoint } from '../lib/context.ts'
import {
  changePermissions,
  checkPermission,
  PermissionChange,
  PermissionCheck,
  PermissionOutcome,
  PermissionsOut,
  showPermissions,
} from '../lib/turn-context/permission-settings.ts'

export const list = endpoint({
  summary:
    'Permission rules of the profile: what never runs, what is asked about, what runs without asking',
  output: PermissionsOut,
  run: ctx => showPermissions(ctx.home),
})

export const change = endpoint({
  summary: 'Add, replace, or remove one permission rule',
  input: PermissionChange,
  output: PermissionsOut,
  run: (ctx, input) => {
    changePermissions(ctx.home, input)
    return showPermissions(ctx.home)
  },
})

export const check = endpoint({
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
      controlPaths: app.controlOf(home, workspace),
      forbids: app.guards.of(home).command,
    })
  },
})
