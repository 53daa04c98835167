/** Guards of a turn by the role of who began it: its tools change what the routes let that person change. */
import { join } from 'node:path'
import type { Guards } from '../../agent/types.ts'
import { CHANGES, type RoleChange, may } from '../../people/may.ts'
import { asObject } from '../../base/json.ts'
import { toolInfo } from '../../base/tools.ts'
import type { Role } from '../../schema/person.ts'
import type { Meta } from '../../sessions/entries.ts'
import { isInside, realPath } from '../../store/path-within.ts'

const NAMES: Readonly<Record<RoleChange, string>> = {
  skills: 'skills',
  notes: 'notes',
  commands: 'commands and subagents',
  tasks: 'tasks',
}

type OwnedPath = { path: string; change: RoleChange }

/** Where a profile keeps them, and the first profile, whose files others use too. */
export const ownedPaths = (home: string, baseHome: string): OwnedPath[] =>
  [...new Set([home, baseHome])].flatMap(dir => [
    { path: join(dir, 'skills'), change: 'skills' as const },
    { path: join(dir, 'memories'), change: 'notes' as const },
    { path: join(dir, 'SOUL.md'), change: 'notes' as const },
    { path: join(dir, 'commands'), change: 'commands' as const },
    { path: join(dir, 'agents'), change: 'commands' as const },
  ])

/** Those that a person of this role does not change. */
export const pathsFor = (role: Role, owned: readonly OwnedPath[]): string[] =>
  role === 'owner' ? [] : owned.map(({ path }) => path)

/** The patch of a session when a turn begins, or another person has a say in it. Absent: an owner's. */
export const rolePatch = (meta: Meta, role: Role): { turn_role?: 'member' | null } => {
  const next = role === 'owner' ? null : 'member'
  return (meta.turn_role ?? null) === next ? {} : { turn_role: next }
}

export const turnRole = (meta: Meta): Role =>
  asObject(meta).turn_role === 'member' ? 'member' : 'owner'

/** `role` is read at each call: a member may steer the turn of an owner. */
export const withRole = (
  guards: Guards,
  { role, profile, owned }: { role: () => Role; profile: string; owned: readonly OwnedPath[] },
): Guards => {
  const refusal = (change: RoleChange | undefined): string | null =>
    change === undefined || may({ role: role(), profiles: [profile] }, CHANGES[change], profile)
      ? null
      : `Refused: only an owner of this server can change ${NAMES[change]}, and this turn is a member's. No approval can allow it.`
  return {
    ...guards,
    tool: name => refusal(toolInfo(name)?.changes) ?? guards.tool(name),
    write: path =>
      refusal(owned.find(each => isInside(realPath(each.path), realPath(path)))?.change) ??
      guards.write(path),
  }
}
